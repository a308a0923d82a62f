"""Where one row stands: its version, who wrote it, whether it was sent, why it stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.errors import AmbiguousId, NotFound
from satchel.memory.lookup import can_see, matches
from satchel.memory.moments import iso
from satchel.store import attempts, outbox, rows
from satchel_sync import clock
from satchel_sync.stamp import SCRUBBED, Stamp, lineage_of
from satchel_sync.tables import BY_NAME, KINDS, Table

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller
    from satchel.replica import Replica
    from satchel_sync.row import Row

WORDS = {
    "local": "it is local: it never leaves this machine",
    "held back": "it cannot travel as it is and stays here until it is changed",
    "waiting": "this version waits to be sent with the next sync",
    "level": "this version was sent to or came from the warehouse",
    "never": "it was neither sent nor received; the next sync's digest check will find it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What this machine keeps about one row beside the row itself."""

    local: bool
    waiting: bool
    quarantine: tuple[str | None, str] | None
    exchanged: Stamp | None
    conflicts: int

    def state(self, held: Stamp) -> str:
        """One of the keys of `WORDS`."""
        if self.local:
            return "local"
        if self.quarantine:
            return "held back"
        if self.waiting:
            return "waiting"
        return "level" if self.exchanged == held else "never"


def explain(replica: Replica, given: str) -> dict[str, Any]:
    """Everything that decides how one row travels. Raises NotFound, AmbiguousId."""
    with replica.store.read() as db:
        table, key = find(db, replica.caller, given)
        row = outbox.row(db, table, key)
        assert row is not None
        place = _place(db, table, key)
        mine = (replica.store.replica_id, *attempts.predecessors(db))
        hub = attempts.hub_id(db)
    state = place.state(row.stamp)
    return {
        "kind": table.name,
        "id": key,
        "is": _life(row.stamp),
        "state": state,
        "why": WORDS[state] + (f": {_fault(place)}" if place.quarantine else ""),
        "version": row.stamp.hex(),
        "written_at": written_at(row.stamp),
        "written_by": _origin(row.stamp, mine, hub),
        "builds_on": len(lineage_of(row.lineage)),
        "last_exchanged": place.exchanged.hex() if place.exchanged else None,
        "last_exchanged_written_at": written_at(place.exchanged) if place.exchanged else None,
        "conflicts": place.conflicts,
        "restamped": _restamped(row),
    }


def find(db: Connection, caller: Caller, given: str) -> tuple[Table, str]:
    """The one row of any kind that an id means; the operator finds dead ones too."""
    found = [
        (BY_NAME[kind], key)
        for kind in KINDS
        for key in matches(
            db, kind, given, "1" if caller.sees_all else can_see(caller, kind), caller.params
        )
    ]
    if not found:
        raise NotFound(
            f"no row {given[:80]!r} here, or none that you may see",
            hint="give a whole id, or 8 or more of its first or last digits",
            field="id",
        )
    if len(found) > 1:
        shown = ", ".join(f"{table.name} {key}" for table, key in found[:8])
        raise AmbiguousId(f"{given!r} fits several: {shown}", hint="give more digits", field="id")
    return found[0]


def _place(db: Connection, table: Table, key: str) -> Place:
    def one(sql: str) -> Any:
        return db.execute(sql, (table.name, key)).fetchone()

    held_back = one('SELECT "column", reason FROM quarantine WHERE kind = ? AND key = ?')
    base = one("SELECT version FROM sync_base WHERE kind = ? AND key = ?")
    return Place(
        local=one("SELECT 1 FROM withheld WHERE kind = ? AND key = ?") is not None,
        waiting=one("SELECT 1 FROM outbox WHERE kind = ? AND key = ?") is not None,
        quarantine=held_back,
        exchanged=Stamp.parse(base[0]) if base else None,
        conflicts=int(one("SELECT count(*) FROM conflict WHERE kind = ? AND key = ?")[0]),
    )


def _life(stamp: Stamp) -> str:
    if stamp == SCRUBBED:
        return "forgotten"
    return "deleted" if stamp.dead else "alive"


def _origin(stamp: Stamp, mine: tuple[bytes, ...], hub: bytes | None) -> str:
    if stamp == SCRUBBED:
        return "nobody can tell"
    if stamp.origin == mine[0]:
        return "this machine"
    if stamp.origin in mine:
        return f"this file under its earlier id {stamp.origin.hex()}"
    if stamp.origin == hub:
        return "SQL by hand at the warehouse"
    return f"replica {stamp.origin.hex()}"


def written_at(stamp: Stamp) -> str | None:
    """When a version was written, as its own stamp says; None where that tells no time."""
    told = stamp != SCRUBBED and stamp.hlc > rows.FIRST_HLC_MAX
    return iso(clock.wall_ms(stamp.hlc)) if told else None


def _restamped(row: Row) -> bool:
    """Whether the newest version it builds on has this very content: it was stamped anew."""
    entries = lineage_of(row.lineage)
    return bool(entries) and Stamp.parse(entries[0]).digest == row.stamp.digest


def _fault(place: Place) -> str:
    column, reason = place.quarantine or (None, "")
    return f"{column}: {reason}" if column else reason
