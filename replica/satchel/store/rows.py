"""Plain reads and writes of one row; the triggers stamp, index and queue what is written."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import apsw

from satchel.errors import AmbiguousId, Conflict, InvalidInput, NotFound, UnknownArgument
from satchel.store import outbox, touched
from satchel.store.codec import upsert
from satchel.store.lenient import read_columns
from satchel.store.sql import alive
from satchel_crypto import random_bytes
from satchel_sync.digest import row_digest
from satchel_sync.row import Row
from satchel_sync.stamp import CREATED, NOBODY, Stamp
from satchel_sync.tables import EXTRA, Table, Value, table_of

SHORT_ID_DIGITS_MIN = 8
CANDIDATES_MAX = 8
LOWEST_HLC = 1
"""The stamp of a row in the lowest version: it tells no time."""
FIRST_HLC_MAX = 1 << 56
"""Stamps up to here tell no time (`first_made`): every change after 2004 is above them."""
_GROUPS = (8, 12, 16, 20)
_HEX = frozenset("0123456789abcdef")


def get(db: apsw.Connection, table: Table, key: str, *, dead: bool = False) -> Any:
    """The row as its dataclass (`table.row`), or None; `dead` shows tombstones too.

    Text that is no UTF-8, which only a write by hand can leave, is read as bytes.
    """
    names = _names(table)
    try:
        found: Any = db.execute(_select(table, dead), (key,)).fetchone()
    except UnicodeDecodeError:
        number = db.execute(f"SELECT row FROM {table.name} WHERE {table.key} = ?", (key,)).get
        found = read_columns(db, table, names, number)
    return None if found is None else table.row(**dict(zip(names, found, strict=True)))


def insert(db: apsw.Connection, row: object) -> None:
    """Add a row given as its dataclass; over a tombstone this is a restore.

    Raises Conflict when a living row has the key.
    """
    table = table_of(type(row))
    key = getattr(row, table.key)
    held = db.execute(f"SELECT {alive()} FROM {table.name} WHERE {table.key} = ?", (key,)).get
    if held:
        raise Conflict(f"{table.name} {key} exists already", field=table.key)
    _run(db, _insert(table, over=held is not None), tuple(getattr(row, n) for n in _names(table)))


def insert_lowest(db: apsw.Connection, row: object) -> None:
    """Add a row in the lowest version there is: every other version of it wins, on any machine.

    Machines that add the same row so hold the same version. Raises Conflict where the key is known.
    """
    table = table_of(type(row))
    key = getattr(row, table.key)
    if db.execute(f"SELECT 1 FROM {table.name} WHERE {table.key} = ?", (key,)).get:
        raise Conflict(f"{table.name} {key} exists already", field=table.key)
    values = (*(getattr(row, name) for name in table.names), None)
    digest = row_digest(table, key, values)
    lowest = Row(key, Stamp(CREATED, LOWEST_HLC, NOBODY, digest), "", values)
    db.execute("UPDATE control SET applying = 1")
    upsert(db, table, [lowest])
    db.execute("UPDATE control SET applying = 0")
    outbox.put(db, table, [key])
    touched.note("created", table.name, [key])


def update(db: apsw.Connection, table: Table, key: str, **columns: Value) -> bool:
    """Set columns of a living row. Whether it was there and anything changed.

    Raises UnknownArgument for a name that is no data column.
    """
    for name in columns:
        if table.column(name) is None:
            raise UnknownArgument(f"a {table.name} has no column {name!r}", field=name)
    if not columns:
        return False
    _run(db, _update(table, tuple(columns)), (*columns.values(), key, *columns.values()))
    return bool(db.changes())


def delete(db: apsw.Connection, table: Table, key: str) -> bool:
    """Make a living row a tombstone. Whether there was one."""
    if get(db, table, key) is None:
        return False
    db.execute(f"DELETE FROM {table.name} WHERE {table.key} = ?", (key,))
    return True


def put_back(db: apsw.Connection, table: Table, key: str, values: Sequence[Value]) -> bool:
    """Make `values` (as in `Row`, `extra` last) the content of a row, dead or alive or gone.

    `local` stays as it is. Whether anything changed. Raises InvalidInput for what a trigger
    refuses.
    """
    names = (*table.names, EXTRA)
    columns = dict(zip(names, values, strict=True))
    held = get(db, table, key, dead=True)
    if held is not None and "local" in columns:
        columns["local"] = held.local
    if held is None or get(db, table, key) is None:
        marks = ", ".join("?" * (len(columns) + 1))
        verb = "INSERT" if held is None else "INSERT OR REPLACE"
        into = f"{verb} INTO {table.name}({table.key}, {', '.join(columns)}) VALUES({marks})"
        _run(db, into, (key, *columns.values()))
        return True
    settings = ", ".join(f"{name} = ?" for name in columns)
    differs = " OR ".join(f"{name} IS NOT ?" for name in columns)
    given = tuple(columns.values())
    _run(
        db,
        f"UPDATE {table.name} SET {settings} WHERE {table.key} = ? AND ({differs})",
        (*given, key, *given),
    )
    return bool(db.changes())


def resolve(db: apsw.Connection, table: Table, given: str) -> str:
    """The key of the one living row that `given` means.

    A full key, or a unique prefix or suffix of 8 or more hex digits of one. Raises NotFound, and
    AmbiguousId with candidates in the hint.
    """
    name, key = table.name, table.key
    exact = f"SELECT {key} FROM {name} WHERE {key} = ? AND {alive()}"
    if (found := db.execute(exact, (given,)).get) is not None:
        return str(found)
    digits = given.lower().replace("-", "")
    if key != "id" or len(digits) < SHORT_ID_DIGITS_MIN or not _HEX.issuperset(digits):
        raise _not_found(table, given)
    start, end = _dashed(digits), _dashed(digits[::-1], from_end=True)[::-1]
    candidates = [
        str(candidate)
        for (candidate,) in db.execute(
            f"SELECT {key} FROM {name} WHERE ({key} >= ? AND {key} < ?) AND {alive()}"
            f" UNION SELECT {key} FROM {name} WHERE substr({key}, ?) = ? AND {alive()}"
            f" ORDER BY {key} LIMIT {CANDIDATES_MAX}",
            (start, start + "g", -len(end), end),
        )
    ]
    if not candidates:
        raise _not_found(table, given)
    if len(candidates) > 1:
        raise AmbiguousId(
            f"{given!r} fits more than one {name}",
            hint=f"give more digits; it fits {', '.join(candidates)}",
            field=key,
        )
    return candidates[0]


def _not_found(table: Table, given: str) -> NotFound:
    return NotFound(f"no {table.name} {given!r} here, or none that you may see", field=table.key)


def _dashed(digits: str, *, from_end: bool = False) -> str:
    """Hex digits with a UUID's dashes, counted from its beginning or (reversed) from its end."""
    breaks = tuple(32 - at for at in _GROUPS) if from_end else _GROUPS
    return "".join(f"-{digit}" if at in breaks else digit for at, digit in enumerate(digits))


