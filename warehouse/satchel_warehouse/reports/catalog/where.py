"""What the queries of the catalog have in common: whose rows, of which days, machines by name."""

from __future__ import annotations

from satchel_warehouse.reports import words
from satchel_warehouse.reports.report import Column, Row, Rows


def of_tenant(column: str) -> str:
    """Of the tenants of the report. As a list: Postgres knows how many rows each of them has."""
    return f"{column} = ANY (%(tenants)s::text[])"


HERE = of_tenant("tenant")
"""A login sees no other than its own anyway."""
PERIOD = f"{HERE} AND day BETWEEN %(since)s AND %(until)s"
MOMENTS = (
    f"{HERE} AND at >= %(since)s::date::timestamp AT TIME ZONE 'UTC'"
    " AND at < (%(until)s::date + 1)::timestamp AT TIME ZONE 'UTC'"
)
"""The same days of what has a moment: an index on `at` finds them, none on `day` could."""
BEFORE = f"{HERE} AND day >= %(before)s AND day < %(since)s"
"""The days of an equal period just before."""

DAY = Column(name="day", label="Day", unit="date")
MACHINE = Column(name="machine", label="Machine", unit="id")
HOST = Column(name="host", label="Host")
AGENT = Column(name="agent", label="Agent")
NOT_TOLD, NOBODY, OPERATOR, NO_SPACE = "(not told)", "(nobody)", "(operator)", "(no space)"
KIND = Column(name="kind", label="Kind")


def counted(name: str, label: str) -> Column:
    """A column of counts."""
    return Column(name=name, label=label, unit="count")


def machine_name(row: Row) -> str:
    """`desk · 89abcdef`: hosts may share a name, ids do not."""
    return f"{words.name_of(row['host'])} · {(row['machine'] or '')[-8:]}"


def with_machine_names(rows: Rows) -> Rows:
    """The rows with a column `name` for a chart."""
    return [{**row, "name": machine_name(row)} for row in rows]


def named(rows: Rows, column: str, otherwise: str) -> Rows:
    """The rows with something to call those who have no name in a column."""
    return [{**row, column: row[column] or otherwise} for row in rows]
