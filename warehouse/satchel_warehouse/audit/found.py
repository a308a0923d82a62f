"""What is found of audit chains: which chain, what is wrong with it, what is worth knowing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainName:
    """Which chain: `writes` or `reads` of a machine (32 hex digits) of a tenant."""

    tenant: str
    replica_id: str
    chain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that is wrong with a chain, first at record `seq`."""

    seq: int
    fault: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """A chain as the caller's machine holds it: its last record, what it knows was taken here.

    `link_at` gives the link of a record, None for one that is not there any more.
    """

    last: int
    sent: int
    link_at: Callable[[int], bytes | None]


@dataclass(slots=True, kw_only=True)
class Chain:
    """What was found of one chain; `faults` are faults, `notes` are none.

    `signed` is the last record under a signature that stands. `holes` are (first, last) numbers
    that the machine pruned before they came, `expired` the last one that the owner's retention
    took. `compared`: with what the caller's machine holds.
    """

    name: ChainName
    host: str = ""
    records: int = 0
    first: int = 0
    last: int = 0
    signed: int = 0
    key_id: str = ""
    expired: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)
    compared: bool = False
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def find(self, seq: int, fault: str, message: str) -> None:
        """Add a fault."""
        self.faults.append(Fault(seq=seq, fault=fault, message=message))
