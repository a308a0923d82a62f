"""A hub under a new program: `extra` folds into the new columns, and nobody pulls anything."""

from __future__ import annotations

import time

import psycopg
import pytest
from fix_held import hub_holds, text
from fix_mixed import Machine, World, moved
from fix_versions import Failed

STAMPS = (
    "SELECT array_agg((tenant, id, life, hlc, origin, digest, lineage, change_seq, schema_ver,"
    " received_at, pushed_by) ORDER BY tenant, id)::text FROM satchel.{}"
)


@pytest.fixture
def machines(mixed: World) -> tuple[Machine, Machine]:
    """An old hub with rows of a new and of an old machine, all settled."""
    new, old = mixed.machine(mixed.versions.future), mixed.machine(mixed.versions.present)
    for number in range(20):
        new.put("memory", f"m{number:02}", content=f"{number}", mood=f"mood {number}", energy=1e300)
    new.put("task", "t1", title="paint", effort=-1)
    new.put("memory", "m20", content="without")
    new.sync()
    old.sync()
    new.process.do("delete", kind="memory", key="m01")
    mixed.settle()
    return new, old


def test_what_waited_in_extra_moves_into_its_column_without_a_new_version(
    mixed: World, machines: tuple[Machine, Machine]
) -> None:
    db = mixed.hub.psql()
    kinds = ("memory", "task", "history")
    before = {kind: db.execute(STAMPS.format(kind)).fetchone() for kind in kinds}
    held = hub_holds(mixed.hub.dsn)
    assert held["memory", "m05"].extra is not None
    mixed.migrate(mixed.versions.future)
    assert {kind: db.execute(STAMPS.format(kind)).fetchone() for kind in kinds} == before
    after = hub_holds(mixed.hub.dsn)
    assert {at: one.content for at, one in after.items()} == {
        at: one.content for at, one in held.items()
    }
    assert {one.extra for one in after.values()} == {None}
    found = db.execute("SELECT mood, energy, extra FROM satchel.memory WHERE id = 'm05'")
    assert found.fetchone() == ("mood 5", 1e300, None)
    assert db.execute("SELECT effort FROM satchel.task").fetchone() == (-1,)
    for machine in (*machines, *machines):
        report = machine.sync()
        assert (moved(report), report["bytes_in"], report["bytes_out"]) == ((0, 0), 0, 0)
    mixed.settle()


def test_policies_and_triggers_are_as_before_a_fold(
    mixed: World, machines: tuple[Machine, Machine]
) -> None:
    mixed.migrate(mixed.versions.future)
    db = mixed.hub.psql()
    unforced = db.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'satchel'::regnamespace"
        " AND relrowsecurity AND NOT relforcerowsecurity AND relname <> 'login'"  # ADR 0040
    )
    assert unforced.fetchall() == []
    db.execute("UPDATE satchel.memory SET mood = 'by psql' WHERE id = 'm05'")
    mixed.settle()
    new, old = machines
    assert new.get("memory", "m05")["mood"] == "by psql"
    assert old.holds()["memory", "m05"].content["mood"] == text("by psql")


def test_rows_of_every_tenant_are_folded_also_when_the_administrator_syncs(
    mixed: World, machines: tuple[Machine, Machine]
) -> None:
    """Who has synced has a tenant; its rows alone would be seen under row-level security."""
    other = mixed.machine(mixed.versions.future)
    other.dsn = mixed.hub.login("other tenant")
    other.put("memory", "theirs", content="x", mood="theirs")
    other.sync()
    administrator = mixed.machine(mixed.versions.present)
    administrator.dsn = mixed.hub.dsn
    administrator.sync()
    mixed.migrate(mixed.versions.future)
    assert hub_holds(mixed.hub.dsn, "other tenant")["memory", "theirs"].extra is None
    assert hub_holds(mixed.hub.dsn)["memory", "m05"].extra is None
    with psycopg.connect(mixed.hub.dsn) as db:
        found = db.execute("SELECT count(*) FROM satchel.memory WHERE mood IS NOT NULL")
        assert found.fetchone() == (20,)


def test_a_migration_may_be_repeated(mixed: World, machines: tuple[Machine, Machine]) -> None:
    for _ in range(2):
        mixed.migrate(mixed.versions.future)
    mixed.settle()


def test_a_sync_that_began_before_the_hub_was_migrated_loses_no_column(
    mixed: World, machines: tuple[Machine, Machine]
) -> None:
    """It knows the hub's old columns only: it is told to begin again, and then all is there."""
    third = mixed.machine(mixed.versions.future)
    third.put("memory", "m30", content="unsent", mood="mine")
    third.process.do("hello", dsn=third.dsn)
    mixed.migrate(mixed.versions.future)
    for command in ("pull_now", "push_now", "fetch_now"):
        with pytest.raises(Failed, match="was migrated while") as refused:
            third.process.do(command)
        assert (refused.value.exit_code, "sync again" in refused.value.hint) == (10, True)
    mixed.settle()
    assert third.get("memory", "m05")["mood"] == "mood 5"
    assert hub_holds(mixed.hub.dsn)["memory", "m30"].extra is None


@pytest.mark.parametrize("command", ["pull_now", "fetch_now", "push_now"])
def test_who_waits_for_the_migration_neither_reads_nor_writes_the_old_columns(
    mixed: World, machines: tuple[Machine, Machine], command: str
) -> None:
    third = mixed.machine(mixed.versions.future)
    third.put("memory", "m30", content="unsent", mood="mine")
    third.process.do("hello", dsn=third.dsn)
    with psycopg.connect(mixed.hub.dsn) as report:
        report.execute("SELECT count(*) FROM satchel.task")  # what the migration changes last
        migration = mixed.versions.start(mixed.versions.future)
        migration.tell("migrate_hub", dsn=mixed.hub.dsn)
        _until_waiting(mixed, 1)
        third.process.tell(command)
        _until_waiting(mixed, 2)
    migration.answer()
    with pytest.raises(Failed, match="was migrated while"):
        third.process.answer()
    mixed.settle()
    assert third.get("memory", "m05")["mood"] == "mood 5"


def _until_waiting(world: World, sessions: int) -> None:
    """Wait until so many sessions of the hub wait for a lock."""
    query = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    deadline, db = time.monotonic() + 30, world.hub.psql()
    while db.execute(query).fetchone() != (sessions,):
        assert time.monotonic() < deadline, "nobody waits"
        time.sleep(0.01)
