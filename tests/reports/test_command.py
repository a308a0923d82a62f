"""`satchel report` on a real warehouse that real machines wrote, asked by a reporter's login."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_command import Run, environment, run
from fix_hub import HubWorld
from fix_reported import Scene
from fix_reports import AT
from fix_terminal import typed
from pyarrow import parquet

from satchel import config
from satchel.errors import EngineUnavailable
from satchel.warehouse import report_files, reports
from satchel_warehouse.errors import WarehouseError, WarehouseRefused
from satchel_warehouse.reports import files, reading
from satchel_warehouse.reports import page as reports_page
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.reports.report import NOT_READY, Unit

PERIOD = ("--since", "2027-01-06", "--until", "2027-01-15")


@pytest.fixture
def report(reporter: str, tmp_path: Path) -> Any:
    """`satchel report …` with that login."""
    variables = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_WAREHOUSE_REPORT_DSN": reporter}
    return lambda *words, **more: run("report", *words, **(variables | more))


def sections(done: Run) -> dict[str, dict[str, Any]]:
    assert done.code == 0, done.err
    return {one["name"]: one for one in done.json["sections"]}


def test_the_figures_are_those_of_the_story(report: Any) -> None:
    """Counted by hand in fix_reported: what ada and bob did from January 6 to 15."""
    found = report("run", "overview", *PERIOD)
    assert sections(found).keys() == {one.name for one in REPORTS["overview"].sections}
    figures = found.json["figures"]
    assert figures["machines"] >= 2
    assert figures["ok"] == 2
    # today, child, left, right are open; root was completed on the 11th
    assert (figures["open"], figures["done"], figures["done_before"]) == (4, 1, 0)
    # `both` and the two links that would make a ring
    assert figures["conflicts"] == 1
    # bob's turn of 100 + 30, ada's of 7
    assert (figures["tokens"], figures["cost"]) == (137, 0.25)
    assert found.json["tenants"] == ["default"]


def test_what_the_sections_say(report: Any) -> None:
    found = sections(report("run", "tasks", *PERIOD))
    assert {(row["owner"], row["tasks"]) for row in found["tasks_open"]["rows"]} >= {("bob", 1)}
    [late] = found["tasks_late"]["rows"]
    assert (late["title"], late["owner"]) == ("Pack the boxes", "bob")
    flow = {row["day"]: row for row in found["task_flow"]["rows"]}
    assert flow["2027-01-09"]["created"] == 4
    assert flow["2027-01-11"]["done"] == 1
    assert flow["2027-01-14"]["cancelled"] == 1
    assert "6 tasks came in, 4 more than were closed" in found["task_flow"]["said"]
    usage = sections(report("run", "usage", *PERIOD))
    assert {(row["model"], row["tokens"]) for row in usage["usage_by_model"]["rows"]} == {
        ("m1", 130),
        ("m2", 7),
    }


def test_a_period_and_a_section(report: Any) -> None:
    one = sections(
        report("run", "usage", "--since", "2027-01-14", "--until", "2027-01-14", "--section",
               "usage_by_model")
    )  # fmt: skip
    assert list(one) == ["usage_by_model"]
    assert [row["model"] for row in one["usage_by_model"]["rows"]] == ["m2"]
    later = report("run", "usage", "--since", "2d", "--until", "2027-01-15").json
    assert (later["since"], later["until"]) == ("2027-01-14", "2027-01-15")


def test_every_report_in_every_format(reporter: str, tmp_path: Path) -> None:
    variables = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_REPORT_DSN": reporter}
    settings = config.load(environ=variables)
    for name, described in REPORTS.items():
        found = reports.read(settings, name, "html", since=PERIOD[1], until=PERIOD[3])
        page = tmp_path / f"{name}.html"
        assert report_files.to_path(found, "html", page, overwrite=False) == [str(page)]
        assert page.read_text("utf-8").startswith("<!doctype html>")
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        for format_ in reports.BY_SECTION:
            folder = tmp_path / f"{name}-{format_}"
            files = report_files.to_path(found, format_, folder, overwrite=False)
            assert len(files) == len(described.sections)
        for section in described.sections:
            text = (tmp_path / f"{name}-csv" / f"{section.name}.csv").read_text("utf-8")
            rows = list(csv.reader(io.StringIO(text, newline="")))
            table = parquet.read_table(tmp_path / f"{name}-parquet" / f"{section.name}.parquet")
            assert rows[0] == table.column_names == [column.name for column in section.columns]
            assert len(rows) - 1 == table.num_rows


def test_files_by_the_command(report: Any, tmp_path: Path) -> None:
    page = tmp_path / "o.html"
    done = report("run", "overview", *PERIOD, "--html", str(page))
    assert done.json["files"] == [str(page)], done.err
    assert page.read_text("utf-8").startswith("<!doctype html>")
    out = tmp_path / "flow.parquet"
    done = report("run", "tasks", *PERIOD, "--section", "task_flow", "--out", str(out))
    assert done.json["format"] == "parquet", done.err
    assert sum(parquet.read_table(out)["created"].to_pylist()) == 6
    folder = tmp_path / "csv"
    done = report("run", "lifecycle", "--format", "csv", "--out", str(folder))
    assert [Path(one).name for one in done.json["files"]] == [
        f"{section.name}.csv" for section in REPORTS["lifecycle"].sections
    ]


def test_a_file_that_is_there_stays(report: Any, tmp_path: Path) -> None:
    out = tmp_path / "o.json"
    out.write_text("mine")
    refused = report("run", "overview", "--out", str(out))
    assert (refused.code, refused.error["code"]) == (4, "confirm_needed")
    assert out.read_text() == "mine"
    assert report("run", "overview", "--out", str(out), "--yes").code == 0
    assert json.loads(out.read_text())["report"] == "overview"
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    refused = report("run", "overview", "--html", str(pipe), "--yes")
    assert (refused.code, refused.error["code"], pipe.is_fifo()) == (1, "output_failed", True)


def test_tables_for_a_terminal_and_csv_for_a_pipe(
    report: Any, reporter: str, tmp_path: Path
) -> None:
    table = report("run", "tasks", *PERIOD, "--format", "table")
    assert "6 tasks came in" in table.out
    assert "Pack the boxes" in table.out
    lines = report("run", "tasks", *PERIOD, "--format", "csv", "--section", "task_flow")
    assert [row["created"] for row in csv.DictReader(io.StringIO(lines.out))] == [
        "4",
        "0",
        "1",
        "1",
    ]
    said = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_WAREHOUSE_REPORT_DSN": reporter}
    code, screen = typed("report", "run", "tasks", *PERIOD, answers=(), **said)
    assert (code, "6 tasks came in" in screen.replace("\r\n", " ")) == (0, True)
    assert "default" in screen
    assert {name for name in REPORTS if f"report {name}" in screen} <= {"tasks"}, "one bar"
    code, screen = typed("report", "show", "tasks", answers=(), **said)
    assert code == 0
    query = REPORTS["tasks"].sections[-1].query
    assert " ".join(query.split()) in " ".join(screen.split()), "whole, to be copied"
    code, screen = typed("report", "run", "tasks", "--format", "html", answers=(), **said)
    assert (code, "no sight for a terminal" in screen) == (2, True)


MISTAKES = [
    (("run", "overviw"), 3, "not_found", "did you mean 'overview'?"),
    (("show", "nothing"), 3, "not_found", "one of:"),
    (("run", "tasks", "--section", "flow"), 3, "not_found", "task_flow"),
    (("run", "tasks", "--format", "xml"), 2, "invalid_input", ""),
    (("run", "tasks", "--format", "csv"), 2, "invalid_input", "--section NAME"),
    (("run", "tasks", "--format", "table", "--out", "x.txt"), 2, "invalid_input", ".html"),
    (("run", "tasks", "--html", "x.html", "--out", "y.html"), 2, "invalid_input", "--out"),
    (("run", "tasks", "--since", "yesterday"), 2, "invalid_input", "2026-11-30, or as 30d"),
    (("run", "tasks", "--since", "30s"), 2, "invalid_input", "2026-11-30, or as 30d"),
    (("run", "tasks", "--out", "x.xyz"), 2, "invalid_input", "--format"),
    (("run", "tasks", "--out", "folder"), 2, "invalid_input", "--format"),
    (("run", "tasks", "--out", "a.json", "--format", "csv"), 2, "invalid_input", "--format"),
    (("run", "tasks", "--html", "a.json"), 2, "invalid_input", "another name"),
    (("run", "tasks", "--out", ""), 2, "invalid_input", "stdout"),
    (("run", "tasks", "--html", ""), 2, "invalid_input", "stdout"),
    (("run", "tasks", "--since", "2026-02-30"), 2, "invalid_input", "2026-11-30"),
    (("run", "tasks", "--until", "7d"), 2, "invalid_input", "2026-11-30"),
    (("run", "tasks", "--since", "2026-02-02", "--until", "2026-02-01"), 2, "invalid_input", ""),
    (("run", "tasks", "--since", "1970-01-01"), 2, "invalid_input", "3660 days"),
    (("run", "tasks", "--until", "0001-01-01"), 2, "invalid_input", "from 1970-01-01"),
    (("run", "tasks", "--since", "8999-12-31"), 2, "invalid_input", "comes before"),
    (("run", "tasks", "--until", "9999-12-31"), 2, "invalid_input", ""),
    (("run", "tasks", "--tenant", b"\xff"), 2, "invalid_input", ""),
    (("run", "tasks", "--out", "/nowhere/x.html"), 1, "output_failed", ""),
]


@pytest.mark.parametrize(("words", "code", "error", "hint"), MISTAKES)
def test_mistakes_are_told(
    report: Any, words: tuple[str | bytes, ...], code: int, error: str, hint: str
) -> None:
    done = report(*words)
    assert (done.code, done.out) == (code, ""), done.err
    assert done.error["code"] == error
    assert hint in done.error["hint"]


def test_without_a_dsn(tmp_path: Path) -> None:
    home = {"SATCHEL_HOME": str(tmp_path / "home")}
    assert run("report", "run", "overview", **home).error["field"] == "warehouse.report_dsn"
    assert run("report", "list", **home).code == 0, "the catalog needs no warehouse"


@pytest.mark.parametrize(("format_", "missing"), [("html", "vl_convert"), ("parquet", "pyarrow")])
def test_without_the_extra(format_: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said before anything is asked for: there is no warehouse behind these settings."""
    monkeypatch.setitem(sys.modules, missing, None)
    settings = config.load(environ={"SATCHEL_WAREHOUSE_REPORT_DSN": "postgresql:///x?host=/none"})
    with pytest.raises(EngineUnavailable, match=missing) as caught:
        reports.read(settings, "overview", format_)
    assert "satchel[report]" in caught.value.hint


