"""`warehouse refresh`: nobody waits for it, it writes only what differs; machines are told live."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_command import run
from fix_hub import HubWorld, hello_of, row_of, titled
from fix_tenants import reader

from satchel_sync.tables import MEMORY
from satchel_warehouse import admin, tenants
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import TenantUnknown, WarehouseUnreachable
from satchel_warehouse.views.catalog import SUMS, VIEW_OF, VIEWS
from satchel_warehouse.views.refresh import refresh

HOUR_MS = 60 * 60 * 1000
LINES = "SELECT xmin::text, ctid::text, m::text FROM satchel.report_memories m ORDER BY ctid"


def push(hub: WarehouseHub, key: str, **columns: Any) -> None:
    """One memory of the machine."""
    hub.push(MEMORY, [row_of(MEMORY, key, titled(MEMORY, content="x", **columns))])


def test_a_refresh_writes_only_what_differs(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    push(hub, "a", type="fact")
    push(hub, "b", type="note")
    made = refresh(hub_world.dsn)
    assert [(one.tenant, one.name) for one in made] == [("default", VIEW_OF[name]) for name in SUMS]
    before = db.execute(LINES).fetchall()
    assert len(before) == 2
    refresh(hub_world.dsn)
    assert db.execute(LINES).fetchall() == before
    push(hub, "c", type="note")
    refresh(hub_world.dsn)
    after = db.execute(LINES).fetchall()
    assert len(after) == 2
    assert len(set(before) & set(after)) == 1


def test_the_planner_knows_what_a_refresh_has_made(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    for name in map(str, range(7)):
        push(hub, name, recorded_at=1, agent_id=name)
    counted = "SELECT reltuples FROM pg_class WHERE oid = 'satchel.report_activity'::regclass"
    assert db.execute(counted).fetchall() != [(7,)]
    refresh(hub_world.dsn)
    assert db.execute(counted).fetchall() == [(7,)]


def test_nobody_waits_for_a_refresh_and_another_one_is_refused(hub_world: HubWorld) -> None:
    hub, db, other = hub_world.replica(1), hub_world.psql(), hub_world.psql()
    push(hub, "a")
    refresh(hub_world.dsn)
    with db.transaction():
        db.execute("SELECT satchel.refresh_reports()")
        push(hub, "b")
        other.execute("SET lock_timeout = '2s'")
        for view in VIEWS:
            other.execute(f"SELECT * FROM report.{view.name}".encode())
        with pytest.raises(WarehouseUnreachable, match="another refresh of the reports is running"):
            refresh(hub_world.dsn)
        assert other.execute("SELECT sum(memories)::int FROM report.memories").fetchall() == [(1,)]
    refresh(hub_world.dsn)
    assert other.execute("SELECT sum(memories)::int FROM report.memories").fetchall() == [(2,)]


def test_all_sums_of_a_tenant_are_of_one_moment(hub_world: HubWorld) -> None:
    """A memory that comes while the first sum is made is in none of them."""
    hub = hub_world.replica(1)
    push(hub, "a")

    def meanwhile(_phase: str, _tenant: str, done: int, of: int) -> None:
        if done == 1:
            push(hub, "b")
        assert of == len(SUMS)

    refresh(hub_world.dsn, progress=meanwhile)
    found = hub_world.psql().execute(
        "SELECT (SELECT sum(memories)::int FROM report.memories),"
        " (SELECT alive::int FROM report.totals WHERE kind = 'memory'),"
        " (SELECT count(DISTINCT refreshed_at) FROM report.freshness)"
    )
    assert found.fetchall() == [(1, 1, 1)]


def test_a_tenant_is_refreshed_by_itself(hub_world: HubWorld) -> None:
    tenants.add(hub_world.dsn, "south")
    push(hub_world.replica(1, "south"), "a")
    refresh(hub_world.dsn, tenant="default")
    found = "SELECT DISTINCT tenant FROM report.freshness ORDER BY tenant"
    db = hub_world.psql()
    assert db.execute(found).fetchall() == [("default",)]
    refresh(hub_world.dsn, tenant="south")
    assert db.execute(found).fetchall() == [("default",), ("south",)]
    with pytest.raises(TenantUnknown, match="no tenant 'west'"):
        refresh(hub_world.dsn, tenant="west")


def test_a_reader_reads_all_views_and_refreshes_nothing(hub_world: HubWorld) -> None:
    push(hub_world.replica(1), "a")
    refresh(hub_world.dsn)
    db = hub_world.psql(reader(hub_world, "reporter"))
    for view in VIEWS:
        db.execute(f"SELECT * FROM report.{view.name}".encode()).fetchall()
    assert db.execute("SELECT sum(memories)::int FROM report.memories").fetchall() == [(1,)]
    for call in ("refresh_reports()", "refresh_report('default', 'memories')", "begin_refresh()"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(f"SELECT satchel.{call}".encode())


def test_how_a_machine_stands_is_told_as_of_now(hub_world: HubWorld) -> None:
    db = hub_world.psql()

    def stands() -> list[Any]:
        found = db.execute("SELECT status, last_exit FROM report.machines WHERE host = 'host-1'")
        return found.fetchall()

    def later(hours: float) -> None:
        db.execute(
            "UPDATE satchel.hub SET clock_correction_ms = clock_correction_ms + %s",
            (int(hours * HOUR_MS),),
        )

    hub = hub_world.replica(1)
    assert stands() == [("never", None)]
    never = "SELECT last_sync, lag_s FROM report.machines WHERE host = 'host-1'"
    assert db.execute(never).fetchall() == [(None, None)]
    later(1.1)
    assert stands() == [("failing", None)]  # it never came to its end
    hub.bye({"exit": 0})
    assert stands() == [("ok", 0)]
    later(24.1)
    assert stands() == [("late", 0)]
    hub_world.hello(hub, 1)
    hub.bye({"exit": 11})
    assert stands() == [("ok", 11)]
    hub_world.hello(hub, 1)
    hub.bye({"exit": 12})
    assert stands() == [("failing", 12)]
    hub_world.hello(hub, 1)
    assert stands() == [("failing", 12)]  # one that runs says nothing yet
    hub.bye({"exit": 0})
    assert stands() == [("ok", 0)]
    admin.revoke_replica(hub_world.dsn, bytes([1]) * 16)
    assert stands() == [("revoked", 0)]


def test_a_bundle_for_a_machine_is_no_sync_that_failed(hub_world: HubWorld) -> None:
    db = hub_world.psql()
    hub_world.replica(1).bye({"exit": 0})
    db.execute("SELECT satchel_api.bundle_dispatch('carried', %s)", ("01" * 16,))
    db.execute(
        "INSERT INTO satchel.attempt (tenant, attempt, replica_id, started_at, levels)"
        " SELECT tenant, 'link', replica_id, satchel.now_ms(), true FROM satchel.attempt"
        " WHERE attempt = 'carried'"
    )
    db.execute("UPDATE satchel.hub SET clock_correction_ms = clock_correction_ms + 2 * 3600000")
    refresh(hub_world.dsn)
    stands = "SELECT status, syncs_7d, failed_7d FROM report.machines WHERE host = 'host-1'"
    assert db.execute(stands).fetchall() == [("ok", 1, 0)]


def test_an_older_satchel_tells_only_how_many_rows_are_held_back(hub_world: HubWorld) -> None:
    hub, db = hub_world.replica(1), hub_world.psql()
    held = "SELECT host, kind, rows FROM report.quarantine ORDER BY kind"
    hub.bye({"exit": 11, "quarantined": 3})
    assert db.execute(held).fetchall() == [("host-1", None, 3)]
    hub_world.hello(hub, 1)
    hub.bye({"exit": 11, "quarantined": 3, "held_back": {"task": 2, "memory": 1}})
    assert db.execute(held).fetchall() == [("host-1", "memory", 1), ("host-1", "task", 2)]
    hub_world.hello(hub, 1)
    hub.bye({"exit": 0, "quarantined": 0, "held_back": {}})
    assert db.execute(held).fetchall() == []


def test_rows_of_a_former_id_are_told_with_its_own(hub_world: HubWorld) -> None:
    """A file that took a new id: both are machines, and what was written stays where it was."""
    former, now = bytes([1]) * 16, uuid4().bytes
    hub = hub_world.replica(1)
    row = row_of(MEMORY, "a", titled(MEMORY, recorded_at=1, agent_id="ada"), origin=former)
    hub.push(MEMORY, [row])
    hub.hello(replace(hello_of(1, "anew"), replica_id=now, predecessors=(former,)))
    refresh(hub_world.dsn)
    db = hub_world.psql()
    found = db.execute("SELECT machine, host, agent, created FROM report.activity").fetchall()
    assert found == [(former.hex(), "host-1", "ada", 1)]
    machines = db.execute("SELECT machine FROM report.machines WHERE host = 'host-1'").fetchall()
    assert {name for (name,) in machines} == {former.hex(), now.hex()}


def test_a_former_id_was_given_rows_for_the_new_one_too(hub_world: HubWorld) -> None:
    former, now = bytes([1]) * 16, uuid4().bytes
    hub, db = hub_world.replica(1), hub_world.psql()
    push(hub, "a")
    behind = "SELECT machine, rows_behind FROM report.machines WHERE host = 'host-1'"
    refresh(hub_world.dsn)
    assert db.execute(behind).fetchall() == [(former.hex(), 1)]
    db.execute("SELECT satchel.deliver('default', %s, satchel.bound('default'))", (former,))
    hub.hello(replace(hello_of(1, "anew"), replica_id=now, predecessors=(former,)))
    refresh(hub_world.dsn)
    assert dict(db.execute(behind).fetchall()) == {former.hex(): 0, now.hex(): 0}


def test_the_command_tells_what_it_made(hub_world: HubWorld, tmp_path: Path) -> None:
    admin_dsn = {"SATCHEL_WAREHOUSE_ADMIN_DSN": hub_world.dsn, "SATCHEL_HOME": str(tmp_path)}
    done = run("warehouse", "refresh", **admin_dsn)
    assert (done.code, [one["name"] for one in done.json]) == (0, [VIEW_OF[one] for one in SUMS])
    fresh = "SELECT name, rows FROM report.freshness WHERE rows IS NOT NULL"
    held = dict(hub_world.psql().execute(fresh).fetchall())
    assert {one["name"]: one["rows"] for one in done.json} == held
    assert all(set(one) == {"tenant", "name", "rows", "ms"} for one in done.json)
    refused = run("warehouse", "refresh", "--tenant", "west", **admin_dsn)
    assert (refused.code, refused.error["code"]) == (3, "tenant_unknown")
    assert re.search("tenant list", refused.error["hint"])
    nowhere = run("warehouse", "refresh", SATCHEL_HOME=str(tmp_path))
    assert (nowhere.code, nowhere.error["code"]) == (2, "config_invalid")
