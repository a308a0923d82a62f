"""Reports on the warehouse's views, composed from settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, BinaryIO

from satchel import duration
from satchel.errors import EngineUnavailable, InvalidInput, NotFound, did_you_mean
from satchel.extras import from_wheels
from satchel.memory.text import optional_name
from satchel.warehouse import refreshing
from satchel.warehouse.dsns import need_warehouse, report_dsn
from satchel_crypto import random_bytes
from satchel_sync.progress import Progress, silent

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_warehouse.reports.report import Part, Read, Report

FORMATS = ("table", "csv", "json", "parquet", "html")
BY_SECTION = ("csv", "parquet")
"""A file of these has one table: of a report with several each gets its own."""
NEEDS: Mapping[str, tuple[str, ...]] = {"html": ("jinja2", "vl_convert"), "parquet": ("pyarrow",)}
DAYS_MAX = 3_660
FIRST, LAST = date(1970, 1, 1), date(9000, 1, 1)
NONCE_BYTES = 16
_DAY_S = 86_400
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def listed() -> list[dict[str, Any]]:
    """Every report: its name, what it answers, its sections."""
    return [
        {
            "name": report.name,
            "answers": report.answers,
            "sections": [section.name for section in report.sections],
        }
        for report in _catalog().values()
    ]


def described(name: str) -> dict[str, Any]:
    """A report's sections with their columns and their SQL. Raises NotFound."""
    report = _report(name)
    return {
        "name": report.name,
        "title": report.title,
        "answers": report.answers,
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "columns": [column.name for column in section.columns],
                "query": cleandoc(section.query),
            }
            for section in report.sections
        ],
    }


def read(
    settings: Settings,
    name: str,
    format: str,  # noqa: A002
    *,
    sections: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    tenant: str | None = None,
    refresh: bool = False,
    progress: Progress = silent,
) -> Read:
    """A report with its rows, of one snapshot; nothing is read where `format` cannot be written.

    With `refresh` what it reads is made ready before, by the administrator.

    Raises NotFound for a name that no report or section has, InvalidInput for a period or a tenant
    that can be none, EngineUnavailable without the part that `format` needs, ConfigInvalid without
    a DSN, SyncError's family.
    """
    settings.require_built()
    report = _report(name)
    wanted = [_section(report, one) for one in dict.fromkeys(sections)] or list(report.sections)
    tenant = optional_name(tenant, "tenant")
    first, last = _since(since), _date(until, "until") if until else None
    _require_period(first, last or datetime.now(UTC).date())
    _need(format)
    dsn = report_dsn(settings)
    if refresh:
        refreshing.refresh(settings, tenant=tenant, progress=progress)
    from satchel_warehouse.reports import reading

    asked = reading.Asked(since=first, until=last, tenant=tenant)
    policy = settings.network_policy()
    return reading.read(
        dsn, report, asked, sections=tuple(wanted), policy=policy, progress=progress
    )


def write(found: Read, format: str, out: BinaryIO, part: Part | None = None) -> None:  # noqa: A002
    """The report as a file of that format; of those `BY_SECTION` one part of it."""
    from satchel_warehouse.reports import drawing, files, page

    if format == "html":
        out.write(page.page(found, drawing.svg, random_bytes(NONCE_BYTES)).encode())
    elif format == "json":
        out.write(files.json_bytes(found))
    elif part is None:
        raise ValueError(f"{format} is written by section")
    elif format == "csv":
        out.write(files.csv_bytes(part))
    else:
        files.write_parquet(found, part, out)


def remarks(found: Read) -> list[str]:
    """What one has to know of a report beside its rows."""
    from satchel_warehouse.reports import words

    told = [
        f"{part.section.name}: only the first {len(part.rows)} rows are in it"
        for part in found.parts
        if part.cut
    ]
    made_up, out = (words.listed(one, len(one)) for one in (found.made_up, found.left_out))
    if made_up:
        told.append(f"made up by `satchel warehouse seed`, nothing of it is real: {made_up}")
    if out:
        told.append(f"left out, as `satchel warehouse seed` made it up: {out}; --tenant shows one")
    refresh = "`satchel warehouse refresh`, or --refresh"
    if not found.is_ready:
        told.append(f"all but what is told of machines was never made ready: {refresh}")
    elif found.unready:
        told.append(f"nothing was ever made ready of {words.listed(found.unready, 6)}: {refresh}")
    if found.scope.tenant and not found.tenants:
        told.append(f"this login sees no tenant {found.scope.tenant!r} with anything in it")
    return told