def test_a_table_does_without_it(reporter: str, tmp_path: Path) -> None:
    without = (
        "import sys; sys.modules.update(vl_convert=None, pyarrow=None, jinja2=None)\n"
        "from satchel.cli.main import run; run(sys.argv[1:])"
    )
    command = [sys.executable, "-c", without, "report", "run", "machines", "--section", "versions"]
    told = environment(SATCHEL_HOME=str(tmp_path), SATCHEL_WAREHOUSE_REPORT_DSN=reporter)
    said = subprocess.check_output([*command, "--format", "table"], env=told, timeout=100)
    assert b"Versions of satchel" in said


# ---- on the views themselves --------------------------------------------------------------------

TYPES: dict[Unit, set[str]] = {
    "text": {"text"}, "id": {"text"}, "count": {"int8", "int4"}, "date": {"date"},
    "time": {"timestamptz"}, "flag": {"bool"},
    "number": {"float8"}, "seconds": {"float8"}, "share": {"float8"}, "money": {"float8"},
}  # fmt: skip


def test_queries_have_the_columns_and_types_that_they_name(reporter: str) -> None:
    scope = reading.Asked().scope(AT)
    with psycopg.connect(reporter, autocommit=True) as db:
        for report in REPORTS.values():
            for section in report.sections:
                query = f"SELECT * FROM ({section.query}) AS s LIMIT 0".encode()
                found = db.execute(query, scope.as_parameters()).description or []
                assert [one.name for one in found] == [one.name for one in section.columns]
                for one, column in zip(found, section.columns, strict=True):
                    kind = psycopg.adapters.types[one.type_code].name
                    assert kind in TYPES[column.unit], f"{section.name}.{column.name} is {kind}"


