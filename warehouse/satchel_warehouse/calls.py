"""Calls of the hub's doors, as SQL."""

from __future__ import annotations

from collections.abc import Sequence

from psycopg import sql

from satchel_sync.tables import BY_NAME, TABLES, Table

API = "satchel_api"
WHOLE = ("*",)


def door(name: str, arguments: int, columns: Sequence[str] = WHOLE) -> sql.Composed:
    """`SELECT columns FROM satchel_api.name(%s, …)`."""
    return door_in(API, name, arguments, columns)


def door_in(schema: str, name: str, arguments: int, columns: Sequence[str] = WHOLE) -> sql.Composed:
    """The same of another schema of doors."""
    names = [sql.SQL("*") if column == "*" else sql.Identifier(column) for column in columns]
    return sql.SQL("SELECT {} FROM {}({})").format(
        sql.SQL(", ").join(names),
        sql.Identifier(schema, name),
        sql.SQL(", ").join([sql.SQL("%s")] * arguments),
    )


def door_of(
    table: Table, name: str, arguments: int, columns: Sequence[str] = WHOLE
) -> sql.Composed:
    """The same for the door of one kind. Raises ValueError for a table that is not synced."""
    if table.name not in BY_NAME or BY_NAME[table.name] not in TABLES:
        raise ValueError(f"{table.name!r} is no synced kind")
    return door(f"{name}_{table.name}", arguments, columns)
