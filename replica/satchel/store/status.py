"""How far a replica is behind its hub, for `sync status` and every report."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from satchel.store import attempts, quarantine
from satchel.store.rows import FIRST_HLC_MAX
from satchel_sync import clock
from satchel_sync.changes import Left
from satchel_sync.tables import BY_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """What waits here: rows by kind, the oldest of them, rows held back, journal entries.

    `last_sync_ms` is when a sync last came to its end.
    """

    pending: dict[str, int]
    oldest_unsent_ms: int | None
    quarantined: int
    conflicts: int
    last_sync_ms: int | None


def waiting(db: apsw.Connection) -> Waiting:
    """Count what waits; the oldest is told by the wall time inside the rows' own stamps.

    A row in the lowest version says nothing of when it was written.
    """
    pending = {
        str(kind): int(count)
        for kind, count in db.execute("SELECT kind, count(*) FROM outbox GROUP BY kind")
    }
    return Waiting(
        pending=pending,
        oldest_unsent_ms=_oldest(db, list(pending)),
        quarantined=quarantine.count(db),
        conflicts=int(db.execute("SELECT count(*) FROM conflict").get),
        last_sync_ms=attempts.ended_ms(db),
    )


def left(db: apsw.Connection, now_ms: int) -> Left:
    """What is still here at the end of a sync, for its report."""
    held = db.execute("SELECT kind, count(*) FROM quarantine GROUP BY kind ORDER BY kind")
    kinds = [str(kind) for (kind,) in db.execute("SELECT DISTINCT kind FROM outbox")]
    oldest_ms = _oldest(db, kinds)
    age = None if oldest_ms is None else max(0, now_ms - oldest_ms) / 1000
    return Left({str(kind): int(count) for kind, count in held}, age)


def _oldest(db: apsw.Connection, kinds: list[str]) -> int | None:
    oldest = [
        db.execute(
            f"SELECT min(hlc) FROM {kind} WHERE hlc > {FIRST_HLC_MAX} AND {BY_NAME[kind].key} IN"
            " (SELECT key FROM outbox WHERE kind = ?)",
            (kind,),
        ).get
        for kind in kinds
    ]
    return min((clock.wall_ms(int(hlc)) for hlc in oldest if hlc is not None), default=None)
