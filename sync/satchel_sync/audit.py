"""What travels of an audit chain: records, the head that a machine signed, what the hub answers.

Records are made and checked by `satchel_crypto`; to a sync they are numbers, text and bytes. They
go one way, in the order of their numbers, and no time ever says how far they came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FIRST_LINK = bytes(32)
"""What the first record of a chain links to."""
CHAINS = ("writes", "reads")
ROTATED = "rotated"
"""The action of a record that tells up to where its chain was pruned (`detail`: seq, link)."""

FORK, GAP, LINK, SHAPE, HEAD, KEY = "fork", "gap", "link", "shape", "head", "key"
CHAIN = "chain"
WHY = {
    CHAIN: "the warehouse knows no such chain: it is of an older version",
    FORK: "record {seq} is another one than the warehouse holds",
    GAP: "record {seq} does not follow {held}, and nothing tells what became of those between",
    LINK: "the link of record {seq} does not fit what it follows",
    SHAPE: "record {seq} is none of this chain of this machine",
    HEAD: "it ends with record {seq} here, the warehouse holds {held} records, and that is not the"
    " one: the file was set back or replaced",
    KEY: "the head is signed by another key than the one that this machine began with",
}
"""What a hub finds wrong with a record or a head -> what the report says of it."""


def is_anew(what: str, held: int) -> bool:
    """Whether a new id mends it: not where the first records of this one are refused already."""
    return what in (FORK, GAP, LINK, HEAD, KEY) and held > 0


def why(what: str, seq: int, held: int) -> str:
    """In words; a hub may find what this program does not know."""
    return WHY.get(what, f"the warehouse refused record {{seq}}: {what}").format(seq=seq, held=held)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record as its file keeps it: `body` is JSON of ids, `link` and `mac` have 32 bytes."""

    seq: int
    body: str
    link: bytes
    mac: bytes


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where a chain stood at `at` (UTC ms); `signature` is the JSON of `satchel_crypto.Signed`."""

    seq: int
    link: bytes
    at: int
    signature: str


@dataclass(frozen=True, slots=True)
class AuditHeld:
    """The last record of a chain that the hub holds; 0 and `FIRST_LINK` when it holds none."""

    seq: int = 0
    link: bytes = FIRST_LINK


@dataclass(frozen=True, slots=True)
class AuditPart:
    """Records of one chain, each behind the one before.

    `head` comes with the last record that there is; of a file that has less than the hub, both come
    as evidence, or a head of record 0 where it has none. `cut` is the `rotated` record that tells
    why the first one does not follow what the hub holds: those between were pruned before.
    """

    chain: str
    records: tuple[AuditRecord, ...]
    head: AuditHead | None = None
    cut: AuditRecord | None = None


@dataclass(frozen=True, slots=True)
class AuditBatch:
    """What goes in one call. `more`: not all that waits; `refused`: chain -> why it stays here."""

    parts: tuple[AuditPart, ...] = ()
    more: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AuditAnswer:
    """The hub's word on parts, committed before it is given.

    `held` is chain -> last record that it holds now; `taken` counts the records that it did not
    hold before; `refused` is chain -> why it took no more of it: what came is kept as evidence.
    `anew`: one of them can go on under a new id only, as the hub holds another chain of this one.
    """

    held: Mapping[str, AuditHeld] = field(default_factory=dict)
    taken: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    anew: bool = False


def said(body: str) -> dict[str, Any]:
    """What a body says; nothing for what is no JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def cut_of(body: str) -> AuditHeld | None:
    """Up to where a `rotated` record says that its chain was pruned; None for any other."""
    found = said(body)
    detail = found.get("detail")
    if found.get("action") != ROTATED or not isinstance(detail, dict):
        return None
    seq, link = detail.get("seq"), detail.get("link")
    if "replica_id" in detail:  # another chain, of an id that the file had before
        return None
    if type(seq) is not int or not isinstance(link, str):
        return None
    try:
        return AuditHeld(seq, bytes.fromhex(link))
    except ValueError:
        return None
