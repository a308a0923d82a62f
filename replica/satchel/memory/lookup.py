"""From what a caller typed to rows that this caller may see: ids, short ids, selects."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

from satchel.errors import AmbiguousId, InvalidInput, NotFound, Refused
from satchel.memory.limits import CANDIDATES_SHOWN_MAX, SHORT_ID_DIGITS_MIN
from satchel.memory.visibility import Access, Caller, visible
from satchel.store.lenient import read_columns
from satchel_sync.tables import BY_NAME, Table, table_of

if TYPE_CHECKING:
    from apsw import Connection

RowT = TypeVar("RowT")
Params = Mapping[str, Any]
_DASHES = (8, 12, 16, 20)
_ID_DIGITS = 32
_NUMBER = (int, float)
_HEX = re.compile(r"[0-9a-f-]+")


def columns(table: Table, alias: str = "t") -> str:
    """SQL: key and data columns, in the order of the row's dataclass."""
    return ", ".join(f"{alias}.{name}" for name in (table.key, *table.names))


def build(row: type[RowT], values: tuple[Any, ...]) -> RowT:
    """The dataclass of a row selected with `columns`.

    SQLite lets a write by hand put anything into a column of numbers; what is none shows as NULL
    here, stays in the file as it is, and is named by the quarantine once a sync meets it.
    """
    table = table_of(row)
    fields = dict(zip((table.key, *table.names), values, strict=True))
    for name in _numbers(table.name):
        if not isinstance(fields[name], _NUMBER):
            fields[name] = None
    return row(**fields)


@cache
def _numbers(kind: str) -> tuple[str, ...]:
    return tuple(column.name for column in BY_NAME[kind].columns if column.tag in ("i", "r"))


def select(
    db: Connection, row: type[RowT], where: str, params: Params, tail: str = ""
) -> list[RowT]:
    """Rows of one kind as dataclasses; the table is `t` in `where` and `tail`."""
    return fetch(db, row, f"FROM {table_of(row).name} AS t WHERE {where} {tail}", params)


def fetch(db: Connection, row: type[RowT], source: str, params: Params) -> list[RowT]:
    """Rows `t` of a FROM clause as dataclasses; what is no UTF-8 shows as escaped bytes."""
    table = table_of(row)
    try:
        found = db.execute(f"SELECT {columns(table)} {source}", dict(params)).fetchall()
    except UnicodeDecodeError:
        # Somebody left text here that is no text: one such row must not hide the others.
        numbers = db.execute(f"SELECT t.row {source}", dict(params)).fetchall()
        names = (table.key, *table.names)
        found = [
            tuple(_readable(value) for value in read_columns(db, table, names, cast(int, number)))
            for (number,) in numbers
        ]
    return [build(row, values) for values in found]


def _readable(value: Any) -> Any:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def can_see(caller: Caller, kind: str, alias: str = "t", access: Access = "read") -> str:
    """SQL: the caller may read (or change) the living row `alias`; parameters: `caller.params`."""
    return visible(caller.sees_all, kind, alias, access)


def find(db: Connection, caller: Caller, row: type[RowT], given: object) -> RowT:
    """The one visible row that a full or short id means. Raises NotFound or AmbiguousId."""
    table = table_of(row)
    key = resolve(db, caller, table.name, given)
    where = f"t.{table.key} = :key AND {can_see(caller, table.name)}"
    found = select(db, row, where, {**caller.params, "key": key})
    if not found:
        raise not_found(table.name, key)
    return found[0]


def find_to_change(db: Connection, caller: Caller, row: type[RowT], given: object) -> RowT:
    """Like `find`, and the caller may change it. Raises Refused when it may only read it."""
    table = table_of(row)
    found = find(db, caller, row, given)
    key = getattr(found, table.key)
    require_change(db, caller, table.name, key)
    return found


def sees(db: Connection, caller: Caller, kind: str, key: str, access: Access = "read") -> bool:
    """Whether the caller may read (or change) the living row with this full key."""
    sql = f"""SELECT 1 FROM {kind} AS t
              WHERE t.{BY_NAME[kind].key} = :key AND {can_see(caller, kind, access=access)}"""
    return db.execute(sql, {**caller.params, "key": key}).fetchone() is not None


