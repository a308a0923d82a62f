"""Restored machines and a real hub: no row lost that was sent, no needless conflict, no alarm."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_audited import Audience, Audited, gathered
from fix_hub import HubWorld
from fix_live import Touching, agree, soon
from fix_memory import StillClock

from satchel.audit.auditor import MachineAuditor
from satchel.backup import making, restoring
from satchel.backup.staging import RESTORED
from satchel.memory import forget
from satchel.store import rows
from satchel.store.connection import Store
from satchel_sync.tables import MEMORY

Report = dict[str, Any]


@pytest.fixture
def audience(hub_world: HubWorld, tmp_path: Path) -> Iterator[Audience]:
    with gathered(hub_world, tmp_path) as made:
        yield made


def backup(machine: Audited, **given: Any) -> Path:
    return Path(making.make(machine.settings, **given)["backup"])


def restored(machine: Audited, source: Path, *, lost: bool = False) -> Report:
    """Restore over the machine's home, or in place of all of it."""
    machine.store.close()
    home = machine.settings.home
    if lost:
        shutil.rmtree(home)
    answer = restoring.restore(machine.settings, source, confirm=lambda question: True)
    machine.store = Store.open(
        machine.store.path,
        durability="process",
        clock=StillClock(machine.clock.at_ms + 1000),
        auditor=MachineAuditor(machine.settings),
    )
    return answer


def journal(audience: Audience) -> list[Any]:
    query = "SELECT kind, key FROM satchel.conflict"
    return list(audience.world.psql().execute(query).fetchall())


def gone(machine: Audited, key: str) -> bool:
    with machine.store.read() as db:
        found = rows.get(db, MEMORY, key, dead=True)
    return found is None or found.content is None


def whole(audience: Audience) -> None:
    """The chains of all machines are whole at the hub, after they read something too."""
    for machine in audience.machines.values():
        machine.read("m1")
    audience.require_whole()


def equal(audience: Audience) -> None:
    for machine in [*audience.machines.values()] * 2:
        machine.sync()
    first, *others = [machine.versions() for machine in audience.machines.values()]
    assert all(one == first for one in others)


@pytest.mark.parametrize("lost", [False, True], ids=["over the old file", "on a new machine"])
def test_what_was_sent_comes_back_and_nothing_conflicts(
    audience: Audience, tmp_path: Path, lost: bool
) -> None:
    a, b = audience.machine("a"), audience.machine("b")
    a.put("sent", "one")
    a.put("both", "one")
    a.sync()
    b.sync()
    a.put("unsent", "waits in the backup, and is sent behind it")
    source = backup(a, out=tmp_path / "disk", with_keys=True)
    a.sync()
    a.put("sent", "two")
    a.put("later", "after the backup, sent")
    a.sync()
    b.sync()
    b.put("both", "of b")
    b.sync()
    a.sync()
    a.put("never", "never sent: only in what the restore kept")
    was = a.store.replica_id
    restored(a, source, lost=lost)
    report = a.sync()
    assert (report["exit"], report["conflicts"], report["audit"]["refused"]) == (0, 0, {})
    # One event, which the restore itself made: the hub finds nothing more to say.
    (event,) = report["identity"]
    assert RESTORED in str(event)
    assert a.store.replica_id != was
    texts = {key: a.text(key) for key in ("sent", "both", "unsent", "later", "never")}
    assert texts == {
        "sent": "two",
        "both": "of b",
        "unsent": "waits in the backup, and is sent behind it",
        "later": "after the backup, sent",
        "never": None,
    }
    a.put("sent", "three")
    equal(audience)
    assert (b.text("sent"), journal(audience)) == ("three", [])
    whole(audience)


def test_what_was_forgotten_anywhere_is_scrubbed_by_the_next_sync(
    audience: Audience, tmp_path: Path
) -> None:
    """On a new machine that has nothing but the backup: it knows of no forgetting at all."""
    a, b = audience.machine("a"), audience.machine("b")
    for key in ("here", "there"):
        a.put(key, f"the launch code is zebra-umbrella-42, {key}")
    a.sync()
    b.sync()
    source = backup(a, out=tmp_path / "disk")
    forget.forget(a.replica, ["here"], confirm=True)
    a.sync()
    forget.forget(b.replica, ["there"], confirm=True)
    b.sync()
    restored(a, source, lost=True)
    assert a.text("here") is not None, "nothing here can know"
    assert a.sync()["exit"] == 0
    assert (gone(a, "here"), gone(a, "there")) == (True, True)
    equal(audience)
    a.store.close()
    home = a.settings.home
    texts = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in texts if b"zebra-umbrella" in path.read_bytes()] == []


def test_two_machines_from_one_backup_are_two(audience: Audience, tmp_path: Path) -> None:
    """The second stands beside the first: each has an id of its own, and both go on."""
    a = audience.machine("a")
    a.put("m1", "one")
    a.sync()
    source = backup(a, out=tmp_path / "disk", with_keys=True)
    a.put("m2", "of a")
    a.sync()
    b = audience.machine("b")
    restored(b, source, lost=True)
    b.put("m3", "of b")
    assert b.sync()["exit"] == 0
    a.put("m1", "newer")
    assert a.sync()["exit"] == 0
    equal(audience)
    assert (b.text("m1"), b.text("m2"), a.text("m3")) == ("newer", "of a", "of b")
    assert a.store.replica_id != b.store.replica_id
    assert journal(audience) == []
    whole(audience)


def test_back_and_forth_between_two_backups(audience: Audience, tmp_path: Path) -> None:
    a, b = audience.machine("a"), audience.machine("b")
    sources = []
    for number in range(3):
        a.work(number)
        a.sync()
        sources.append(backup(a))
    for source in (sources[0], sources[2], sources[1]):
        a.put("again", f"before {source.name}")
        a.sync()
        restored(a, source)
        report = a.sync()
        assert (report["exit"], report["conflicts"]) == (0, 0)
    equal(audience)
    assert [b.text(f"m{number}") for number in range(3)] == [f"text {n}" for n in range(3)]
    assert journal(audience) == []
    whole(audience)


def test_under_a_sync_that_stays_in_touch(hub_world: HubWorld, tmp_path: Path) -> None:
    """It knows how far the old file had come, and must not go on from there."""
    a = Touching(tmp_path / "a", hub_world.login())
    b = Touching(tmp_path / "b", hub_world.login())
    try:
        a.put("first", "one")
        made = a.satchel("backup").json["backup"]
        a.start()
        b.start()
        for number in range(10):
            b.put(f"b{number}", "later than the backup")
        agree(a, b)
        a.store.close()
        done = a.satchel("restore", made, "--yes")
        assert done.code == 0, done.err
        a.store = Store.open(a.store.path, durability="process")
        b.put("after", "after the restore")
        soon(lambda: a.text("after") is not None and a.text("b0") is not None, "all is there")
        a.put("mine", "of the restored one")
        agree(a, b)
        assert b.text("mine") == "of the restored one"
        assert b.end() == 0
        assert a.end() == 0
        assert set(a.troubles()) <= {"store_unusable", "sync_busy"}
        assert a.satchel("sync").json["digest"] == "equal"
    finally:
        a.close()
        b.close()
