"""Reading a report: all its queries in one snapshot that can change nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from psycopg.rows import dict_row

from satchel_crypto.network import Policy
from satchel_sync.progress import Progress, silent
from satchel_warehouse.database import NAMED, REPORT_PATH, Connection, connect
from satchel_warehouse.errors import translate
from satchel_warehouse.login import Dsn
from satchel_warehouse.reports.catalog.where import HERE
from satchel_warehouse.reports.report import (
    ROWS_MAX,
    Column,
    Freshness,
    Part,
    Read,
    Report,
    Row,
    Scope,
    Section,
    Unit,
)
from satchel_warehouse.tenants import is_made_up

DAYS = 30
"""How far back a report looks when nobody said so."""
STATEMENT_TIMEOUT_MS = 120_000
DIGITS = 6
"""Of money, behind the point: a token costs millionths of a dollar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The period and tenant that somebody asked for; what is None is chosen here."""

    since: date | timedelta | None = None
    until: date | None = None
    tenant: str | None = None

    def scope(self, at: datetime) -> Scope:
        """With the days that were left open, at this time of the server's clock."""
        until = self.until or at.astimezone(UTC).date()
        since = self.since if self.since is not None else timedelta(days=DAYS)
        if isinstance(since, timedelta):
            since = until - since + timedelta(days=1)
        return Scope(since=min(since, until), until=until, at=at, tenant=self.tenant)


def read(
    dsn: Dsn,
    report: Report,
    asked: Asked,
    *,
    sections: tuple[Section, ...] | None = None,
    policy: Policy = NAMED,
    progress: Progress = silent,
) -> Read:
    """The report with the rows of its sections (or of these) from one snapshot.

    Raises WarehouseError's family: WarehouseNotMigrated where the views are not there,
    WarehouseRefused where the login may not read them.
    """
    wanted = report.sections if sections is None else sections
    db = connect(dsn, path=REPORT_PATH, policy=policy)
    try:
        with db.transaction():
            at = _snapshot(db)
            known = _known(db)
            asked = _only(known, asked)
            tenants, left_out = _divided(known, asked.tenant)
            scope = replace(asked.scope(at), tenants=tuple(tenants))
            parameters = scope.as_parameters()
            freshness = _freshness(db, parameters)
            ready, parts = bool(freshness), []
            for number, section in enumerate(wanted):
                progress("report", report.name, number, len(wanted))
                parts.append(_part(db, section, parameters, ready=ready or section.live))
            figures = _figures(db, report, parameters, ready=ready)
            progress("report", report.name, len(wanted), len(wanted))
            asked_for = tenants or [scope.tenant or ""]
            unready = [one for one in asked_for if one and not known.get(one)]
            return Read(
                report=report,
                scope=scope,
                figures=figures,
                parts=tuple(parts),
                tenants=tuple(tenants),
                freshness=freshness,
                unready=tuple(unready),
                left_out=tuple(left_out),
            )
    except psycopg.Error as error:
        raise translate(error) from error
    finally:
        db.close()


def _snapshot(db: Connection) -> datetime:
    """Begin it; its time by the server's clock."""
    db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    db.execute("SELECT set_config('statement_timeout', %s, true)", (str(STATEMENT_TIMEOUT_MS),))
    db.execute("SET LOCAL TIME ZONE 'UTC'")
    found = db.execute("SELECT now()").fetchone()
    assert found is not None, "SELECT without FROM yields a row"
    at: datetime = found[0]
    return at


def _part(db: Connection, section: Section, parameters: Mapping[str, Any], *, ready: bool) -> Part:
    query = f"SELECT * FROM ({section.query}) AS section LIMIT {ROWS_MAX + 1}"
    rows = [_typed(row, section.columns) for row in _rows(db, query, parameters)] if ready else []
    return Part(section=section, rows=rows[:ROWS_MAX], cut=len(rows) > ROWS_MAX, ready=ready)


def _figures(db: Connection, report: Report, parameters: Mapping[str, Any], *, ready: bool) -> Row:
    """The figures; a sum over what was never made ready is unknown, not 0."""
    found = _rows(db, report.figures, parameters)[0] if report.figures else {}
    return {
        key: _rounded(value) if ready or key in report.live else None
        for key, value in found.items()
    }


def _known(db: Connection) -> dict[str, bool]:
    """The tenants that the login sees, and whether anything was made ready of each."""
    query = """SELECT tenant, bool_or(ready) AS ready FROM (
            SELECT tenant, true AS ready FROM report.freshness
            UNION ALL SELECT tenant, false FROM report.machines
        ) AS known GROUP BY tenant ORDER BY tenant"""
    return {row["tenant"]: row["ready"] for row in _rows(db, query, {})}


def _only(known: Mapping[str, bool], asked: Asked) -> Asked:
    """Who sees one tenant alone, and that made up, asks for that one."""
    alone = asked.tenant is None and [is_made_up(one) for one in known] == [True]
    return replace(asked, tenant=next(iter(known))) if alone else asked


def _divided(known: Iterable[str], tenant: str | None) -> tuple[list[str], list[str]]:
    """The tenants whose rows are in it, and the made-up ones that are left out of it."""
    if tenant is not None:
        return [one for one in known if one == tenant], []
    made_up = [one for one in known if is_made_up(one)]
    return [one for one in known if one not in made_up], made_up


def _freshness(db: Connection, parameters: Mapping[str, Any]) -> tuple[Freshness, ...]:
    """Of several tenants the oldest counts."""
    query = f"""SELECT name, min(refreshed_at) AS refreshed_at FROM report.freshness
        WHERE {HERE} GROUP BY name ORDER BY name"""
    return tuple(Freshness(**row) for row in _rows(db, query, parameters))


def _rows(db: Connection, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    with db.cursor(row_factory=dict_row) as cursor:
        # A constant of the catalog: what a caller gives is in the parameters only.
        return cursor.execute(query.encode(), parameters).fetchall()


def _typed(row: Mapping[str, Any], columns: tuple[Column, ...]) -> Row:
    """A row in the order and the types of its section."""
    return {column.name: _value(row[column.name], column.unit) for column in columns}


def _value(value: Any, unit: Unit) -> Any:
    if value is None:
        return None
    if unit == "count":
        return int(value)
    if unit in ("number", "seconds", "share", "money"):
        number = float(value) if math.isfinite(value) else None
        return _rounded(number) if unit == "money" else number
    if unit in ("text", "id"):
        return value if isinstance(value, str) else _text(value)
    return value


def _rounded(value: Any) -> Any:
    """Without the noise of a sum of floats."""
    return round(value, DIGITS) if isinstance(value, float) else value


def _text(value: Any) -> str:
    """A list of names, or another value that is shown as it is."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
