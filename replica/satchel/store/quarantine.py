"""The gate before a push: rows that cannot travel as they are, named with column and reason."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from satchel.store import outbox
from satchel_sync import validity
from satchel_sync.digest import parse_extra, value_of
from satchel_sync.limits import KEY_BYTES_MAX, ROW_BYTES_MAX
from satchel_sync.row import Row
from satchel_sync.stamp import Stamp
from satchel_sync.tables import BY_NAME, EXTRA, TAGS, Table

Fault = tuple[str | None, str]
"""Column and reason of a row that cannot travel; None where all of it is at fault."""

REFUSED = "the hub refused it"
"""How the reason of a row begins that was sent, and not taken."""
DTYPE_BYTES = {"f16": 2, "f32": 4}
DTYPE_FORMATS = {"f16": "e", "f32": "f"}
_TYPES = {tag: kind for kind, tag in TAGS.items()}
_NAMES = {"t": "text", "i": "int64", "r": "float64", "b": "a blob"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A row that stays here until it is changed; `column` is None if all of it is at fault."""

    kind: str
    key: str
    column: str | None
    reason: str
    at_ms: int


def inspect(table: Table, key: Any, values: Sequence[Any]) -> Fault | None:
    """(column, reason) of the first fault of a row, or None if it may travel.

    `values` as in `Row`, but of any type: SQLite lets a write by hand put anything anywhere.
    """
    if not isinstance(key, str):
        return table.key, f"the key is {_said(key)}, not text"
    if fault := _text_fault(key) or _length_fault(key):
        return table.key, fault
    for column, value in zip(table.columns, values[:-1], strict=True):
        if value is not None and (fault := _fault(column.tag, value)):
            return column.name, fault
    if fault := _extra_fault(table, values[-1]):
        return EXTRA, fault
    if table.name == "embedding" and (fault := _vector_fault(table, values)):
        return "vector", fault
    size = row_bytes(key, values)
    if size > ROW_BYTES_MAX:
        return None, f"the row has {size} bytes; {ROW_BYTES_MAX} can travel"
    return None


def version_fault(version: Sequence[Any]) -> Fault | None:
    """(column, reason) of a version that no other could follow; `version` as in `row_columns`."""
    try:
        life, hlc, origin, digest, lineage = version
        sane = validity.whole(Row("", Stamp(life, hlc, origin, digest), lineage, ()))
    except (TypeError, ValueError):
        sane = False
    return None if sane else ("hlc", "its version is damaged")


def row_bytes(key: str, values: Sequence[Any]) -> int:
    """About how many bytes a row takes on its way; text counts as UTF-8."""
    size = 96 + len(key)
    for value in values:
        if isinstance(value, str):
            size += len(value) if value.isascii() else len(value.encode())
        elif isinstance(value, bytes):
            size += len(value)
        elif value is not None:
            size += 8
    return size


def put(db: apsw.Connection, table: Table, key: Any, fault: Fault, now_ms: int) -> None:
    """Keep a row from travelling, and say why."""
    db.execute(
        'INSERT INTO quarantine(kind, key, "column", reason, at_ms) VALUES(?, ?, ?, ?, ?)'
        ' ON CONFLICT(kind, key) DO UPDATE SET "column" = excluded."column",'
        " reason = excluded.reason, at_ms = excluded.at_ms",
        (table.name, key, *fault, now_ms),
    )


def move(db: apsw.Connection, table: Table, row: int, fault: Fault, now_ms: int) -> None:
    """Take the outbox entry of a row, whatever its key is, into the quarantine."""
    key = f"(SELECT {table.key} FROM {table.name} WHERE row = ?)"
    entry = f"FROM outbox WHERE kind = ? AND key = {key}"
    db.execute(
        'INSERT OR REPLACE INTO quarantine(kind, key, "column", reason, at_ms)'
        f" SELECT kind, key, ?, ?, ? {entry}",
        (*fault, now_ms, table.name, row),
    )
    db.execute(f"DELETE {entry}", (table.name, row))


def lift(db: apsw.Connection, table: Table, keys: Sequence[str]) -> None:
    """Let rows travel again: they were changed, or replaced by another version."""
    if not db.execute("SELECT EXISTS (SELECT 1 FROM quarantine WHERE kind = ?)", (table.name,)).get:
        return
    db.executemany(
        "DELETE FROM quarantine WHERE kind = ? AND key = ?", ((table.name, key) for key in keys)
    )


