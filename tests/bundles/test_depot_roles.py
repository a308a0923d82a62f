"""Who may carry for whom: a replica's own login, or an administrator; nobody across tenants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from fix_bundles import RealSite, at, bundle_of, export, parcel_of

from satchel_sync.bundles.inbound import receive
from satchel_sync.bundles.outbound import dispatching
from satchel_sync.errors import HubRefused
from satchel_warehouse import admin
from satchel_warehouse.depot import WarehouseDepot


@contextmanager
def depot(dsn: str) -> Iterator[WarehouseDepot]:
    with WarehouseDepot(dsn) as found:
        yield found


def own(site: RealSite, name: str) -> str:
    """The DSN of a machine's own login."""
    return site.machine(name).hub._dsn


def test_a_login_carries_for_its_own_replica(real: RealSite) -> None:
    real.put("a", "x", "one")
    assert real.online("a")["exit"] == 0
    real.put("a", "x", "two")
    replica_id = real.carrier("a").identity().replica_id
    with depot(own(real, "a")) as mine:
        assert receive(mine, parcel_of(export(real, "a")))["exit"] == 0
        assert mine.replicas() == [replica_id.hex()]
        at(real, "a", bundle_of(dispatching(mine, replica_id)))
    assert real.queued("a") == 0


def test_a_login_carries_for_no_other_replica(real: RealSite) -> None:
    real.put("a", "x", "one")
    real.put("b", "y", "one")
    for name in ("a", "b"):
        assert real.online(name)["exit"] == 0
    with depot(own(real, "b")) as other:
        with pytest.raises(HubRefused):
            receive(other, parcel_of(export(real, "a")))
        with pytest.raises(HubRefused):
            dispatching(other, real.carrier("a").identity().replica_id)


def test_no_login_reaches_into_another_tenant(real: RealSite) -> None:
    real.put("a", "x", "one")
    assert real.online("a")["exit"] == 0
    replica_id = real.carrier("a").identity().replica_id
    with depot(real.fleet.world.login("elsewhere")) as other:
        assert other.replicas() == []
        with pytest.raises(HubRefused):
            dispatching(other, replica_id)
        with pytest.raises(HubRefused):
            receive(other, parcel_of(export(real, "a")))
    rows = real.fleet.world.psql().execute("SELECT tenant FROM satchel.memory").fetchall()
    assert rows == [("default",)]


def test_a_rewind_that_a_bundle_of_one_tenant_tells_of_opens_no_epoch_of_another(
    real: RealSite,
) -> None:
    real.put("a", "x", "one")
    assert real.online("a")["exit"] == 0
    world = real.fleet.world
    with depot(world.login("elsewhere")) as other:
        before = admin.status(world.dsn).epochs
        head = replace(
            parcel_of(export(real, "a")).head, sender=b"\x77" * 16, token="f" * 32,
            epoch=before["elsewhere"], predecessors=(), base={}, recipient=b"",
        )  # fmt: skip
        assert "set back" in other.unpack(head)
    after = admin.status(world.dsn).epochs
    assert (after["default"], after["elsewhere"] != before["elsewhere"]) == (
        before["default"], True,
    )  # fmt: skip
    assert real.online("a")["identity"] == []


def test_a_replica_known_by_a_bundle_is_bound_by_its_first_hello(real: RealSite) -> None:
    real.put("a", "x", "one")
    with depot(real.fleet.world.dsn) as admins:
        assert receive(admins, parcel_of(export(real, "a")))["exit"] == 0
    with depot(own(real, "b")) as other, pytest.raises(HubRefused):
        dispatching(other, real.carrier("a").identity().replica_id)
    assert real.online("a")["identity"] == []
    me = real.carrier("a").identity().replica_id
    query = "SELECT login, bound FROM satchel.replica WHERE replica_id = %s"
    ((login, bound),) = real.fleet.world.psql().execute(query, (me,)).fetchall()
    assert bound
    assert f"user={login} " in own(real, "a") + " "


def test_a_login_without_a_replica_may_call_no_inner_function(real: RealSite) -> None:
    import psycopg

    db = real.fleet.world.psql(real.fleet.world.login())
    for query in (
        "SELECT satchel.begin_visit('x', '\\x00', true, true)",
        "SELECT * FROM satchel.receipt",
        "SELECT * FROM satchel.bundle_peer",
        "SELECT satchel.may_carry('x', 'y')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute(query.encode())
