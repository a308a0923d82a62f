"""SQLAlchemy Core metadata of the hub: the synced tables read from `TABLES`, and its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy import Table as SqlTable
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB
from sqlalchemy.types import TypeEngine

from satchel_sync.tables import EXTRA, TABLES, Table
from satchel_sync.tables import Column as DataColumn

SCHEMA = "satchel"

metadata = MetaData(schema=SCHEMA)


def plain_text() -> Text:
    """Text that compares byte by byte, as SQLite does."""
    return Text(collation="C")


def type_of(tag: str) -> TypeEngine[Any]:
    """The Postgres type of a column's tag."""
    types: dict[str, TypeEngine[Any]] = {
        "t": plain_text(),
        "i": BigInteger(),
        "r": DOUBLE_PRECISION(),
        "b": LargeBinary(),
    }
    return types[tag]


def hub_table(table: Table) -> SqlTable:
    """One synced table at the hub: tenant and key, data, version, and what only the hub knows."""

    def data(column: DataColumn) -> Column[Any]:
        return Column(column.name, type_of(column.tag))

    return SqlTable(
        table.name,
        metadata,
        Column("tenant", plain_text(), nullable=False),
        Column(table.key, plain_text(), nullable=False),
        *map(data, table.columns),
        Column(EXTRA, plain_text()),
        Column("life", BigInteger, nullable=False),
        Column("hlc", BigInteger, nullable=False),
        Column("origin", LargeBinary, nullable=False),
        Column("digest", LargeBinary, nullable=False),
        Column("lineage", plain_text(), nullable=False),
        Column("change_seq", BigInteger, nullable=False),
        Column("schema_ver", Integer, nullable=False),
        Column("received_at", BigInteger, nullable=False),
        Column("pushed_by", LargeBinary, nullable=False),
        PrimaryKeyConstraint("tenant", table.key, name=f"{table.name}_pkey"),
        Index(f"{table.name}_change_seq", "tenant", "change_seq"),
    )


SYNCED: dict[str, SqlTable] = {table.name: hub_table(table) for table in TABLES}

HUB = SqlTable(
    "hub",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default=text("true")),
    Column("hub_id", LargeBinary, nullable=False),
    Column("epoch", Integer, nullable=False, server_default=text("1")),
    Column("protocol", Integer, nullable=False),
    Column("schema", Integer, nullable=False),
    Column("clock_correction_ms", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("singleton", name="hub_singleton"),
)

TENANT = SqlTable(
    "tenant",
    metadata,
    Column("name", plain_text(), primary_key=True),
    Column("number", Integer, Identity(always=True), nullable=False),
    UniqueConstraint("number", name="tenant_number"),
)

LOGIN = SqlTable(
    "login",
    metadata,
    Column("role_name", plain_text(), primary_key=True),
    Column("tenant", plain_text(), ForeignKey("satchel.tenant.name"), nullable=False),
    Column("granted_at", BigInteger, nullable=False),
)

REPLICA = SqlTable(
    "replica",
    metadata,
    Column("replica_id", LargeBinary, primary_key=True),
    Column("login", plain_text(), ForeignKey("satchel.login.role_name"), nullable=False),
    Column("host", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)

ATTEMPT = SqlTable(
    "attempt",
    metadata,
    Column("attempt", plain_text(), primary_key=True),
    Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("delivered", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("report", Text),
    Index("attempt_replica", "replica_id", "started_at"),
)

CONFLICT = SqlTable(
    "conflict",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("kind", plain_text(), nullable=False),
    Column("key", plain_text(), nullable=False),
    Column("version", plain_text(), nullable=False),
    Column("lineage", plain_text(), nullable=False),
    Column("content", Text),
    Column("winner", plain_text(), nullable=False),
    Column("path", plain_text(), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("replica_id", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant", "kind", "key", "version", name="conflict_pkey"),
)