def retry_refused(db: apsw.Connection) -> None:
    """Let the rows travel again that the hub refused: in a reconcile it takes what it would not."""
    refused = f"kind = ? AND reason LIKE '{REFUSED}%'"
    for (kind,) in db.execute("SELECT DISTINCT kind FROM quarantine").fetchall():
        query = f"SELECT key FROM quarantine WHERE {refused}"
        outbox.put(db, BY_NAME[str(kind)], [str(key) for (key,) in db.execute(query, (kind,))])
        db.execute(f"DELETE FROM quarantine WHERE {refused}", (kind,))


def keys(db: apsw.Connection, table: Table) -> frozenset[str]:
    """Keys of this kind that are in quarantine, but for those that no hub can hold."""
    found: Any = db.execute(
        "SELECT CAST(key AS BLOB) FROM quarantine WHERE kind = ? AND typeof(key) = 'text'",
        (table.name,),
    )
    held = (bytes(key) for (key,) in found)
    return frozenset(key.decode() for key in held if not (b"\0" in key or _not_utf8(key)))


def count(db: apsw.Connection) -> int:
    """How many rows are in quarantine."""
    return int(db.execute("SELECT count(*) FROM quarantine").get)


def listed(db: apsw.Connection, table: Table | None = None) -> list[Quarantined]:
    """What is in quarantine, of one kind or of all, by kind and key."""
    found: Any = db.execute(
        'SELECT kind, CAST(key AS BLOB), "column", reason, at_ms FROM quarantine'
        " WHERE ? IS NULL OR kind = ? ORDER BY kind, key",
        (table and table.name,) * 2,
    )
    return [
        Quarantined(
            kind=kind,
            key=bytes(key).decode(errors="backslashreplace"),
            column=column,
            reason=reason,
            at_ms=at_ms,
        )
        for kind, key, column, reason, at_ms in found
    ]


def _fault(tag: str, value: Any) -> str:
    if tag == "t" and isinstance(value, bytes) and _not_utf8(value):
        return _not_utf8(value)
    whole = tag == "r" and isinstance(value, int)
    if not whole and type(value) is not _TYPES[tag]:
        if tag == "i" and isinstance(value, float) and abs(value) >= 2.0**63:
            return f"{value:g} is beyond int64"
        return f"it is {_said(value)}, not {_NAMES[tag]}"
    if tag == "t":
        return _text_fault(value)
    if tag == "r" and not math.isfinite(value):
        return f"{value} is no finite number"
    return ""


def _text_fault(text: str) -> str:
    if "\0" in text:
        return f"NUL at position {text.index(chr(0))}"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"lone surrogate at position {error.start}"
    return ""


def _length_fault(key: str) -> str:
    size = len(key.encode())
    if size > KEY_BYTES_MAX:
        return f"the key has {size} bytes; {KEY_BYTES_MAX} can travel"
    return "" if key else "the key is empty"


def _not_utf8(data: bytes) -> str:
    """Why bytes are no UTF-8 text; a surrogate is told from other damage."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        surrogate = data[error.start] == 0xED and data[error.start + 1 : error.start + 2] >= b"\xa0"
        what = "lone surrogate" if surrogate else "no UTF-8"
        return f"{what} at byte {error.start}"
    return ""


def _extra_fault(table: Table, extra: Any) -> str:
    if extra is None:
        return ""
    if not isinstance(extra, str):
        return f"it is {_said(extra)}, not text"
    try:
        columns = parse_extra(extra)
        for tag, data in columns.values():
            value_of(tag, data)
    except (ValueError, AttributeError) as error:
        return f'not of the form {{"name": "tag:hex"}}: {error}'
    known = sorted(columns.keys() & {table.key, *table.names})
    return f"it holds {known[0]!r}, which is a column" if known else _text_fault(extra)


def _vector_fault(table: Table, values: Sequence[Any]) -> str:
    found = dict(zip(table.names, values, strict=False))
    vector, dims, dtype = found["vector"], found["dims"], found["dtype"]
    if vector is None:
        return ""
    if dtype not in DTYPE_BYTES:
        return f"its dtype is {dtype!r}, not f16 or f32"
    if dims is None or len(vector) != dims * DTYPE_BYTES[dtype]:
        return f"{len(vector)} bytes are not {dims} numbers of {dtype}"
    numbers = struct.unpack(f"<{dims}{DTYPE_FORMATS[dtype]}", vector)
    at = next((at for at, number in enumerate(numbers) if not math.isfinite(number)), None)
    return "" if at is None else f"its number {at} is {numbers[at]}"


def _said(value: Any) -> str:
    return {str: "text", int: "an integer", float: "a float", bytes: "a blob", type(None): "NULL"}[
        type(value)
    ]
