"""Rows that are their first maker's: where two machines make one, the older making stands.

Of two versions the later one wins, so whoever makes a row anew where it is not known yet would take
over what another machine has for long. Changes of such rows are therefore stamped with when the row
was made, upside down, and only behind that with when it was changed: among rows of one making the
later change wins, to the minute. All of it lies below the stamp of every ordinary change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from satchel.store.rows import FIRST_HLC_MAX, LOWEST_HLC
from satchel.store.seal import digest_of
from satchel_sync.stamp import NOBODY
from satchel_sync.tables import EXTRA, Table

if TYPE_CHECKING:
    from apsw import Connection

_STEPS = 1 << 23
"""Of one making: minutes since then, or more where changes came faster; 16 years."""
_MADE_S_MAX = FIRST_HLC_MAX // _STEPS - 2
"""In the year 2242."""


@contextmanager
def first_made(db: Connection, table: Table, key: str, now_ms: int) -> Iterator[None]:
    """Inside the write: around what makes a row, or changes one that is so stamped (UTC ms).

    A row that somebody has changed without this has an ordinary stamp, and keeps to that.
    """
    sql = f"SELECT hlc FROM {table.name} WHERE {table.key} = ?"
    held: Any = db.execute(sql, (key,)).get
    yield
    made: Any = db.execute(sql, (key,)).get
    if made in (held, None) or not (held is None or LOWEST_HLC < held < FIRST_HLC_MAX):
        return
    names = (*table.names, EXTRA)
    values: Any = db.execute(
        f"SELECT {', '.join(names)} FROM {table.name} WHERE {table.key} = ?", (key,)
    ).fetchone()
    version = (stamp(held, now_ms), NOBODY, digest_of(table, key, tuple(values)))
    db.execute("UPDATE control SET applying = 1")
    db.execute(
        f"UPDATE {table.name} SET hlc = ?, origin = ?, digest = ? WHERE {table.key} = ?",
        (*version, key),
    )
    db.execute("UPDATE control SET applying = 0")


def stamp(held: int | None, now_ms: int) -> int:
    """The stamp of a row that is made now, or that is changed now and had the stamp `held`."""
    now_s = min(max(now_ms // 1000, 0), _MADE_S_MAX)
    if held is None:
        return (_MADE_S_MAX - now_s + 1) * _STEPS
    making, step = divmod(held, _STEPS)
    made_s = _MADE_S_MAX + 1 - making
    later = max(step + 1, (now_s - made_s) // 60)
    return making * _STEPS + min(later, _STEPS - 1)
