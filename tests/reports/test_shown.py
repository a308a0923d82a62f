"""Whose rows a report sums, and which of them a terminal shows."""

from __future__ import annotations

from pathlib import Path

from fix_command import run
from fix_hub import HubWorld
from fix_reports import read_of

from satchel import config
from satchel.warehouse import reports
from satchel_warehouse.operations.measures import measure
from satchel_warehouse.reports import files, reading
from satchel_warehouse.reports import page as reports_page
from satchel_warehouse.reports.catalog import REPORTS
from satchel_warehouse.seeding.seed import seed


def test_a_made_up_tenant_is_in_no_real_sum(hub_world: HubWorld, tmp_path: Path) -> None:
    """One machine is of `seeded-x`: counted in no format, unless it is asked for."""
    hub_world.replica(1)
    hub_world.replica(2, tenant="late")
    seed(hub_world.dsn, rows=100, machines=1, tenant="seeded-x")
    hub_world.psql().execute("SELECT satchel.refresh_reports()")
    made = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn}
    found = reports.read(config.load(environ=made), "overview", "json")
    every = hub_world.psql().execute("SELECT count(*) FROM report.machines").fetchone()
    assert (found.figures["machines"], found.left_out) == (every[0] - 1, ("seeded-x",))
    assert (found.tenants, files.as_dict(found)["left_out"]) == (("default", "late"), ["seeded-x"])
    assert "Left out, as" in reports_page.page(found, lambda spec, name: "", b"x")
    table = run("report", "run", "overview", "--format", "table", **made)
    assert "left out, as `satchel warehouse seed` made it up: seeded-x" in table.err
    assert "default and late" in table.out
    asked = reports.read(config.load(environ=made), "machines", "json", tenant="seeded-x")
    assert (len(asked.parts[0].rows), asked.tenants, asked.left_out) == (1, ("seeded-x",), ())
    assert "nothing of it is real: seeded-x" in reports.remarks(asked)[0]
    assert {one.tenant for one in measure(hub_world.dsn).machines} == {"default", "late"}
    alone = reading._only({"seeded-x": True}, reading.Asked())
    assert alone.tenant == "seeded-x"


def test_of_days_a_terminal_shows_the_latest() -> None:
    read = read_of(REPORTS["activity"], ("a",), rows=50)
    by_day = reports.tables(read, 40)[0]
    assert by_day["rows"][-1][0] == read.parts[0].rows[-1]["day"].isoformat()
    assert (len(by_day["rows"]), by_day["left_out"], by_day["latest"]) == (40, 10, True)


def test_who_asks_for_a_tenant_never_made_ready_is_told_its_name(hub_world: HubWorld) -> None:
    found = reading.read(hub_world.dsn, REPORTS["usage"], reading.Asked(tenant="acme"))
    assert (found.is_ready, found.unready) == (False, ("acme",))


def test_money_has_no_noise() -> None:
    assert reading._value(18.208920000000003, "money") == 18.20892
    assert reading._rounded(0.1 + 0.2) == 0.3
