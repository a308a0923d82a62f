"""An administrator carries for machines of several tenants: each bundle goes to its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_bundles import RealSite, at, at_hub, export, export_for
from fix_files import cloned, opened
from fix_machines import Machine
from fix_memory import StillClock

from satchel.replica import DATABASE_FILE
from satchel.store.connection import SYSTEM_CLOCK
from satchel_sync.errors import HubRefused, NeedsReconcile
from satchel_warehouse.endpoint import WarehouseHub


@pytest.fixture
def other(real: RealSite, tmp_path: Path) -> Machine:
    """A machine of the tenant `other` that has synced, beside one of `default` that has."""
    clock = StillClock(SYSTEM_CLOCK.now_ms())
    store = opened(tmp_path / "other" / DATABASE_FILE, clock)
    machine = Machine(store, clock, WarehouseHub(real.fleet.world.login("other")))
    real.fleet.machines["other"] = machine
    for name in ("a", "other"):
        real.put(name, f"by {name}", "one")
        assert real.online(name)["exit"] == 0
    return machine


def tenants(real: RealSite, key: str) -> list[str]:
    """The tenants that hold a memory."""
    query = "SELECT tenant FROM satchel.memory WHERE id = %s ORDER BY 1"
    return [name for (name,) in real.fleet.world.psql().execute(query, (key,)).fetchall()]


def registered(real: RealSite) -> int:
    ((count,),) = real._sql("SELECT count(*) FROM satchel.replica")
    return int(count)


def test_a_new_id_goes_to_the_tenant_that_its_bundle_names(real: RealSite, other: Machine) -> None:
    copy = cloned(real.fleet, other, "copy", noticed=True)
    real.put("copy", "x", "by a copy of its file")
    assert at_hub(real, export(real, "copy"))["exit"] == 0
    assert tenants(real, "x") == ["other"]
    at(real, "copy", export_for(real, "copy"))
    assert (real.queued("copy"), real.text("copy", "by a")) == (0, None)
    report = real.online("copy")
    assert (report["exit"], report["reconcile_due"]) == (0, None)
    assert len(report["identity"]) == 1, "only that it took a new id"
    query = "SELECT login, bound FROM satchel.replica WHERE replica_id = %s"
    ((login, bound),) = real.fleet.world.psql().execute(query, (copy.store.replica_id,)).fetchall()
    assert bound
    assert f"user={login} " in copy.hub._dsn + " "
    assert real.online("a")["identity"] == []
    assert real.text("a", "x") is None


def test_a_file_that_names_no_hub_goes_where_its_earlier_ids_are(
    real: RealSite, other: Machine
) -> None:
    cloned(real.fleet, other, "copy", noticed=True)
    with real.machine("copy").store.write() as db:
        db.execute("DELETE FROM meta WHERE name IN ('hub_id', 'epoch', 'last_attempt', 'token')")
        db.execute("INSERT INTO meta(name, value) VALUES('due', 'adopted')")
    real.put("copy", "x", "by a copy of its file")
    assert at_hub(real, export(real, "copy"))["exit"] == 0
    assert tenants(real, "x") == ["other"]


def test_a_new_machine_of_nobody_knows_which_tenant_is_refused(
    real: RealSite, other: Machine
) -> None:
    real.put("new", "x", "by a new machine")
    stick, before = export(real, "new"), registered(real)
    with pytest.raises(HubRefused, match="of which of 2 tenants") as refused:
        at_hub(real, stick)
    assert "login of the right tenant" in str(refused.value.hint)
    assert (registered(real), tenants(real, "x")) == (before, [])
    assert real.online("new")["exit"] == 0
    assert at_hub(real, stick)["exit"] == 0, "known by now"
    assert tenants(real, "x") == ["default"]


def test_a_new_machine_goes_to_the_only_tenant_and_is_bound_later(real: RealSite) -> None:
    real.put("new", "x", "by a new machine")
    assert at_hub(real, export(real, "new"))["exit"] == 0
    assert tenants(real, "x") == ["default"]
    assert real.online("new")["identity"] == []
    ((logins,),) = real._sql(
        "SELECT count(*) FROM satchel.login WHERE role_name = session_user::text"
    )
    assert logins == 0, "to carry makes the administrator no machine of one tenant"


def test_the_wrong_tenants_login_does_not_bind_what_an_administrator_carried(
    real: RealSite, other: Machine
) -> None:
    copy = cloned(real.fleet, other, "copy", noticed=True)
    real.put("copy", "x", "by a copy of its file")
    assert at_hub(real, export(real, "copy"))["exit"] == 0
    copy.hub = WarehouseHub(real.fleet.world.login())
    with pytest.raises(NeedsReconcile):
        real.online("copy")
    with copy.store.write() as db:  # and one that does not say where it belongs
        db.execute("DELETE FROM meta WHERE name = 'hub_id'")
        db.execute("INSERT INTO meta(name, value) VALUES('due', 'adopted')")
    with pytest.raises(HubRefused):
        real.online("copy")
    assert tenants(real, "x") == ["other"]


def test_a_bundle_of_another_warehouse_is_refused(real: RealSite, other: Machine) -> None:
    with real.machine("other").store.write() as db:
        db.execute("UPDATE meta SET value = ? WHERE name = 'hub_id'", (b"\xdd" * 16,))
    real.put("other", "x", "of elsewhere")
    with pytest.raises(NeedsReconcile):
        at_hub(real, export(real, "other"))
    cloned(real.fleet, other, "copy", noticed=True)
    before = registered(real)
    with pytest.raises(NeedsReconcile):
        at_hub(real, export(real, "copy"))
    assert (registered(real), tenants(real, "x")) == (before, [])
