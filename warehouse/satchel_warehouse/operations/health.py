"""How the database of a warehouse fares: size, sessions, standbys, and how old is what is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from satchel_crypto.network import Policy
from satchel_warehouse.database import NAMED, Connection
from satchel_warehouse.login import Dsn
from satchel_warehouse.operations import record
from satchel_warehouse.operations.record import Act
from satchel_warehouse.sessions import administered, one, revision

_SIZES = """
SELECT coalesce(root.relname, c.relname), sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_class root ON root.oid = pg_partition_root(c.oid)
WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind = 'r' GROUP BY 1 ORDER BY 2 DESC, 1
"""
_CONNECTIONS = """
SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' GROUP BY 1 ORDER BY 1
"""
_OLDEST = """
SELECT pid, usename::text, coalesce(state, 'unknown'),
    extract(epoch FROM clock_timestamp() - xact_start)::float8
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend' AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1
"""
_STANDBYS = """
SELECT application_name, coalesce(state, 'unknown'), coalesce(sync_state, 'unknown'),
    pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
        ELSE pg_current_wal_lsn() END, replay_lsn)::bigint,
    extract(epoch FROM replay_lag)::float8
FROM pg_stat_replication ORDER BY application_name, pid
"""
_ARCHIVE = """
SELECT current_setting('archive_mode') <> 'off',
    (extract(epoch FROM last_archived_time) * 1000)::bigint, failed_count,
    (extract(epoch FROM last_failed_time) * 1000)::bigint
FROM pg_stat_archiver
"""
_FRESHNESS = """
SELECT tenant, name, (extract(epoch FROM refreshed_at) * 1000)::bigint, rows
FROM report.freshness ORDER BY tenant, name
"""
_REPLAYED = """
SELECT pg_is_in_recovery(),
    extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """An open transaction: its process id, its login, what it does, and since how many seconds."""

    pid: int
    login: str
    state: str
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standby:
    """A server that follows this one; `lag_s` is None where nothing was written lately."""

    name: str
    state: str
    sync: str
    lag_bytes: int | None
    lag_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Whether WAL is archived, and how that went. Times are UTC ms."""

    on: bool
    last_at: int | None
    failed: int
    last_failed_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What is materialised for reports: when it was made (UTC ms, None: never), and its rows."""

    tenant: str
    name: str
    refreshed_at: int | None
    rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A warehouse at one moment (`at`, UTC ms of its clock). Sizes in bytes, with indexes.

    `backup`, `retained` and `restored` are the latest `backup-check FILE` that found a dump sound,
    `retain` and `mark-restored`. `replayed_s_ago` is a standby's own: how old what it shows is;
    None where nothing came since it started.
    """

    at: int
    size_bytes: int
    table_bytes: dict[str, int]
    connections: dict[str, int]
    connections_max: int
    oldest_transaction: Transaction | None
    standby: bool
    replayed_s_ago: float | None
    standbys: list[Standby]
    archive: Archive
    backup: Act | None
    retained: Act | None
    restored: Act | None
    freshness: list[Fresh]


def look(admin_dsn: Dsn, *, policy: Policy = NAMED) -> Health:
    """The health of a warehouse. Raises WarehouseError's family."""
    with administered(admin_dsn, policy) as db:
        revision(db)
        return looked(db)


def looked(db: Connection) -> Health:
    """The same over an open session."""
    oldest = db.execute(_OLDEST.encode()).fetchone()
    standby, replayed_s_ago = one(db, _REPLAYED)
    return Health(
        at=one(db, "SELECT satchel.now_ms()")[0],
        size_bytes=one(db, "SELECT pg_database_size(current_database())")[0],
        table_bytes=dict(_rows(db, _SIZES)),
        connections=dict(_rows(db, _CONNECTIONS)),
        connections_max=one(db, "SELECT current_setting('max_connections')::integer")[0],
        oldest_transaction=_transaction(*oldest) if oldest else None,
        standby=standby,
        replayed_s_ago=replayed_s_ago if standby else None,
        standbys=[_standby(*row) for row in _rows(db, _STANDBYS)],
        archive=_archive(*one(db, _ARCHIVE)),
        backup=record.latest(db, "backup"),
        retained=record.latest(db, "retain"),
        restored=record.latest(db, "restored"),
        freshness=freshness(db),
    )


def freshness(db: Connection) -> list[Fresh]:
    """How old what is materialised is; nothing where this warehouse has no reports yet."""
    if one(db, "SELECT to_regclass('report.freshness') IS NULL")[0]:
        return []
    return [
        Fresh(tenant=tenant, name=name, refreshed_at=at, rows=rows)
        for tenant, name, at, rows in _rows(db, _FRESHNESS)
    ]


def _rows(db: Connection, query: str) -> list[tuple[Any, ...]]:
    return db.execute(query.encode()).fetchall()


def _transaction(pid: int, login: str, state: str, age_s: float) -> Transaction:
    return Transaction(pid=pid, login=login, state=state, age_s=round(age_s, 3))


def _standby(name: str, state: str, sync: str, lag_bytes: int, lag_s: float) -> Standby:
    return Standby(name=name, state=state, sync=sync, lag_bytes=lag_bytes, lag_s=lag_s)


def _archive(on: bool, last_at: int, failed: int, failed_at: int) -> Archive:
    return Archive(on=on, last_at=last_at, failed=failed, last_failed_at=failed_at)