def tables(found: Read, rows_max: int) -> list[dict[str, Any]]:
    """The sections as text for a terminal: {title, said, columns, numbers, rows, left_out, latest}.

    Where there are more rows than `rows_max`, those of the latest days are shown.
    """
    from satchel_warehouse.reports import page, words

    return [
        {
            "title": part.section.title,
            "said": words.visible(part.said(found.scope)),
            "columns": [column.label for column in part.section.columns],
            "numbers": [column.unit in page.NUMBERS for column in part.section.columns],
            "rows": [
                [words.shown(row[one.name], one.unit) for one in part.section.columns]
                for row in part.top(rows_max)
            ],
            "left_out": max(0, len(part.rows) - rows_max),
            "latest": part.section.by_day,
        }
        for part in found.parts
    ]


def whose(found: Read) -> str:
    """The tenants whose rows are in it, for the head of a table."""
    from satchel_warehouse.reports import words

    return words.listed(found.tenants, len(found.tenants))


def figures(found: Read) -> list[tuple[str, str, str]]:
    """The figures at the head of a report: (label, value, note)."""
    from satchel_warehouse.reports import page

    tiles = page.figures(found)
    return [(one.label, one.value, f"{one.change} {one.note}".strip()) for one in tiles]


def _catalog() -> Mapping[str, Report]:
    need_warehouse()
    from satchel_warehouse.reports.catalog import REPORTS

    return REPORTS


def _report(name: str) -> Report:
    known = _catalog()
    if name not in known:
        hint = did_you_mean(name, known) or f"one of: {', '.join(known)}"
        raise NotFound(f"there is no report {name[:60]!r}", hint=hint, field="name")
    return known[name]


def _section(report: Report, name: str) -> Any:
    known = {section.name: section for section in report.sections}
    if name not in known:
        hint = did_you_mean(name, known) or f"one of: {', '.join(known)}"
        raise NotFound(
            f"the report {report.name} has no section {name[:60]!r}", hint=hint, field="section"
        )
    return known[name]


def _require_period(first: date | timedelta | None, last: date) -> None:
    if isinstance(first, date) and not 0 <= (last - first).days < DAYS_MAX:
        raise InvalidInput(
            f"{first} to {last} is no period",
            hint=f"--since comes before --until, by {DAYS_MAX} days at most",
            field="since",
        )


def _since(text: str | None) -> date | timedelta | None:
    """A day, or a length of time that ends with `until`."""
    if text is None or _DATE.fullmatch(text):
        return _date(text, "since") if text else None
    try:
        total_s = duration.seconds(text, field="since", least_s=_DAY_S, most_s=DAYS_MAX * _DAY_S)
    except InvalidInput as error:
        raise InvalidInput(
            f"since: {text[:40]!r} is no day, and no number of days",
            hint=f"write it as 2026-11-30, or as 30d, up to {DAYS_MAX}d",
            field="since",
        ) from error
    return timedelta(days=-(-total_s // _DAY_S))


def _date(text: str, field: str) -> date:
    try:
        day = date.fromisoformat(text if _DATE.fullmatch(text) else "")
        if not FIRST <= day <= LAST:
            raise ValueError("out of range")
        return day
    except ValueError as error:
        raise InvalidInput(
            f"{field}: {text[:40]!r} is no day of a report",
            hint=f"write it as 2026-11-30, from {FIRST} on; --since takes 30d too",
            field=field,
        ) from error


def _need(format: str) -> None:  # noqa: A002
    missing = [name for name in NEEDS.get(format, ()) if find_spec(name) is None]
    if missing:
        raise EngineUnavailable(
            f"{format} reports need a part that is not installed: {missing[0]} is missing",
            hint=f"csv, json and table work without it; {from_wheels('report')}",
            field="format",
        )