class _Ids:
    """UUIDv7 (RFC 9562, method 2): within a millisecond the random part counts up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, now_ms: int) -> str:
        fresh = now_ms << 74 | int.from_bytes(random_bytes(10), "big") & (1 << 74) - 1
        step = int.from_bytes(random_bytes(4), "big") + 1
        with self._lock:
            same_or_past = now_ms <= self._last >> 74
            self._last = self._last + step if same_or_past else fresh
            value = self._last
        high, low = value >> 62, value & (1 << 62) - 1
        bits = (high >> 12) << 80 | 7 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low
        digits = f"{bits:032x}"
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


_ids = _Ids()


def new_id(now_ms: int) -> str:
    """A new UUIDv7, larger than every one that this process made before."""
    return _ids.next(now_ms)


def _run(db: apsw.Connection, statement: str, parameters: tuple[Any, ...]) -> None:
    """Run a write; what a trigger refuses is the caller's wrong input."""
    try:
        db.execute(statement, parameters)
    except apsw.ConstraintError as error:
        raise InvalidInput(str(error).removeprefix("ConstraintError: ")) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise InvalidInput(f"a value cannot be stored: {error}") from error


@cache
def _names(table: Table) -> tuple[str, ...]:
    return tuple(field.name for field in fields(table.row))


@cache
def _select(table: Table, dead: bool) -> str:
    living = "" if dead else f" AND {alive()}"
    return f"SELECT {', '.join(_names(table))} FROM {table.name} WHERE {table.key} = ?{living}"


@cache
def _insert(table: Table, *, over: bool) -> str:
    names = _names(table)
    verb = "INSERT OR REPLACE" if over else "INSERT"
    return f"{verb} INTO {table.name}({', '.join(names)}) VALUES({', '.join('?' * len(names))})"


@cache
def _update(table: Table, names: tuple[str, ...]) -> str:
    settings = ", ".join(f"{name} = ?" for name in names)
    differs = " OR ".join(f"{name} IS NOT ?" for name in names)
    return f"UPDATE {table.name} SET {settings} WHERE {table.key} = ? AND {alive()} AND ({differs})"
