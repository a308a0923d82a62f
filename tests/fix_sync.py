"""Strategies and worlds for the tests of the sync core."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from satchel_sync.changes import Row
from satchel_sync.digest import row_digest
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.stamp import Stamp
from satchel_sync.tables import MEMORY, TABLES, Table, Value

NOON_MS = 1_800_000_000_000

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
BY_TAG: dict[str, st.SearchStrategy[Value]] = {
    "t": texts,
    "i": st.integers(-(2**63), 2**63 - 1),
    "r": st.floats(allow_nan=False, allow_infinity=False),
    "b": st.binary(max_size=12),
}


@st.composite
def values_of(draw: st.DrawFn, table: Table) -> tuple[Value, ...]:
    """Values for every data column of a table, some NULL, and no `extra`."""
    drawn = [draw(st.none() | BY_TAG[column.tag]) for column in table.columns]
    return (*drawn, None)


stamps = st.builds(
    Stamp,
    st.integers(1, 2**20),
    st.integers(1, 2**40),
    st.sampled_from([b"\x01" * 16, b"\x02" * 16]),
    st.binary(min_size=8, max_size=8),
)


def memory_row(key: str, content: str | None, stamp: Stamp, lineage: str = "") -> Row:
    """A memory row with one column set."""
    return Row(key, stamp, lineage, memory_values(content))


def memory_values(content: str | None) -> tuple[Value, ...]:
    """Values of a memory of which only the content is set."""
    return (*(content if name == "content" else None for name in MEMORY.names), None)


def task_values(title: str, status: str) -> tuple[Value, ...]:
    """Values of a task of which only title and status are set."""
    by_name = {"title": title, "status": status}
    table = next(table for table in TABLES if table.name == "task")
    return (*(by_name.get(name) for name in table.names), None)


def digest_of(table: Table, row: Row) -> bytes:
    """The digest that a row's content has."""
    return row_digest(table, row.key, row.values)


@dataclass
class FakeClock:
    """A clock that stands until somebody moves it."""

    ms: int = NOON_MS
    offset_ms: int = 0

    def now_ms(self) -> int:
        return self.ms + self.offset_ms


@dataclass
class World:
    """A hub and some replicas, each with a clock of its own."""

    replicas: list[MemoryReplica] = field(default_factory=list)
    hub: MemoryHub = field(default_factory=lambda: MemoryHub(FakeClock()))

    @staticmethod
    def of(count: int) -> World:
        ids = [bytes([number + 1]) * 16 for number in range(count)]
        return World([MemoryReplica(replica_id, FakeClock()) for replica_id in ids])


def contents(endpoint: MemoryHub | MemoryReplica) -> dict[str, dict[str, Row]]:
    """Kind -> key -> row, byte for byte what this side holds."""
    if isinstance(endpoint, MemoryHub):
        return {kind: dict(rows) for kind, rows in endpoint.state.rows.items()}
    return {kind: dict(kept.rows) for kind, kept in endpoint.kinds.items()}
