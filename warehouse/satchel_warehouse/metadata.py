"""SQLAlchemy Core metadata of the hub: the synced tables read from `TABLES`, and its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy import Table as SqlTable
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.types import TypeEngine

from satchel_sync.tables import EXTRA, TABLES, Table
from satchel_sync.tables import Column as DataColumn
from satchel_warehouse import metadata_report, metadata_search

SCHEMA = "satchel"

metadata = MetaData(schema=SCHEMA)

BY_SUBJECT = {
    "embedding": {"embedding_memory_id": "memory_id"},
    "relationship": {"relationship_from_id": "from_id", "relationship_to_id": "to_id"},
    "history": {"history_subject": "key"},
}
"""Kind -> {index: column with the key of what a row is about}: it is scrubbed with that."""


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
        *(Index(name, "tenant", column) for name, column in BY_SUBJECT.get(table.name, {}).items()),
    )


SYNCED: dict[str, SqlTable] = {table.name: hub_table(table) for table in TABLES}

Index(
    "chatlog_said_at",
    SYNCED["chatlog"].c.said_at,
    postgresql_using="brin",
    postgresql_with={"pages_per_range": 32, "autosummarize": "on"},
)
"""Turns come about in the order in which they were said: times of ranges of pages are enough."""

HUB = SqlTable(
    "hub",
    metadata,
    Column("singleton", Boolean, primary_key=True, server_default=text("true")),
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
    Column("epoch", plain_text(), nullable=False, server_default=text("satchel.random_hex(8)")),
    Column(
        "id",
        LargeBinary,
        nullable=False,
        server_default=text("decode(satchel.random_hex(16), 'hex'::text)"),
    ),
    UniqueConstraint("number", name="tenant_number"),
    UniqueConstraint("id", name="tenant_id"),
)

LOGIN = SqlTable(
    "login",
    metadata,
    Column("role_name", plain_text(), primary_key=True),
    Column("tenant", plain_text(), ForeignKey("satchel.tenant.name"), nullable=False),
    Column("granted_at", BigInteger, nullable=False),
    Column("kind", plain_text(), nullable=False, server_default=text("'replica'::text")),
)

REPLICA = SqlTable(
    "replica",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("replica_id", LargeBinary, primary_key=True),
    Column("login", plain_text(), ForeignKey("satchel.login.role_name"), nullable=False),
    Column("host", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
    Column(
        "predecessors", ARRAY(LargeBinary), nullable=False, server_default=text("'{}'::bytea[]")
    ),
    Column("last_attempt", plain_text(), nullable=False, server_default=text("''::text")),
    Column("token_number", BigInteger, nullable=False, server_default=text("0")),
    Column("delivered", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("must_reconcile", Boolean, nullable=False, server_default=text("false")),
    Column("bound", Boolean, nullable=False, server_default=text("true")),
)

ATTEMPT = SqlTable(
    "attempt",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("attempt", plain_text(), nullable=False),
    Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("report", Text),
    Column("standing", plain_text(), nullable=False, server_default=text("'known'::text")),
    Column("epoch", plain_text(), nullable=False, server_default=text("''::text")),
    Column("relaying", Boolean, nullable=False, server_default=text("false")),
    Column("reconciling", JSONB),
    Column("read_only", Boolean, nullable=False, server_default=text("false")),
    Column("columns", plain_text(), nullable=False, server_default=text("''::text")),
    Column("carrier", plain_text()),
    Column("levels", Boolean, nullable=False, server_default=text("false")),
    Column("said", JSONB, Computed("satchel.report_said(report)", persisted=True)),
    PrimaryKeyConstraint("attempt", "replica_id", "tenant", name="attempt_pkey"),
    Index("attempt_replica", "replica_id", "started_at"),
)

TOKEN = SqlTable(
    "token",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("token", plain_text(), nullable=False),
    Column("number", BigInteger, Identity(always=True), nullable=False),
    Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
    Column("attempt", plain_text(), nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("token", "tenant", name="token_pkey"),
)

RELAYED = SqlTable(
    "relayed",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("replica_id", LargeBinary, nullable=False),
    Column("attempt", plain_text(), nullable=False),
    Column("kind", plain_text(), nullable=False),
    Column("origin", LargeBinary, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant", "replica_id", "attempt", "kind", "origin", name="relayed_pkey"),
    Index("relayed_origin", "tenant", "origin"),
)

DIGEST_PART = SqlTable(
    "digest_part",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("kind", plain_text(), nullable=False),
    Column("part", BigInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("highest", BigInteger, nullable=False),
    Column("checksum", Numeric, nullable=False),
    Column("buckets", ARRAY(Integer), nullable=False),
    Column("counts", ARRAY(BigInteger), nullable=False),
    Column("totals", ARRAY(Numeric), nullable=False),
    PrimaryKeyConstraint("tenant", "kind", "part", name="digest_part_pkey"),
)
"""A cache: made with the functions (sql/internal.sql), by no migration."""

HISTORY_MEMORY = SqlTable(
    "history_memory",
    metadata,
    *(Column(name, plain_text(), nullable=False) for name in ("tenant", "memory_id", "id")),
    PrimaryKeyConstraint("tenant", "memory_id", "id", name="history_memory_pkey"),
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
    Column("received_at", BigInteger, nullable=False, server_default=text("satchel.now_ms()")),
    PrimaryKeyConstraint("tenant", "kind", "key", "version", name="conflict_pkey"),
)

OPERATION = SqlTable(
    "operation",
    metadata,
    Column("number", BigInteger, Identity(always=True), nullable=False),
    Column("at", BigInteger, nullable=False),
    *(Column(name, plain_text(), nullable=False) for name in ("what", "who", "detail")),
    PrimaryKeyConstraint("number", name="operation_pkey"),
)
"""What its keepers did to the warehouse: of all tenants."""

BUNDLE_PEER = SqlTable(
    "bundle_peer",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
    Column("cursors", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("token", plain_text(), nullable=False, server_default=text("''::text")),
    Column("manifest", BigInteger, nullable=False, server_default=text("0")),
    Column("levelled", Boolean, nullable=False, server_default=text("false")),
    Column("imported_at", BigInteger),
    PrimaryKeyConstraint("replica_id", "tenant", name="bundle_peer_pkey"),
)

RECEIPT = SqlTable(
    "receipt",
    metadata,
    Column("tenant", plain_text(), nullable=False),
    Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
    *(Column(name, plain_text(), nullable=False) for name in ("kind", "key", "version", "verdict")),
    Column("now_ms", BigInteger, nullable=False),
    Column("winner", plain_text()),
    *(Column(name, plain_text(), nullable=False) for name in ("lineage", "reason", "detail")),
    Column("number", BigInteger, nullable=False),
    PrimaryKeyConstraint("replica_id", "kind", "key", "version", "tenant", name="receipt_pkey"),
)


def _of_chain(name: str, *columns: Column[Any], key: tuple[str, ...]) -> SqlTable:
    """A table about the audit chains of a machine."""
    return SqlTable(
        name,
        metadata,
        Column("tenant", plain_text(), nullable=False),
        Column("replica_id", LargeBinary, ForeignKey("satchel.replica.replica_id"), nullable=False),
        *columns,
        PrimaryKeyConstraint("tenant", "replica_id", *key, name=f"{name}_pkey"),
    )


def _texts(*names: str) -> list[Column[Any]]:
    return [Column(name, plain_text(), nullable=False) for name in names]


def _numbers(*names: str) -> list[Column[Any]]:
    return [Column(name, BigInteger, nullable=False) for name in names]


def _bytes(*names: str) -> list[Column[Any]]:
    return [Column(name, LargeBinary, nullable=False) for name in names]


AUDIT = _of_chain(
    "audit",
    *_texts("chain", "body"),
    *_numbers("seq", "at", "received_at"),
    *_bytes("link", "mac"),
    key=("chain", "seq"),
)

AUDIT_CUT = _of_chain(
    "audit_cut",
    *_texts("chain", "why"),
    *_numbers("seq", "at"),
    *_bytes("link"),
    Column("record", plain_text()),
    key=("chain", "seq", "why"),
)

AUDIT_KEY = _of_chain(
    "audit_key",
    *_texts("algorithm", "public_key"),
    *_numbers("pinned_at"),
    key=("algorithm", "public_key"),
)

AUDIT_HEAD = _of_chain(
    "audit_head",
    *_texts("chain", "signature"),
    *_numbers("seq", "at", "received_at"),
    *_bytes("link"),
    key=("chain", "seq"),
)

AUDIT_TROUBLE = _of_chain(
    "audit_trouble",
    *_texts("chain", "what", "evidence", "login", "attempt"),
    *_numbers("seq", "held_seq", "at"),
    *_bytes("evidence_hash"),
    key=("chain", "what", "seq", "evidence_hash"),
)

metadata_report.add(metadata)
metadata_search.add(metadata)
