"""SQLAlchemy Core metadata of the sums behind the reports (`views`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    DateTime,
    Index,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION


def add(metadata: MetaData) -> None:
    """Add `report_*` to the tables of a warehouse."""
    _sum(metadata, "refresh", [_text("name")], _moment("refreshed_at"), *_counts("lines took_ms"))
    _sum(metadata, "totals", [_text("kind")], *_counts("alive deleted erased"))
    of_machine = _counts("rows rows_behind syncs_7d failed_7d")
    _sum(metadata, "machines", [_machine()], *of_machine)
    key = [_day(), _machine(), _text("agent"), _text("kind")]
    _sum(metadata, "activity", key, *_counts("created changed deleted"))
    _sum(metadata, "deletions", [_day(), _machine(), _text("kind")], *_counts("deleted erased"))
    key = [_text(name) for name in ("state", "type", "scope", "space")]
    ends = [_moment(name, null=True) for name in ("oldest", "newest")]
    _sum(metadata, "memories", key, *_counts("memories pinned"), *ends)
    _changes(metadata)
    key = [_day(), _machine(), _text("kind"), _text("path")]
    _sum(metadata, "conflicts", key, *_counts("conflicts rows_written"))
    _tasks(metadata)
    _chats(metadata)
    _sum(metadata, "coverage", [_text("model")], *_counts("memories embedded outdated"))
    key = [_day(), _machine(), *(_text(name) for name in ("actor", "tool", "action"))]
    _sum(metadata, "reads", key, *_counts("records rows_given"))


def _changes(metadata: MetaData) -> None:
    columns = [
        _moment("at"),
        *(_text(name) for name in ("event", "memory_id")),
        *(_text(name, null=True) for name in ("successor_id", "actor")),
        _machine(),
        *(_text(name, null=True) for name in ("type", "scope", "space", "fields")),
    ]
    _sum(metadata, "changes", [_text("id")], *columns, Index("report_changes_at", "tenant", "at"))


def _tasks(metadata: MetaData) -> None:
    columns = [
        _text("title", null=True),
        _text("status"),
        *(_text(name, null=True) for name in ("owner", "created_by")),
        _moment("created_at"),
        *(_moment(name, null=True) for name in ("completed_at", "due_at")),
        _text("claimed_by", null=True),
        _moment("lease_until", null=True),
        _text("parent_id", null=True),
        _text("root_id"),
        *_counts("depth children"),
    ]
    _sum(metadata, "tasks", [_text("task_id")], *columns)


def _chats(metadata: MetaData) -> None:
    columns = [
        *(_text(name, null=True) for name in ("host_agent", "agent")),
        _machine(),
        *(_moment(name, null=True) for name in ("first_at", "last_at")),
        *_counts("turns tokens_in tokens_out"),
        Column("cost", DOUBLE_PRECISION),
    ]
    _sum(metadata, "conversations", [_text("conversation_id")], *columns)
    key = [_day(), _text("provider"), _text("model"), _machine(), _text("agent")]
    cost = Column("cost", DOUBLE_PRECISION)
    _sum(metadata, "usage", key, *_counts("turns tokens_in tokens_out"), cost)


def _sum(metadata: MetaData, name: str, key: list[Column[Any]], *others: Any) -> Table:
    names = [column.name for column in key]
    primary = PrimaryKeyConstraint("tenant", *names, name=f"report_{name}_pkey")
    return Table(f"report_{name}", metadata, _text("tenant"), *key, *others, primary)


def _text(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, Text(collation="C"), nullable=null)


def _moment(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=null)


def _day() -> Column[Any]:
    return Column("day", Date, nullable=False)


def _machine() -> Column[Any]:
    return Column("machine", LargeBinary, nullable=False)


def _counts(names: str) -> list[Column[Any]]:
    return [Column(name, BigInteger, nullable=False) for name in names.split()]
