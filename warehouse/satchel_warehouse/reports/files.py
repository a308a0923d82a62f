"""A report as CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from satchel_warehouse.reports.report import Part, Read, Scope, Unit

if TYPE_CHECKING:
    import pyarrow as pa

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")
"""A spreadsheet takes a text that begins so for a formula; a `'` before it makes it text.

OWASP, CSV Injection; the wide forms count in East Asian settings.
"""


def csv_bytes(part: Part) -> bytes:
    """One section as CSV (RFC 4180, UTF-8, a header line); nothing is an empty field.

    Times have an offset, shares are 0..1. A text that a spreadsheet would run has a `'` before it.
    """
    out = io.StringIO(newline="")
    # Texts in quotes: a `;` in one begins no cell of a spreadsheet that takes that for a comma.
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow([column.name for column in part.section.columns])
    for row in part.rows:
        writer.writerow([_field(row[column.name]) for column in part.section.columns])
    return out.getvalue().encode()


def _field(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    return _plain(value)


def _plain(value: Any) -> Any:
    """A value as CSV and JSON have it."""
    return value.isoformat() if isinstance(value, date | datetime) else value


def as_dict(read: Read) -> dict[str, Any]:
    """The whole report as one JSON document."""
    scope = read.scope
    return {
        "report": read.report.name,
        "title": read.report.title,
        "since": scope.since.isoformat(),
        "until": scope.until.isoformat(),
        "tenants": list(read.tenants),
        "left_out": list(read.left_out),
        "at": scope.at.isoformat(),
        "ready": read.is_ready,
        "unready": list(read.unready),
        "as_of": read.as_of.isoformat() if read.is_ready else None,
        "figures": {key: _plain(value) for key, value in read.figures.items()},
        "sections": [_section(part, scope) for part in read.parts],
    }


def _section(part: Part, scope: Scope) -> dict[str, Any]:
    return {
        "name": part.section.name,
        "title": part.section.title,
        "said": part.said(scope),
        "ready": part.ready,
        "cut": part.cut,
        "columns": [
            {"name": column.name, "unit": column.unit, "label": column.label}
            for column in part.section.columns
        ],
        "rows": [{key: _plain(value) for key, value in row.items()} for row in part.rows],
    }


def json_bytes(read: Read) -> bytes:
    """`as_dict` as JSON in UTF-8, with a line end."""
    return (json.dumps(as_dict(read), ensure_ascii=False, allow_nan=False) + "\n").encode()


def write_parquet(read: Read, part: Part, out: BinaryIO) -> None:
    """One section as Parquet; labels, units and the report's period are in its metadata."""
    from pyarrow import parquet

    parquet.write_table(_table(read, part), out, compression="zstd")


def _table(read: Read, part: Part) -> pa.Table:
    import pyarrow as pa

    types = _types()
    schema = pa.schema(
        [
            pa.field(
                column.name,
                types[column.unit](),
                metadata={"label": column.label, "unit": column.unit},
            )
            for column in part.section.columns
        ],
        metadata={
            "satchel.report": read.report.name,
            "satchel.section": part.section.name,
            "satchel.since": read.scope.since.isoformat(),
            "satchel.until": read.scope.until.isoformat(),
            "satchel.at": read.scope.at.isoformat(),
            "satchel.tenants": json.dumps(read.tenants, ensure_ascii=False),
            "satchel.left_out": json.dumps(read.left_out, ensure_ascii=False),
        },
    )
    return pa.Table.from_pylist([dict(row) for row in part.rows], schema=schema)


def _types() -> Mapping[Unit, Callable[[], Any]]:
    import pyarrow as pa

    numbers: tuple[Unit, ...] = ("number", "seconds", "share", "money")
    return {
        "text": pa.string,
        "id": pa.string,
        "count": pa.int64,
        "date": pa.date32,
        "time": lambda: pa.timestamp("us", tz="UTC"),
        "flag": pa.bool_,
        **dict.fromkeys(numbers, pa.float64),
    }
