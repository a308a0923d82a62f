"""Attacks 4, 5, 13 and 18: files that are restored or cloned, and answers that are lost."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from fix_files import cloned, put_back, saved
from fix_hub import fresh_hub
from fix_machines import Fleet, Machine

from satchel.store import attempts, fingerprint, rows, succession
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.succession import COPIED
from satchel_sync.changes import Standing
from satchel_sync.errors import HubUnreachable, NeedsReconcile
from satchel_sync.phases.handshake import EVENTS
from satchel_sync.session import sync
from satchel_sync.tables import MEMORY, Memory

NOTICED = pytest.mark.parametrize("noticed", [True, False], ids=["noticed", "unnoticed"])
RESTORED = EVENTS[Standing.RESTORED]


def ids(machine: Machine) -> tuple[bytes, tuple[bytes, ...]]:
    """The id of a machine's file and those before it."""
    with machine.store.read() as db:
        return machine.store.replica_id, succession.predecessors(db)


@NOTICED
def test_4_a_restored_file_sends_what_is_new_and_regains_its_own_later_rows(
    fleet: Fleet, noticed: bool
) -> None:
    a, b = fleet.pair()
    a.put("old", "one")
    fleet.quiet()
    before, _ = ids(a)
    backup = saved(a)
    a.put("old", "two")
    a.put("later", "written after the backup")
    a.put("deleted", "x")
    a.sync()
    a.delete(MEMORY, "deleted")
    a.sync()
    put_back(a, backup, noticed=noticed)
    assert (a.text("old"), a.text("later")) == ("one", None)
    a.put("new", "written after the restore")
    report = a.sync()
    assert report["exit"] == 0
    assert report["identity"] == [COPIED if noticed else RESTORED]
    fleet.quiet()
    for machine in (a, b):
        assert machine.text("old") == "two"
        assert machine.text("later") == "written after the backup"
        assert machine.text("new") == "written after the restore"
        assert machine.text("deleted") is None
    assert ids(a)[1] == (before,)
    assert fleet.journal() == []