def require_change(db: Connection, caller: Caller, kind: str, key: str) -> None:
    """Raise Refused when the caller sees this row and may not change it."""
    if not sees(db, caller, kind, key, "write"):
        raise Refused(
            f"{kind} {key} may be read by this caller and not changed",
            hint="its owner, a supervisor or the operator can change it",
            field="id",
        )


def resolve(db: Connection, caller: Caller, kind: str, given: object) -> str:
    """The full key of a visible row. Raises NotFound, AmbiguousId or InvalidInput."""
    found = matches(db, kind, given, can_see(caller, kind), caller.params)
    return only_one(kind, given, found)


def resolve_to_travel(db: Connection, caller: Caller, given: object, field: str) -> str:
    """The full id of a memory that a row which travels will name.

    Raises InvalidInput for a local memory: not even its id leaves the machine.
    """
    key = resolve(db, caller, "memory", given)
    if db.execute("SELECT local FROM memory WHERE id = ?", (key,)).get:
        raise InvalidInput(
            f"`{field}` names memory {key}, which is local, in a row that travels",
            hint="leave it out, or say what may be known in a memory that is not local",
            field=field,
        )
    return key


def only_one(kind: str, given: object, found: list[str]) -> str:
    """The single entry of `found`. Raises NotFound for none and AmbiguousId for several."""
    if not found:
        raise not_found(kind, given)
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES_SHOWN_MAX])
        more = " …" if len(found) > CANDIDATES_SHOWN_MAX else ""
        raise AmbiguousId(
            f"{given!r} fits several: {shown}{more}", hint="give more digits", field="id"
        )
    return found[0]


LISTED_BY = {"message": "message inbox --all", "relationship": "memory graph"}
"""Kinds whose list has another name."""


def not_found(kind: str, given: object) -> NotFound:
    """No such row, or one that the caller may not see: the same words."""
    return NotFound(
        f"no {kind} {str(given)[:80]!r}",
        hint=f"`satchel {LISTED_BY.get(kind, f'{kind} list')}` shows what is there",
        field="name" if kind == "space" else "id",
    )


def matches(
    db: Connection,
    kind: str,
    given: object,
    where: str,
    params: Params,
    most: int = CANDIDATES_SHOWN_MAX + 1,
) -> list[str]:
    """Keys that a full or short id fits, among the rows `t` for which `where` holds; -1 = all."""
    key = BY_NAME[kind].key
    if not isinstance(given, str) or not given.strip():
        raise InvalidInput(f"`id` must be text, not {given!r}", hint="give an id", field="id")
    text = given.strip()
    text = text.lower() if key == "id" else text
    exact = _keys(db, kind, f"t.{key} = :given AND {where}", {**params, "given": text}, most)
    if exact or key != "id" or not _HEX.fullmatch(text):
        return exact
    return _short(db, kind, text.replace("-", ""), where, params, most)


def _short(
    db: Connection, kind: str, digits: str, where: str, params: Params, most: int
) -> list[str]:
    if len(digits) < SHORT_ID_DIGITS_MIN:
        raise InvalidInput(
            f"{digits!r} is too short for an id",
            hint=f"give the whole id, or {SHORT_ID_DIGITS_MIN} or more of its first or last digits",
            field="id",
        )
    if len(digits) > _ID_DIGITS:
        return []
    start, end = dashed_ends(digits)
    # "g" sorts behind every hex digit and dash: a range that the index on ids serves.
    fits = "((t.id >= :start AND t.id < :start || 'g') OR substr(t.id, -length(:end)) = :end)"
    given = {**params, "start": start, "end": end}
    return _keys(db, kind, f"{fits} AND {where}", given, most)


def dashed_ends(given: str) -> tuple[str, str]:
    """How an id with these first or last digits begins, and how it ends."""
    digits = given.replace("-", "")
    return _dashed(digits, 0), _dashed(digits, _ID_DIGITS - len(digits))


def _dashed(digits: str, offset: int) -> str:
    """Digits that stand at `offset` in an id, with the dashes that stand between them."""
    parts = [
        ("-" if place + offset in _DASHES and place else "") + digit
        for place, digit in enumerate(digits)
    ]
    return "".join(parts)


def _keys(db: Connection, kind: str, where: str, params: Params, most: int) -> list[str]:
    key = BY_NAME[kind].key
    sql = f"SELECT t.{key} FROM {kind} AS t WHERE {where} ORDER BY t.{key} LIMIT {most}"
    return [str(found) for (found,) in db.execute(sql, dict(params))]
