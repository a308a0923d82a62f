"""This machine's chains beside the warehouse: what waits, and what `audit verify --warehouse` says.

How the warehouse's chains are checked is `satchel_warehouse.audit`; it imports nothing of here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.audit import place
from satchel.audit.rotation import sent_of
from satchel_crypto.audit_record import CHAINS
from satchel_crypto.errors import AuditBroken

if TYPE_CHECKING:
    from satchel.store.connection import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A chain as it is here: its last record, and what the warehouse said that it has.

    `link_at` gives the link of a record, None for one that is not there any more.
    """

    last: int
    sent: int
    link_at: Callable[[int], bytes | None]


def own(store: Store) -> dict[tuple[str, str], Held]:
    """(replica id, chain) -> what this machine holds of it. Raises apsw.Error."""
    known, found = sent(store), {}
    for name in CHAINS:
        last = place.last(store, name)
        found[store.replica_id.hex(), name] = Held(
            last=last.seq if last else 0,
            sent=known.get(name, 0),
            link_at=partial(place.link_at, store, name),
        )
    return found


def waiting(store: Store) -> dict[str, int]:
    """Chain -> records that the warehouse has not got, as far as is known here. Raises apsw.Error.

    Chains of which nothing waits are left out.
    """
    held = sent(store)
    ends = {name: place.last(store, name) for name in CHAINS}
    left = {name: last.seq - held.get(name, 0) for name, last in ends.items() if last}
    return {name: count for name, count in left.items() if count > 0}


def sent(store: Store) -> dict[str, int]:
    """Chain -> number up to which the warehouse has it, as it said last."""
    with store.read() as db:
        return sent_of(db)


def shown(chains: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The JSON answer: every chain as `peers.audit_verify` tells it, its faults in their order."""
    told = [dict(one) for one in chains]
    return {
        "ok": not any(one["faults"] for one in told),
        "chains": [one.pop("name") | one for one in told],
    }


def require_whole(chains: Sequence[dict[str, Any]]) -> None:
    """Raise AuditBroken for the first fault that was found."""
    for one in chains:
        for fault in one["faults"]:
            raise AuditBroken(
                f"at the warehouse, {one['name']['chain']} of {one['name']['replica_id']}, record"
                f" {fault['seq']}: {fault['fault']}: {fault['message']}",
                hint="run `satchel audit verify` on that machine; docs/WAREHOUSE.md tells what"
                " each fault means",
            )
