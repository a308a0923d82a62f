"""What a hub and a replica of other versions may do together: all, pull only, or nothing."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from fix_held import DATABASE, hub_holds, same
from fix_mixed import Machine, World, moved
from fix_versions import Failed, Program, Versions, changed, replace


@pytest.fixture(scope="session")
def strict_schema(copies: Versions) -> Program:
    """The future, whose hub takes rows of its own schema only."""
    program = copies.another("strict-schema", copies.future)
    changed(program, "SCHEMA_MIN", program.number("SCHEMA"))
    return program


@pytest.fixture(scope="session")
def strict_protocol(copies: Versions) -> Program:
    """The future, with the next protocol and no other."""
    program = copies.another("strict-protocol", copies.future)
    following = program.number("PROTOCOL") + 1
    changed(program, "PROTOCOL", following)
    changed(program, "PROTOCOL_MIN", following)
    return program


@pytest.fixture(scope="session")
def other_type(copies: Versions) -> Program:
    """The future as somebody else had it: the effort of a task is text."""
    program = copies.another("other-type", copies.future)
    task = program.root / "sync/satchel_sync/tables/task.py"
    replace(task, r"effort: int", "effort: str")
    for script in (program.root / "replica/satchel/store/schema").glob("*_future.sql"):
        replace(script, "effort INTEGER", "effort TEXT")
    return program


def outbox(machine: Machine) -> list[tuple[str, str]]:
    """What waits to be sent."""
    with closing(sqlite3.connect(machine.home / DATABASE)) as db:
        return db.execute("SELECT kind, key FROM outbox ORDER BY 1, 2").fetchall()


def test_below_the_hubs_schema_a_replica_pulls_only_and_keeps_its_outbox(
    mixed: World, strict_schema: Program
) -> None:
    new, old = mixed.machine(mixed.versions.future), mixed.machine(mixed.versions.present)
    old.put("memory", "before", content="sent", scope="org")
    old.sync()
    mixed.migrate(strict_schema)
    new.put("memory", "m1", content="new", mood="glad")
    new.sync()
    old.put("memory", "before", content="edited")
    old.put("memory", "unsent", content="waits")
    waiting, held = outbox(old), hub_holds(mixed.hub.dsn)
    for _ in range(2):
        report = old.sync()
        assert (report["exit"], report["access"], report["ok"]) == (13, "read_only", False)
        assert (moved(report)[0], report["bytes_out"]) == (0, 0)
        assert outbox(old) == waiting
        assert hub_holds(mixed.hub.dsn) == held
    assert old.get("memory", "m1")["content"] == "new"
    old.upgrade(mixed.versions.future)
    mixed.settle()
    assert new.get("memory", "unsent")["content"] == "waits"
    assert new.get("memory", "before")["content"] == "edited"


def test_a_replica_that_only_pulls_keeps_what_lost_until_it_may_push(
    mixed: World, strict_schema: Program
) -> None:
    new, old = mixed.machine(mixed.versions.future), mixed.machine(mixed.versions.present)
    new.put("memory", "m1", content="one", scope="org")
    new.sync()
    old.sync()
    mixed.migrate(strict_schema)
    old.put("memory", "m1", content="lost")
    new.put("memory", "m1", content="won", mood="glad")
    new.sync()
    assert old.sync()["exit"] == 13
    assert old.get("memory", "m1")["content"] == "won"
    journal = "SELECT content::jsonb ->> 'content' FROM satchel.conflict"
    old.upgrade(mixed.versions.future)
    old.sync()
    assert mixed.hub.psql().execute(journal).fetchall() == [("lost",)]
    mixed.settle()


@pytest.mark.parametrize("newer", ["hub", "replica"])
def test_another_protocol_is_told_plainly_and_nothing_moves(
    mixed: World, strict_protocol: Program, newer: str
) -> None:
    machine = mixed.machine(strict_protocol if newer == "replica" else mixed.versions.present)
    if newer == "hub":
        mixed.migrate(strict_protocol)
    machine.put("memory", "m1", content="waits", scope="org")
    waiting, held = outbox(machine), machine.holds()
    with pytest.raises(Failed, match="speaks sync protocol") as refused:
        machine.sync()
    assert (refused.value.code, refused.value.exit_code) == ("versions_differ", 13)
    assert re.search(r"protocol \d+, this satchel \d+", str(refused.value))
    assert "upgrade" in refused.value.hint
    assert (outbox(machine), machine.holds(), hub_holds(mixed.hub.dsn)) == (waiting, held, {})
    if newer == "hub":
        machine.upgrade(strict_protocol)
    else:
        mixed.migrate(strict_protocol)
    mixed.settle()
    assert len(hub_holds(mixed.hub.dsn)) == 1


def test_the_command_line_says_who_has_to_be_upgraded(
    mixed: World, strict_protocol: Program
) -> None:
    mixed.migrate(strict_protocol)
    machine = mixed.machine(mixed.versions.present)
    machine.process.close()
    said = mixed.versions.present.satchel(
        "sync", SATCHEL_HOME=str(machine.home), SATCHEL_WAREHOUSE_DSN=machine.dsn
    )
    assert said.returncode == 13
    assert "speaks sync protocol" in said.stderr
    assert "upgrade the older" in said.stderr
    assert "Traceback" not in said.stderr


# ---- kinds ---------------------------------------------------------------------------------------


def test_a_hub_may_offer_a_kind_that_a_replica_does_not_know(mixed: World) -> None:
    mixed.migrate(mixed.versions.beyond)
    new, old = mixed.machine(mixed.versions.beyond), mixed.machine(mixed.versions.present)
    new.put("label", "l1", word="red")
    new.put("memory", "m1", content="text", scope="org")
    assert new.sync()["exit"] == 0
    for _ in range(2):
        report = old.sync()
        assert (report["exit"], report["failed"], report["digest"]) == (0, {}, "equal")
    assert old.get("memory", "m1")["content"] == "text"
    old.put("memory", "m1", content="edited")
    old.sync()
    new.sync()
    assert new.get("memory", "m1")["content"] == "edited"
    old.upgrade(mixed.versions.beyond)
    mixed.settle()
    assert old.get("label", "l1")["word"] == "red"


@pytest.mark.parametrize("waiting", [True, False], ids=["rows wait", "nothing waits"])
def test_a_kind_that_the_hub_lacks_is_named_and_the_others_go_on(
    mixed: World, *, waiting: bool
) -> None:
    new, old = mixed.machine(mixed.versions.beyond), mixed.machine(mixed.versions.present)
    old.put("memory", "m0", content="from the old one", scope="org")
    old.sync()
    new.put("memory", "m1", content="text", scope="org")
    if waiting:
        new.put("label", "l1", word="red")
    for _ in range(2):
        report = new.sync()
        assert report["exit"] == 13
        assert list(report["failed"]) == ["label"]
        assert "does not know the kind 'label'" in report["failed"]["label"]
        assert report["digest"] == "equal"
    assert outbox(new) == ([("label", "l1")] if waiting else [])
    assert old.sync()["exit"] == 0
    assert (old.get("memory", "m1")["content"], new.get("memory", "m0")["content"]) == (
        "text", "from the old one",
    )  # fmt: skip
    mixed.migrate(mixed.versions.beyond)
    report = new.sync()
    assert (report["exit"], report["failed"]) == (0, {})
    assert same(new.holds(), hub_holds(mixed.hub.dsn))
    assert (("label", "l1") in hub_holds(mixed.hub.dsn)) is waiting


def test_a_kind_with_another_type_is_named_and_the_others_go_on(
    mixed: World, other_type: Program
) -> None:
    mixed.migrate(mixed.versions.future)
    machine = mixed.machine(other_type)
    machine.put("memory", "m1", content="text", scope="org")
    for effort in (None, "hard"):
        machine.put("task", "t1", title="paint", effort=effort)
        report = machine.sync()
        assert (report["exit"], list(report["failed"])) == (13, ["task"])
        assert "effort has another type" in report["failed"]["task"]
        assert report["digest"] == "equal"
    assert outbox(machine) == [("task", "t1")]
    assert {kind for kind, _ in hub_holds(mixed.hub.dsn)} == {"memory", "history"}
