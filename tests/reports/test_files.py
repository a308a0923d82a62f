"""CSV, JSON and Parquet: what is read back is what was there."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest
from fix_reports import HOSTILE, SCOPE, part_of, read_of
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from satchel_warehouse.reports import files
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.reports.report import Part

SECTION = REPORTS["overview"].sections[1]
TEXT = next(column.name for column in SECTION.columns if column.name == "host")


def back(part: Part) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files.csv_bytes(part).decode(), newline="")))


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_a_csv_field_is_read_back(name: str) -> None:
    part = part_of(SECTION, [name], 1, SCOPE)
    [row] = back(part)
    assert row[TEXT] in (name, "'" + name)
    assert (row[TEXT] != name) == name.startswith(files.FORMULA_STARTS)


def test_no_spreadsheet_takes_a_name_for_a_formula() -> None:
    part = part_of(SECTION, HOSTILE, len(HOSTILE), SCOPE)
    for row in back(part):
        assert not row[TEXT].startswith(files.FORMULA_STARTS)


def test_numbers_and_times_are_plain_in_csv() -> None:
    part = Part(
        section=SECTION,
        rows=[{**part_of(SECTION, ["a"], 1, SCOPE).rows[0], "lag_s": -1.5, "failed_7d": None}],
    )
    [row] = back(part)
    assert row["lag_s"] == "-1.5", "a number is no formula"
    assert row["failed_7d"] == ""
    assert row["last_sync"] == "2026-11-30T12:00:00+00:00"


def test_json_has_all_of_it() -> None:
    read = read_of(REPORTS["tasks"], HOSTILE, rows=3)
    found = json.loads(files.json_bytes(read))
    assert (found["report"], found["since"], found["until"]) == (
        "tasks",
        "2026-11-01",
        "2026-11-30",
    )
    assert [one["name"] for one in found["sections"]] == [
        section.name for section in REPORTS["tasks"].sections
    ]
    for section, part in zip(found["sections"], read.parts, strict=True):
        assert [row.keys() for row in section["rows"]] == [row.keys() for row in part.rows]
        assert section["said"] == part.said(SCOPE)
    assert found["as_of"] == "2026-11-30T11:00:00+00:00"


@pytest.mark.parametrize("name", REPORTS)
def test_parquet_has_types_and_is_read_back(name: str) -> None:
    read = read_of(REPORTS[name], HOSTILE, rows=5)
    types = {"count": pa.int64(), "text": pa.string(), "date": pa.date32(), "share": pa.float64()}
    for part in read.parts:
        out = io.BytesIO()
        files.write_parquet(read, part, out)
        table = parquet.read_table(io.BytesIO(out.getvalue()))
        assert table.to_pylist() == [dict(row) for row in part.rows]
        for column in part.section.columns:
            field = table.schema.field(column.name)
            assert field.metadata[b"label"] == column.label.encode()
            assert field.type == types.get(column.unit, field.type)
        assert table.schema.metadata[b"satchel.section"] == part.section.name.encode()


def test_parquet_of_nothing_has_its_columns() -> None:
    read, out = read_of(REPORTS["machines"], HOSTILE, rows=0), io.BytesIO()
    files.write_parquet(read, read.parts[0], out)
    table = parquet.read_table(io.BytesIO(out.getvalue()))
    assert table.num_rows == 0
    assert table.column_names == [column.name for column in SECTION.columns]