@NOTICED
def test_4_a_restored_file_whose_old_row_was_edited_again_keeps_the_loser(
    fleet: Fleet, noticed: bool
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    backup = saved(a)
    a.put("x", "two")
    a.sync()
    put_back(a, backup, noticed=noticed)
    a.clock.at_ms += 1000
    a.put("x", "three, which has not seen two")
    fleet.quiet()
    assert a.text("x") == b.text("x") == "three, which has not seen two"
    assert fleet.journal() == [("memory", "x")]


def test_4_a_file_restored_again_and_again_keeps_all_its_predecessors(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "0")
    fleet.quiet()
    backup = saved(a)
    for number in range(1, 4):
        a.put(f"x-{number}", f"{number}")
        a.sync()
        put_back(a, backup, noticed=False)
        assert a.sync()["identity"] == [RESTORED]
        backup = saved(a)
        a.put("x", f"{number}")
        a.sync()
    fleet.quiet()
    assert len(ids(a)[1]) == 3
    assert [b.text(f"x-{number}") for number in range(1, 4)] == ["1", "2", "3"]


@NOTICED
@pytest.mark.parametrize("answer_lost", [True, False])
def test_5_clones_that_write_one_row_at_one_moment_are_two(
    fleet: Fleet, noticed: bool, answer_lost: bool
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("y", "in flight when it is cloned")
    with suppress(HubUnreachable):
        a.sync(a.lossy(2, answer_lost=answer_lost))
    c = cloned(fleet, a, "c", noticed=noticed)
    a.put("x", "by the one")
    c.put("x", "by the other")
    stamps = [machine.versions()["memory"]["x"] for machine in (a, c)]
    assert stamps[0].hlc == stamps[1].hlc
    assert (stamps[0].origin == stamps[1].origin) is not noticed
    for machine in (a, c, a, b):
        assert machine.sync()["exit"] == 0
    fleet.quiet()
    assert len({ids(machine)[0] for machine in (a, b, c)}) == 3
    winner = "by the one" if stamps[0] > stamps[1] else "by the other"
    assert {machine.text("x") for machine in (a, b, c)} == {winner}
    assert {machine.text("y") for machine in (a, b, c)} == {"in flight when it is cloned"}
    assert fleet.journal() == [("memory", "x")]


@NOTICED
def test_13_an_unsent_edit_of_a_clone_arrives(fleet: Fleet, noticed: bool) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("unsent", "stamped with the old id")
    c = cloned(fleet, a, "c", noticed=noticed)
    a.delete(MEMORY, "unsent")
    c.put("x", "only here")
    a.sync()
    a.put("more", "so that the two chains differ")
    a.sync()
    report = c.sync()
    assert report["exit"] == 0
    fleet.quiet()
    assert b.text("x") == a.text("x") == "only here"
    assert b.text("more") == c.text("more") == "so that the two chains differ"
    assert fleet.world.psql().execute("SELECT count(*) FROM satchel.relayed").fetchall() == [
        (0,)
    ], "a predecessor's origin is no stranger's"


def test_18_a_hello_whose_answer_is_lost_three_times_is_one_attempt(fleet: Fleet) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("x", "two")
    replica_id, _ = ids(a)
    for _ in range(3):
        with pytest.raises(HubUnreachable):
            a.sync(a.lossy(1, answer_lost=True))
    report = a.sync()
    assert (report["exit"], report["identity"]) == (0, [])
    fleet.quiet()
    assert (ids(a), b.text("x")) == ((replica_id, ()), "two")
    for machine in (a, b):
        with machine.store.read() as db:
            assert all(one["identity"] == [] for one in attempts.reports(db))


@pytest.mark.parametrize("answer_lost", [True, False])
def test_18_no_call_that_is_lost_makes_an_identity_event(fleet: Fleet, answer_lost: bool) -> None:
    """Every call in turn, hello included: a retry is never taken for a restore or a rewind."""
    a, b = fleet.pair()
    lost = 0
    for number in range(1, 40):
        a.put(f"a-{number}", "x")
        b.put(f"b-{number}", "x")
        b.sync()
        lossy = a.lossy(number, answer_lost=answer_lost)
        with suppress(HubUnreachable):
            a.sync(lossy)
        if lossy.calls < number:
            break
        lost += 1
        assert a.sync()["identity"] == []
    assert lost > 5
    fleet.quiet()
    assert fleet.journal() == []


def test_a_file_of_another_hub_is_refused_unless_it_is_adopted(
    fleet: Fleet, tmp_path: Path, cluster: str
) -> None:
    a, _ = fleet.pair()
    a.put("x", "of the first hub")
    a.sync()
    with fresh_hub(cluster) as other:
        elsewhere = Fleet(other, tmp_path / "elsewhere")
        c = elsewhere.machine("c")
        c.put("y", "of the second hub")
        c.sync()
        before = what_is_known(a)
        with pytest.raises(NeedsReconcile):
            a.sync(c.hub)
        assert what_is_known(a) == before, "nothing happened"
        assert a.sync()["identity"] == [], "the first hub knows it still"
        report = sync(SqliteReplica(a.store, adopt=True), c.hub, a.clock)
        assert (report["exit"], report["reconcile_due"]) == (0, None)
        c.sync()
        assert (a.text("y"), c.text("x")) == ("of the second hub", "of the first hub")
        assert a.sync(c.hub)["noop"]
        with pytest.raises(NeedsReconcile):
            a.sync()
        elsewhere.close()


def what_is_known(machine: Machine) -> list[tuple[str, object]]:
    """What a file knows of its hub and itself; an attempt that was not answered is none."""
    names = ("hub_id", "epoch", "last_attempt", "token", "due", "predecessors")
    marks = ", ".join("?" * len(names))
    return machine.sql(f"SELECT name, value FROM meta WHERE name IN ({marks})", *names)


def test_a_file_with_rows_of_others_and_no_hub_is_refused_unless_it_is_adopted(
    fleet: Fleet,
) -> None:
    """As where somebody emptied `meta`, or put rows into a file by another way than a sync."""
    a, b = fleet.pair()
    b.put("y", "by b")
    b.sync()
    a.put("x", "by a")
    a.sync()
    with a.store.write() as db:
        db.execute("DELETE FROM meta WHERE name NOT IN ('triggers', 'fingerprint')")
        db.execute("DELETE FROM cursor")
        db.execute("DELETE FROM sync_base")
    with pytest.raises(NeedsReconcile, match="other machines wrote") as refused:
        a.sync()
    assert "--adopt" in refused.value.hint
    assert sync(SqliteReplica(a.store, adopt=True), a.hub, a.clock)["exit"] == 0
    fleet.quiet()
    assert (a.text("y"), b.text("x")) == ("by b", "by a")
    assert fleet.journal() == []


def test_a_file_used_from_a_host_and_a_container_in_turn_takes_an_id_in_each_once(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    a.sync()
    for number in range(6):
        reopened(a, monkeypatch, "host" if number % 2 else "container")
        a.put("x", f"from {number}")
        assert a.sync()["exit"] == 0
    assert len(ids(a)[1]) == 2, "one for each other place, however often it changes"
    b.sync()
    assert b.text("x") == "from 5"


def test_what_is_written_under_a_new_id_in_mid_sync_is_sent_with_the_next(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt that runs does not know the new id, so the hub refuses its rows, once."""
    a, b = fleet.pair()
    a.put("x", "one")
    lossy = a.lossy(0, answer_lost=False)

    def meanwhile(call: int) -> None:
        if call == 2:
            monkeypatch.setattr(fingerprint, "machine_id", lambda: "container")
            with Store.open(a.store.path, clock=a.clock) as other, other.write() as db:
                rows.insert(db, Memory(id="late", content="in the middle", scope="org"))

    lossy.meanwhile = meanwhile
    a.sync(lossy)
    assert a.sync()["exit"] == 0
    b.sync()
    assert b.text("late") == "in the middle"


def reopened(machine: Machine, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The same file, opened from another place."""
    monkeypatch.setattr(fingerprint, "machine_id", lambda: place)
    machine.store.close()
    machine.store = Store.open(machine.store.path, durability="process", clock=machine.clock)
