"""After a migration: what waited in `extra` for a column that the hub has now moves into it.

The content stays what it was: no new version, no change sequence, nothing for anybody to pull.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import sql

from satchel_sync.tables import EXTRA, TABLES, Table
from satchel_sync.unknown import folded
from satchel_warehouse.database import Connection

ROWS_AT_ONCE = 1_000


def fold(db: Connection) -> None:
    """Fold every row of every kind and tenant; inside the migration's transaction, as the owner."""
    for table in TABLES:
        with _unguarded(db, table), db.cursor(name="folding") as found:
            found.execute(_select(table))
            while rows := found.fetchmany(ROWS_AT_ONCE):
                new = [(*folded(table, row[2:]), *row[:2]) for row in rows]
                with db.cursor() as cursor:
                    cursor.executemany(_update(table), new)


@contextmanager
def _unguarded(db: Connection, table: Table) -> Iterator[None]:
    """Rows of all tenants, and no trigger that stamps; nobody else sees this before the commit.

    The policy binds the owner too, and an administrator who also syncs has a tenant of his own.
    """
    name = sql.Identifier("satchel", table.name)
    db.execute(sql.SQL("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY").format(name))
    db.execute("SELECT set_config('satchel.door', 'push', true)")
    yield
    db.execute("SELECT set_config('satchel.door', '', true)")
    db.execute(sql.SQL("ALTER TABLE {} FORCE ROW LEVEL SECURITY").format(name))


def _select(table: Table) -> sql.Composed:
    """Tenant, key and values of the rows that hold a column of this schema in `extra`."""
    columns = ("tenant", table.key, *table.names, EXTRA)
    return sql.SQL("SELECT {} FROM {} WHERE {} ~ {}").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.Identifier("satchel", table.name),
        sql.Identifier(EXTRA),
        sql.Literal(pattern(table)),
    )


def pattern(table: Table) -> str:
    """A regular expression that finds a column of the table in a row's `extra`."""
    return f'"({"|".join(table.names)})" ?:'


def _update(table: Table) -> sql.Composed:
    settings = [sql.SQL("{} = %s").format(sql.Identifier(n)) for n in (*table.names, EXTRA)]
    return sql.SQL("UPDATE {} SET {} WHERE tenant = %s AND {} = %s").format(
        sql.Identifier("satchel", table.name),
        sql.SQL(", ").join(settings),
        sql.Identifier(table.key),
    )
