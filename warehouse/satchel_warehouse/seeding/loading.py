"""Rows into the hub's tables, many at a time, past the triggers that stamp what others write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from psycopg import sql

from satchel_sync.digest import row_digest
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import BY_NAME, EXTRA, VERSION_COLUMNS, Table, table_of
from satchel_sync.version import SCHEMA
from satchel_warehouse.database import Connection
from satchel_warehouse.seeding.cast import Cast
from satchel_warehouse.seeding.made import Made
from satchel_warehouse.seeding.records import Record

ROWS_AT_ONCE = 10_000
ARRIVES_MS = 90_000
"""How long after it was made a row reached the hub."""
_TYPES = {"t": "text", "i": "int8", "r": "float8", "b": "bytea"}
_HUB_COLUMNS = ("tenant", "change_seq", "schema_ver", "received_at", "pushed_by")
_HUB_TYPES = ("text", "int8", "int4", "int8", "bytea")


class Loading:
    """Puts rows of one tenant into the hub; `counts` is kind -> rows."""

    def __init__(self, db: Connection, cast: Cast) -> None:
        """`db` is in a transaction, as the owner."""
        self.counts: dict[str, int] = defaultdict(int)
        self._db, self._cast, self._change_seq = db, cast, 0
        self._waiting: dict[type, list[Made]] = defaultdict(list)
        for table in BY_NAME.values():
            db.execute(_incoming(table.name, _columns(table)))
        db.execute("SELECT set_config('satchel.door', 'push', true)")

    def add(self, made: Made) -> None:
        """Take up one row."""
        waiting = self._waiting[type(made.row)]
        waiting.append(made)
        if len(waiting) >= ROWS_AT_ONCE:
            self._load(type(made.row))

    def end(self) -> None:
        """Store what waits, and let the hub count on from here."""
        for row in list(self._waiting):
            self._load(row)
        self._db.execute(
            "SELECT setval(satchel.change_sequence(%s), %s)",
            (self._cast.tenant, max(self._change_seq, 1)),
        )
        self._db.execute("SELECT set_config('satchel.door', '', true)")

    def records(self, name: str, columns: str, found: Iterable[Record]) -> int:
        """Rows of a table that is no synced kind, in these columns; how many."""
        columns_ = columns.split()
        self._db.execute(_incoming(name, columns_))
        count = _copied(self._db, name, columns_, found, ())
        self._db.execute(_taken_over(name, columns_))
        return count

    def _load(self, row: type) -> None:
        table = table_of(row)
        columns = _columns(table)
        types = [_TYPES["t"], *(_TYPES[c.tag] for c in table.columns), _TYPES["t"]]
        types += ["int8", "int8", "bytea", "bytea", "text", *_HUB_TYPES]
        values = attrgetter(*table.names)
        waiting = self._waiting.pop(row)
        found = (self._stored(table, one, values(one.row)) for one in waiting)
        _copied(self._db, table.name, columns, found, types)
        self._db.execute(_taken_over(table.name, columns))
        self._db.execute(sql.SQL("TRUNCATE {}").format(_place(table.name)))
        self.counts[table.name] += len(waiting)

    def _stored(self, table: Table, made: Made, data: tuple[Any, ...]) -> Record:
        """Key, data, version and what only the hub knows, in the order of `_columns`."""
        self._change_seq += 1
        key, origin = getattr(made.row, table.key), self._cast.replica_ids[made.machine]
        values = (*data, None)
        stamp = SCRUBBED
        if not made.scrubbed:
            digest = row_digest(table, key, values)
            stamp = Stamp(made.life, (made.at << 16) + made.rank, origin, digest)
        hub = (self._cast.tenant, self._change_seq, SCHEMA, made.at + ARRIVES_MS, origin)
        return (key, *values, *stamp, made.lineage, *hub)


def _columns(table: Table) -> list[str]:
    return [table.key, *table.names, EXTRA, *VERSION_COLUMNS, *_HUB_COLUMNS]


def _place(name: str) -> sql.Identifier:
    return sql.Identifier("pg_temp", f"seeding_{name}")


def _names(columns: Sequence[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, columns))


def _incoming(name: str, columns: Sequence[str]) -> sql.Composed:
    """A table that COPY may fill: it fills none that has row-level security."""
    return sql.SQL("CREATE TEMP TABLE {} ON COMMIT DROP AS SELECT {} FROM {} WITH NO DATA").format(
        _place(name), _names(columns), sql.Identifier("satchel", name)
    )


def _copied(
    db: Connection, name: str, columns: Sequence[str], found: Iterable[Record], types: Sequence[str]
) -> int:
    form = " (FORMAT BINARY)" if types else ""
    query = sql.SQL("COPY {} ({}) FROM STDIN" + form).format(_place(name), _names(columns))
    count = 0
    with db.cursor() as cursor, cursor.copy(query) as copy:
        if types:
            copy.set_types(list(types))
        for row in found:
            copy.write_row(row)
            count += 1
    return count


def _taken_over(name: str, columns: Sequence[str]) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
        sql.Identifier("satchel", name), _names(columns), _names(columns), _place(name)
    )