def test_what_was_never_made_ready_is_not_told_as_nothing(
    hub_world: HubWorld, tmp_path: Path
) -> None:
    hub_world.replica(1)
    made = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    settings = config.load(environ=made)
    for name, report in REPORTS.items():
        found = reports.read(settings, name, "json")
        assert not found.is_ready
        assert all(part.ready == part.section.live for part in found.parts)
        figures = {key for key, value in found.figures.items() if value is not None}
        assert figures == set(report.live)
        told = json.loads(json.dumps(files.as_dict(found)))
        assert (told["ready"], told["as_of"]) == (False, None)
        assert [part["said"] == NOT_READY for part in told["sections"]] == [
            not part.ready for part in found.parts
        ]
        assert "never made ready" in reports.remarks(found)[0]
    done = run("report", "run", "overview", "--format", "table", **made)
    assert "never made ready" in done.err
    assert "No memory has come" not in done.out
    after = run("report", "run", "overview", "--refresh", **made)
    assert (after.json["ready"], after.json["figures"]["now"], after.err) == (True, 0, "")


def test_a_tenant_of_whom_nothing_was_made_ready_is_named(hub_world: HubWorld) -> None:
    hub_world.replica(1)
    hub_world.psql().execute("SELECT satchel.refresh_reports()")
    hub_world.replica(2, tenant="late")
    found = reading.read(hub_world.dsn, REPORTS["machines"], reading.Asked())
    assert (found.tenants, found.unready) == (("default", "late"), ("late",))
    assert reports.remarks(found) == [
        "nothing was ever made ready of late: `satchel warehouse refresh`, or --refresh"
    ]
    page = reports_page.page(found, lambda spec, name: "", b"x")
    assert "Nothing was ever made ready of <bdi>late</bdi>" in page


