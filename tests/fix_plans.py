"""What a plan of Postgres reads of the big tables: which nodes, how many rows, by which index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

BIG = {
    "memory": 280_000,
    "relationship": 60_000,
    "task": 57_000,
    "message": 20_000,
    "chatlog": 285_000,
    "history": 180_000,
    "embedding": 110_000,
    "audit": 120_000,
    "attempt": 20_000,
    "token": 20_000,
    "search_text": 560_000,
    "searched": 20_000,
    "turn_vector": 285_000,
    "relayed": 20_000,
}
"""Tables that grow with the organisation -> rows of a warehouse that was seeded with a million."""
SUMS = {"report_changes": 50_000, "report_conversations": 20_000, "report_tasks": 57_000}
"""The same of the largest sums, which a view may read as a whole: it shows all of it."""


@dataclass(frozen=True, slots=True)
class Scan:
    """A node that reads a table: its type, the index if it uses one, the rows that it read."""

    table: str
    node: str
    index: str | None
    rows: int


def as_large(db: psycopg.Connection[Any]) -> None:
    """Let the planner believe that each of these tables is as large as with a million rows.

    Its statistics stay those of the rows that are there. Needs a superuser.
    """
    for table, rows in (BIG | SUMS).items():
        db.execute(
            "UPDATE pg_class SET reltuples = %s WHERE oid = %s::regclass",
            (rows, f"satchel.{table}"),
        )


def scans(db: psycopg.Connection[Any], query: str) -> list[Scan]:
    """Run a query under EXPLAIN; the nodes that read one of the big tables."""
    row = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}".encode()).fetchone()
    assert row is not None
    found = []
    for node in _nodes(row[0][0]["Plan"]):
        table = node.get("Relation Name", "").removesuffix("_part")
        if table in BIG:
            gone = sum(v for k, v in node.items() if k.startswith("Rows Removed by"))
            rows = round((node["Actual Rows"] + gone) * node["Actual Loops"])
            index = node.get("Index Name") or _index_below(node)
            found.append(Scan(table, node["Node Type"], index, rows))
    return found


def indexes(db: psycopg.Connection[Any]) -> list[str]:
    """The indexes of schema satchel that no constraint needs."""
    found = db.execute(
        "SELECT i.indexname FROM pg_indexes i WHERE i.schemaname = 'satchel' AND NOT EXISTS ("
        "SELECT FROM pg_constraint c WHERE c.conname = i.indexname"
        " AND c.connamespace = 'satchel'::regnamespace) ORDER BY i.indexname"
    )
    return [name for (name,) in found]


def used(db: psycopg.Connection[Any], query: str) -> set[str]:
    """The indexes that the plan of a query uses; it is not run."""
    row = db.execute(sql.SQL("EXPLAIN (FORMAT JSON) ").as_string().encode() + query.encode())
    plan = row.fetchone()
    assert plan is not None
    return {node["Index Name"] for node in _nodes(plan[0][0]["Plan"]) if "Index Name" in node}


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def _index_below(node: dict[str, Any]) -> str | None:
    """The index of a bitmap, which stands in a node of its own."""
    return next((one["Index Name"] for one in _nodes(node) if "Index Name" in one), None)
