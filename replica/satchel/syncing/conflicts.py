"""The conflict journal of this machine as its user sees it: list, show, restore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.errors import AmbiguousId, NotFound, Refused
from satchel.memory import audit
from satchel.memory.deleted import old_columns, saw
from satchel.memory.limits import CANDIDATES_SHOWN_MAX, SHORT_ID_DIGITS_MIN
from satchel.memory.lookup import not_found, require_change, sees
from satchel.memory.moments import iso
from satchel.store import claims, journal, outbox, rows
from satchel.syncing.explain import written_at
from satchel_sync.changes import Loser
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import BY_NAME, EXTRA, MEMORY, TASK

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.replica import Replica
    from satchel_sync.row import Row

KEPT = frozenset({"local"})
"""Columns that a restore leaves as they are: fixed when the row was made."""


def listed(replica: Replica) -> list[dict[str, Any]]:
    """The versions that lost on this machine, oldest first, with their content.

    Only those whose own columns let the caller see them.
    """
    with replica.store.read() as db:
        found = [loser for loser in journal.listed(db) if _saw(db, replica.caller, loser)]
    audit.record(replica, "conflicts", [(loser.kind, loser.row.key) for loser in found])
    return [_shown(loser) for loser in found]


def show(replica: Replica, given: str) -> dict[str, Any]:
    """One entry, what is held now, and column by column what differs.

    `given` is the lost version, a unique beginning or end of it, or the key of a row that has one
    entry. Raises NotFound, AmbiguousId.
    """
    with replica.store.read() as db:
        loser = _find(db, replica.caller, given)
        held = outbox.row(db, BY_NAME[loser.kind], loser.row.key)
        visible = held is not None and sees(db, replica.caller, loser.kind, loser.row.key)
    audit.record(replica, "conflicts", [(loser.kind, loser.row.key)])
    return {
        **_shown(loser),
        "lost": _version(replica, loser.row.stamp),
        "held": _version(replica, held.stamp) if held else None,
        "differs": _differences(loser, held if visible else None),
    }


def restore(replica: Replica, given: str) -> dict[str, Any]:
    """Make the lost content the newest version of its row, on this machine and after a sync on all.

    The version that it replaces stays in the row's history. Raises NotFound, AmbiguousId, Refused
    for a row that was forgotten or that the caller may not change.
    """
    with replica.store.write(replica.actor) as db:
        loser = _find(db, replica.caller, given)
        table, key = BY_NAME[loser.kind], loser.row.key
        held = outbox.row(db, table, key)
        if held is not None and held.stamp == SCRUBBED:
            raise Refused(
                f"{loser.kind} {key} was forgotten: it does not come back",
                hint="forgetting is final",
            )
        _require_right(db, replica.caller, loser, held)
        outcome = "restored" if rows.put_back(db, table, key, loser.row.values) else "unchanged"
        if table is MEMORY:
            from satchel.memory.write import leave_queued

            leave_queued(db, replica, key)
        if table is TASK:
            claims.settle(db, replica.now_ms())
    return {"id": key, "kind": loser.kind, "outcome": outcome, "restored": loser.row.stamp.hex()}


def _require_right(db: Connection, caller: Caller, loser: Loser, held: Row | None) -> None:
    """Raise NotFound or Refused unless the caller may change what is or was held, and the loser."""
    kind, key = loser.kind, loser.row.key
    if caller.sees_all:
        return
    if held is not None and not held.stamp.dead:
        require_change(db, caller, kind, key)
    else:
        before = old_columns(db, kind, key)
        if before is None or not saw(db, caller, kind, key, before, "write"):
            raise not_found(kind, key)
    if not saw(db, caller, kind, key, _columns(kind, loser.row), "write"):
        raise Refused(
            f"the lost version of {kind} {key} may be read by this caller and not written",
            hint="its owner, a supervisor or the operator can restore it",
            field="id",
        )


def _find(db: Connection, caller: Caller, given: str) -> Loser:
    """The one entry of those that the caller may see."""
    text = given.strip().lower()
    seen = [loser for loser in journal.listed(db) if _saw(db, caller, loser)]
    found = [loser for loser in seen if given.strip() == loser.row.key]
    if not found and len(text) >= SHORT_ID_DIGITS_MIN:
        found = [loser for loser in seen if _fits(loser, text)]
    if not found:
        raise NotFound(
            f"no conflict {given[:80]!r} here, or none that you may see",
            hint="`satchel sync conflicts list` shows what there is; give 8 or more digits",
            field="id",
        )
    if len(found) > 1:
        versions = [loser.row.stamp.hex() for loser in found[:CANDIDATES_SHOWN_MAX]]
        raise AmbiguousId(
            f"{given!r} fits several: {', '.join(versions)}",
            hint="give the end of one of these versions",
            field="id",
        )
    return found[0]


def _fits(loser: Loser, text: str) -> bool:
    names = (loser.row.stamp.hex(), loser.row.key, loser.row.key.replace("-", ""))
    return any(name.startswith(text) or name.endswith(text) for name in names)


def _saw(db: Connection, caller: Caller, loser: Loser) -> bool:
    if caller.sees_all:
        return True
    columns = dict(zip(BY_NAME[loser.kind].names, loser.row.values, strict=False))
    return saw(db, caller, loser.kind, loser.row.key, columns)


def _shown(loser: Loser) -> dict[str, Any]:
    return {
        "kind": loser.kind,
        "key": loser.row.key,
        "version": loser.row.stamp.hex(),
        "winner": loser.winner.hex(),
        "path": loser.path,
        "at": iso(loser.at_ms),
        "content": {k: v for k, v in _columns(loser.kind, loser.row).items() if v is not None},
    }


def _version(replica: Replica, stamp: Stamp) -> dict[str, Any]:
    """When and where a version was written, as its own stamp says."""
    return {
        "version": stamp.hex(),
        "written_at": written_at(stamp),
        "here": stamp.origin == replica.store.replica_id,
        "deleted": stamp.dead,
    }


def _differences(loser: Loser, held: Row | None) -> dict[str, dict[str, Any]]:
    """Column -> what was lost and what is held, where they differ."""
    lost = _columns(loser.kind, loser.row)
    kept = _columns(loser.kind, held) if held else {}
    return {
        name: {"lost": lost.get(name), "held": kept.get(name)}
        for name in (*BY_NAME[loser.kind].names, EXTRA)
        if name in lost and lost.get(name) != kept.get(name)
    }


def _columns(kind: str, row: Row) -> dict[str, Any]:
    """Column -> value, blobs left out."""
    pairs = zip((*BY_NAME[kind].names, EXTRA), row.values, strict=True)
    return {name: value for name, value in pairs if not isinstance(value, bytes)}