def test_only_an_administrator_refreshes(report: Any) -> None:
    refused = report("run", "overview", "--refresh")
    assert (refused.code, refused.error["field"]) == (2, "warehouse.admin_dsn")


def test_a_section_that_was_cut_says_so(
    told: Scene, reporter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ROWS_MAX", 3)
    asked = reading.Asked(since=date(2027, 1, 6), until=date(2027, 1, 15))
    found = reading.read(reporter, REPORTS["activity"], asked)
    by_day = found.parts[0]
    assert (len(by_day.rows), by_day.cut) == (3, True)
    assert "writes_by_day: only the first 3 rows are in it" in reports.remarks(found)
    page = reports_page.page(found, lambda spec, name: "", b"x")
    assert "chart and sentence are of the first\n      3." in page
    assert files.as_dict(found)["sections"][0]["cut"] is True


def test_a_new_warehouse_has_its_reports(hub_world: HubWorld) -> None:
    hub_world.psql().execute("SELECT satchel.refresh_reports()")
    for report in REPORTS.values():
        found = reading.read(hub_world.dsn, report, reading.Asked())
        assert found.is_ready
        assert {tile.column.name for tile in report.tiles} <= found.figures.keys()
        assert all(one.value for one in reports_page.figures(found))
        for part in found.parts:
            assert part.ready
            assert part.said(found.scope)


def test_it_reads_in_one_snapshot_that_changes_nothing(told: Scene, reporter: str) -> None:
    """A query that writes is refused; what is committed meanwhile is not seen."""
    report = REPORTS["lifecycle"]
    totals = report.sections[0]
    columns = (
        "'x'::text AS kind, nextval('satchel.change_seq_1') AS alive, 0 AS deleted, 0 AS erased"
    )
    write = replace(totals, query=f"SELECT {columns}")
    with pytest.raises(WarehouseError, match=r"read-only"):
        reading.read(told.world.dsn, report, reading.Asked(), sections=(write,))

    before = reading.read(reporter, report, reading.Asked()).parts[0].rows

    def meanwhile(phase: str, name: str, done: int, of: int) -> None:
        if done == 1:
            told.rows("UPDATE satchel.report_totals SET alive = alive + 1 RETURNING 1")

    found = reading.read(
        reporter, report, reading.Asked(), sections=(totals, totals), progress=meanwhile
    )
    told.refresh()
    assert found.parts[0].rows == found.parts[1].rows == before


def test_a_tenant_that_a_login_may_not_see_is_one_that_is_not(told: Scene, reporter: str) -> None:
    answers = [
        reading.read(reporter, REPORTS["overview"], reading.Asked(tenant=name))
        for name in ("nobody", "other")
    ]
    assert all(one.tenants == () and not one.is_ready for one in answers)
    assert [reports.remarks(one)[-1] for one in answers] == [
        f"this login sees no tenant {name!r} with anything in it" for name in ("nobody", "other")
    ]


def test_a_replicas_login_reads_no_report(told: Scene) -> None:
    with pytest.raises(WarehouseRefused):
        reading.read(told.world.login(), REPORTS["overview"], reading.Asked())
