"""Copies of a hub's whole content in memory: a backup, a rewind or a fresh start in milliseconds.

`HubWorld.backup` copies the database itself, as an administrator would; that takes half a second,
too long for histories that are made by the hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'satchel'::regnamespace AND relkind = 'r' ORDER BY relname
"""
"""The rows of a partitioned table lie in its partitions."""
SEQUENCES = """
SELECT format('satchel.%I', sequencename), coalesce(last_value, start_value), last_value IS NOT NULL
FROM pg_sequences WHERE schemaname = 'satchel'
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """Table -> its rows as COPY gives them; (sequence, its value, whether that was drawn)."""

    tables: dict[str, bytes]
    sequences: list[tuple[str, int, bool]]


def taken(db: psycopg.Connection[Any]) -> Copy:
    """A copy of all tables and sequences as they are now; the hub must be at rest."""
    tables = [name for (name,) in db.execute(TABLES).fetchall()]
    return Copy({name: _out(db, name) for name in tables}, db.execute(SEQUENCES).fetchall())


def put_back(db: psycopg.Connection[Any], copy: Copy) -> None:
    """Make the hub what it was, past all triggers; needs a superuser."""
    with db.transaction():
        db.execute("SET LOCAL session_replication_role = replica")
        for name in copy.tables:
            db.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier("satchel", name)))
        for name, rows in copy.tables.items():
            with db.cursor().copy(_statement("COPY {} FROM STDIN", name)) as into:
                into.write(rows)
        for sequence in copy.sequences:
            db.execute("SELECT setval(%s::regclass, %s, %s)", sequence)


def _out(db: psycopg.Connection[Any], name: str) -> bytes:
    with db.cursor().copy(_statement("COPY {} TO STDOUT", name)) as out:
        return b"".join(bytes(part) for part in out)


def _statement(text: str, name: str) -> sql.Composed:
    return sql.SQL(text).format(sql.Identifier("satchel", name))
