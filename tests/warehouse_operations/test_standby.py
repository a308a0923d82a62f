"""A primary and its standby: what each says of itself, and of how far the other is behind."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic, sleep

import psycopg
import pytest
from fix_servers import NEEDS_POSTGRES, Postgres, postgres

from satchel_warehouse import admin, tenants
from satchel_warehouse.errors import WarehouseReadOnly
from satchel_warehouse.operations import doctoring, health
from satchel_warehouse.operations.measures import measure
from satchel_warehouse.operations.retaining import Retention, retain

pytestmark = NEEDS_POSTGRES


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Postgres, Postgres]]:
    with postgres() as primary:
        primary.start(wal_level="replica", archive_mode="on", archive_command="false")
        admin.init(primary.admin)
        with postgres(primary) as standby:
            standby.start()
            yield primary, standby


def replayed(primary: Postgres) -> health.Health:
    """The primary's health once its standby has all."""
    until = monotonic() + 30
    while True:
        found = health.look(primary.admin)
        if [one for one in found.standbys if one.lag_bytes == 0 and one.state == "streaming"]:
            return found
        assert monotonic() < until, found
        sleep(0.2)


def test_each_tells_what_it_is(pair: tuple[Postgres, Postgres]) -> None:
    primary, standby = pair
    tenants.add(primary.admin, "one")
    found = replayed(primary)
    assert (found.standby, found.replayed_s_ago, len(found.standbys)) == (False, None, 1)
    assert found.archive.on
    there = health.look(standby.admin)
    assert (there.standby, there.standbys) == (True, [])
    assert there.replayed_s_ago is not None
    assert measure(standby.admin).health.standby


def test_the_doctor_looks_at_both_and_finds_that_the_archive_fails(
    pair: tuple[Postgres, Postgres],
) -> None:
    primary, _ = pair
    for server in pair:
        found = {one.name: one for one in doctoring.examine(server.admin)}
        assert [one for one in found.values() if "looked" in one.found] == []
        failed = {name for name, one in found.items() if one.ok == "fail"}
        assert failed <= {"durability", "backup"}, "also on the oldest PostgreSQL"
    assert "this is one" in found["standbys"].found
    admin_of = primary.admin
    until = monotonic() + 30
    tenants.add(admin_of, "more")
    with psycopg.connect(admin_of, autocommit=True) as db:
        db.execute("SELECT pg_switch_wal()")
    while health.look(admin_of).archive.failed == 0:
        assert monotonic() < until
        sleep(0.2)
    found = {one.name: one for one in doctoring.examine(admin_of)}
    assert (found["backup"].ok, found["backup"].found) == ("fail", "archiving WAL fails")


def test_a_standby_prunes_nothing(pair: tuple[Postgres, Postgres]) -> None:
    days = Retention(journal_days=1, reports_days=1, audit_days=1)
    with pytest.raises(WarehouseReadOnly):
        retain(pair[1].admin, days)
