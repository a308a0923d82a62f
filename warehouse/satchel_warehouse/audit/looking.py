"""`look`: all audit chains of a warehouse in one snapshot. Nothing is written.

Who signed is told by the key that was pinned when a machine's first head came; what the caller's
own machine holds is compared, as nobody else can tell that a whole chain is gone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from satchel_crypto.provider import Provider
from satchel_sync.audit import said, why
from satchel_warehouse.audit import tables
from satchel_warehouse.audit.found import Chain, ChainName, Own
from satchel_warehouse.audit.walking import signed_heads, walk
from satchel_warehouse.database import Connection


def look(
    db: Connection, provider: Provider, own: Mapping[tuple[str, str], Own] | None = None
) -> list[Chain]:
    """Walk every chain, machine by machine in the order in which they came.

    `own` is (replica id, chain) -> what the caller's machine holds. Raises psycopg.Error.
    """
    mine = own or {}
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        sent = [key for key, one in mine.items() if one.sent]
        return [
            _chain(db, provider, name, host, mine.get((name.replica_id, name.chain)))
            for name, host in tables.names(db, sent)
        ]


def _chain(
    db: Connection, provider: Provider, name: ChainName, host: str, own: Own | None
) -> Chain:
    """Everything about one chain."""
    chain = Chain(name=name, host=host)
    walk(db, provider, chain, signed_heads(db, provider, chain))
    predecessor(db, chain)
    if own is not None:
        compare(db, chain, own)
    refused(db, chain)
    if chain.last > chain.signed:
        chain.notes.append(f"records {chain.signed + 1} to {chain.last} are under no signed head")
    return chain


def predecessor(db: Connection, chain: Chain) -> None:
    """Note how a chain follows that of the file's id before. A copy of a file may do as it likes
    until it takes an id of its own, so another end than it names is no fault.
    """
    found = said(tables.first_body(db, chain.name)).get("detail")
    before = found.get("replica_id") if isinstance(found, dict) else None
    if not isinstance(found, dict) or not re.fullmatch("[0-9a-f]{32}", str(before)):
        return
    seq, link = found.get("seq"), found.get("link")
    name = ChainName(tenant=chain.name.tenant, replica_id=str(before), chain=chain.name.chain)
    held = tables.link_at(db, name, seq) if type(seq) is int else None
    told = f"it follows record {seq} of {before}"
    if held is None:
        chain.notes.append(f"{told}, which is not here")
    elif held.hex() == link:
        chain.notes.append(told)
    else:
        chain.notes.append(f"{told}, where the warehouse holds another one: it is of a copy")


def compare(db: Connection, chain: Chain, own: Own) -> None:
    """Find what differs from what the caller's machine holds, and where first."""
    chain.compared = True
    held = tables.last(db, chain.name)
    last = max(held, chain.expired)
    if last > own.last:
        told = f"the warehouse holds {last} records and this machine {own.last}"
        chain.find(own.last + 1, "set back", f"{told}: its file was set back or replaced")
    if last < own.sent:
        told = f"this machine sent {own.sent} records and the warehouse holds {last}"
        chain.find(last + 1, "cut off", told)
    common = min(held, own.last)
    if common and _differs(db, chain.name, own, common):
        first = _first_fork(db, chain.name, own, common)
        chain.find(first, "fork", "this machine holds another record than the warehouse")


def _differs(db: Connection, name: ChainName, own: Own, seq: int) -> bool:
    mine, theirs = own.link_at(seq), tables.link_at(db, name, seq)
    return mine is not None and theirs is not None and mine != theirs


def _first_fork(db: Connection, name: ChainName, own: Own, last: int) -> int:
    """By halves: where links are equal, all records before are."""
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _differs(db, name, own, middle) else (middle, high)
    return high


def refused(db: Connection, chain: Chain) -> None:
    """What came and was not taken, until the owner's retention removes it."""
    columns = "what, seq, held_seq, login, at_ms"
    for what, seq, held, login, at in tables.of_chain(db, chain.name, "troubles", columns):
        told = f"{why(what, seq, held)} (from the login {login}, at {at} ms UTC)"
        chain.find(seq, "refused", told)
