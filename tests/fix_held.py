"""What replicas and hubs of any version hold, read from their files and tables without our code."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from satchel_sync.digest import format_extra, parse_extra, row_digest, value_bytes
from satchel_sync.stamp import Stamp
from satchel_sync.tables import Table

DATABASE = "satchel.db"
KEYS = {"space": "name", "agent": "agent_id"}
"""Keys that are not called `id`."""
TYPES = {
    "TEXT": "t", "INTEGER": "i", "REAL": "r", "BLOB": "b",
    "text": "t", "bigint": "i", "double precision": "r", "bytea": "b",
}  # fmt: skip
VERSION = ("life", "hlc", "origin", "digest", "lineage")
LOCAL = {"row", "text_hash", "tenant", "change_seq", "schema_ver", "received_at", "pushed_by"}
"""Columns that never travel."""

Content = dict[str, tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Held:
    """One row as it lies somewhere: version, content with `extra` merged, and `extra` itself."""

    kind: str
    key: str
    stamp: Stamp
    content: Content
    extra: str | None

    @property
    def digest(self) -> bytes:
        """The digest that this content has."""
        all_unknown = Table(self.kind, KEYS.get(self.kind, "id"), object, ())
        return row_digest(all_unknown, self.key, (format_extra(self.content),))


Holding = dict[tuple[str, str], Held]


def replica_holds(home: Path) -> Holding:
    """(kind, key) -> every row of a replica's file that is sealed and may travel."""
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as db:
        kinds = _kinds_of(db)
        db.row_factory = sqlite3.Row
        found = {
            kind: db.execute(f"SELECT * FROM {kind} WHERE digest <> zeroblob(8)").fetchall()
            for kind in kinds
        }
    return _held((kind, kinds[kind], dict(row)) for kind in kinds for row in found[kind])


def _kinds_of(db: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """Synced kind -> {column: tag}."""
    kinds = {}
    for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = db.execute(f'SELECT name, type FROM pragma_table_info("{name}")').fetchall()
        if {*VERSION, "extra"} <= {column for column, _ in columns}:
            kinds[name] = {column: TYPES[kind] for column, kind in columns}
    return kinds


def hub_holds(dsn: str, tenant: str = "default") -> Holding:
    """(kind, key) -> every row of a tenant."""
    with psycopg.connect(dsn, row_factory=dict_row) as db:
        kinds: dict[str, dict[str, str]] = {}
        for column in db.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'satchel'"
        ):
            tags = kinds.setdefault(column["table_name"], {})
            tags[column["column_name"]] = TYPES.get(column["data_type"], "")
        kinds = {kind: tags for kind, tags in kinds.items() if {*VERSION, "extra"} <= tags.keys()}
        every = sql.SQL("SELECT * FROM {} WHERE tenant = %s")
        found = {
            kind: db.execute(every.format(sql.Identifier("satchel", kind)), (tenant,)).fetchall()
            for kind in kinds
        }
    return _held((kind, kinds[kind], row) for kind in kinds for row in found[kind])


def _held(found: Iterable[tuple[str, dict[str, str], dict[str, Any]]]) -> Holding:
    return {(held.kind, held.key): held for held in _each(found)}


def _each(found: Iterable[tuple[str, dict[str, str], dict[str, Any]]]) -> Iterator[Held]:
    for kind, tags, row in found:
        key = KEYS.get(kind, "id")
        content = {
            name: (tags[name], value_bytes(tags[name], value))
            for name, value in row.items()
            if value is not None and name not in {key, "extra", *VERSION, *LOCAL}
        }
        stamp = Stamp(row["life"], row["hlc"], bytes(row["origin"]), bytes(row["digest"]))
        merged = content | parse_extra(row["extra"])
        yield Held(kind, row[key], stamp, merged, row["extra"])


def text(value: str) -> tuple[str, bytes]:
    """Text as a content holds it."""
    return ("t", value.encode())


@dataclass
class Ledger:
    """Every version ever seen with its content: no version may have two."""

    contents: dict[tuple[str, str, Stamp], Content] = field(default_factory=dict)

    def check(self, *holdings: Holding) -> None:
        """Fail for a version with another content than before, or a digest that is not its own."""
        for holding in holdings:
            for (kind, key), held in holding.items():
                assert held.digest == held.stamp.digest, (kind, key, held.content)
                first = self.contents.setdefault((kind, key, held.stamp), held.content)
                assert first == held.content


def same(*holdings: Holding) -> bool:
    """Whether all hold the same rows in the same versions with the same content."""
    first, *others = (
        {at: (held.stamp, held.content) for at, held in holding.items()} for holding in holdings
    )
    return all(other == first for other in others)


BOOKKEEPING = ("outbox", "sync_base", "cursor", "quarantine", "withheld", "clock", "conflict")


def versions_and_bookkeeping(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that a migration must leave as it is: versions of all rows, and what sync remembers."""
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as db:
        found = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in BOOKKEEPING}
        for kind in _kinds_of(db):
            columns = ", ".join(("row", KEYS.get(kind, "id"), *VERSION))
            found[kind] = db.execute(f"SELECT {columns} FROM {kind}").fetchall()
    return found
