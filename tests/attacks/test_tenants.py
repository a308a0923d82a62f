"""A file that comes to another tenant of its warehouse: to its replicas each tenant is a hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_files import cloned, opened
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_memory import StillClock

from satchel.replica import DATABASE_FILE
from satchel.store.connection import SYSTEM_CLOCK
from satchel.store.endpoint import SqliteReplica
from satchel_sync.errors import NeedsReconcile
from satchel_sync.session import sync
from satchel_warehouse.endpoint import WarehouseHub

NOTICED = pytest.mark.parametrize("noticed", [True, False], ids=["noticed", "unnoticed"])


class OtherFleet(Fleet):
    """Machines of the tenant `other`."""

    def machine(self, name: str) -> Machine:
        if name not in self.machines:
            clock = StillClock(SYSTEM_CLOCK.now_ms())
            store = opened(self.folder / name / DATABASE_FILE, clock)
            self.machines[name] = Machine(store, clock, WarehouseHub(self.world.login("other")))
        return self.machines[name]


@pytest.fixture
def others(hub_world: HubWorld, tmp_path: Path) -> Iterator[OtherFleet]:
    fleet = OtherFleet(hub_world, tmp_path / "other")
    try:
        yield fleet
    finally:
        fleet.close()


def at_hub(world: HubWorld) -> dict[str, list[Any]]:
    """What the hub knows of tenants, replicas and rows."""
    queries = {
        "rows": "SELECT tenant, id, content FROM satchel.memory ORDER BY 1, 2",
        "tenants": "SELECT name, id, epoch FROM satchel.tenant ORDER BY 1",
        "replicas": "SELECT replica_id, login, predecessors FROM satchel.replica ORDER BY 1",
        "attempts": "SELECT attempt, replica_id FROM satchel.attempt ORDER BY 1, 2",
    }
    return {
        name: world.psql().execute(query.encode()).fetchall() for name, query in queries.items()
    }


def known(machine: Machine) -> list[Any]:
    """What a file says of its hub, and its rows."""
    names = "('hub_id', 'epoch', 'last_attempt', 'token', 'due')"
    return [
        machine.sql(f"SELECT name, value FROM meta WHERE name IN {names} ORDER BY name"),
        machine.sql("SELECT id, content, origin FROM memory ORDER BY id"),
        machine.sql("SELECT kind, seq FROM cursor ORDER BY kind"),
    ]


def moved(fleet: Fleet, machine: Machine, *, noticed: bool = True) -> Machine:
    """A copy of a machine's file with a login of the tenant `default`."""
    copy = cloned(fleet, machine, "copy", noticed=noticed)
    copy.hub = WarehouseHub(fleet.world.login())
    return copy


@NOTICED
def test_a_file_at_another_tenant_is_refused_and_changes_nothing(
    fleet: Fleet, others: OtherFleet, noticed: bool
) -> None:
    honest, other = fleet.machine("honest"), others.machine("other")
    honest.put("ours", "of the tenant default")
    other.put("secret", "of the tenant other")
    fleet.quiet()
    others.quiet()
    copy = moved(others, other, noticed=noticed)
    copy.put("unsent", "written in the copy")
    hub, file = at_hub(fleet.world), known(copy)
    for _ in range(2):
        with pytest.raises(NeedsReconcile) as refused:
            copy.sync()
        assert refused.value.exit_code == 12
    assert (at_hub(fleet.world), known(copy)) == (hub, file)
    assert honest.sync()["identity"] == []
    assert (honest.text("secret"), copy.text("ours")) == (None, None)
    copy.hub.close()
    copy.hub = WarehouseHub(other.hub._dsn)
    assert copy.sync()["exit"] == 0, "at its own tenant it goes on"
    others.quiet()
    assert other.text("unsent") == "written in the copy"


def test_a_file_moves_to_another_tenant_when_told(fleet: Fleet, others: OtherFleet) -> None:
    honest, other = fleet.machine("honest"), others.machine("other")
    honest.put("ours", "of the tenant default")
    other.put("brought", "of the tenant other")
    fleet.quiet()
    others.quiet()
    copy = moved(others, other)
    others.machines.pop("copy")
    fleet.machines["copy"] = copy
    epochs = at_hub(fleet.world)["tenants"]
    report = sync(SqliteReplica(copy.store, adopt=True), copy.hub, copy.clock)
    assert (report["exit"], report["reconcile_due"]) == (0, None)
    fleet.quiet()
    assert honest.text("brought") == "of the tenant other"
    assert copy.text("ours") == "of the tenant default"
    assert at_hub(fleet.world)["tenants"] == epochs
    others.quiet()
    assert (other.text("ours"), other.text("brought")) == (None, "of the tenant other")


def test_what_others_wrote_and_an_adoption_brought_is_repaired_by_its_holder(
    fleet: Fleet, others: OtherFleet
) -> None:
    writer, holder = others.pair()
    for number in range(3):
        writer.put(f"x{number}", "by a machine that this tenant never met")
    others.quiet()
    copy = moved(others, holder)
    others.machines.pop("copy")
    fleet.machines["copy"] = copy
    assert sync(SqliteReplica(copy.store, adopt=True), copy.hub, copy.clock)["exit"] == 0
    fleet.quiet()
    psql = fleet.world.psql()
    psql.execute("SET session_replication_role = replica")
    lost = "DELETE FROM satchel.memory WHERE tenant = 'default' AND id <> 'x0'"
    assert psql.execute(lost).rowcount == 2
    report = copy.sync()
    assert (report["exit"], report["quarantined"]) == (0, 0)
    fleet.quiet()
    held = "SELECT id FROM satchel.memory WHERE tenant = 'default' ORDER BY id"
    assert psql.execute(held).fetchall() == [("x0",), ("x1",), ("x2",)]
    fresh = fleet.machine("fresh")
    fleet.quiet()
    assert fresh.text("x2") == "by a machine that this tenant never met"
