"""Attacks on the audit: lost answers, kills, lost and forged chains, lies, with real files and hub.

Every machine is audited as the product does it; in the end the hub holds what the machines hold,
record by record, or tells where it does not.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread

import apsw
import pytest
from attacks.chaos_child import forked
from fix_audited import Audience, Audited, gathered
from fix_chaos import Tap
from fix_hub import HubWorld
from fix_lossy import LossyHub
from fix_machines import DAY_MS

from satchel.protection import key_store
from satchel_crypto.audit_record import CHAINS
from satchel_sync import limits
from satchel_sync.errors import HubUnreachable
from satchel_sync.session import sync


@pytest.fixture
def audience(hub_world: HubWorld, tmp_path: Path) -> Iterator[Audience]:
    """A hub whose audited machines are made when they are named."""
    with gathered(hub_world, tmp_path) as made:
        yield made


def test_three_machines_bring_their_chains_and_every_record_is_there_once(
    audience: Audience,
) -> None:
    for turn in range(3):
        for name in ("a", "b", "c"):
            machine = audience.machine(name)
            machine.work(turn)
            machine.sync()
    audience.require_whole()
    for machine in audience.machines.values():
        actions = [body for _, body, _ in machine.held()["writes"]]
        assert sum('"action":"created"' in one for one in actions) >= 1
        assert len(machine.held()["reads"]) >= 4


def test_an_empty_sync_makes_no_work_for_the_next_one(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    machine.sync()
    before = machine.held()
    for _ in range(3):
        report = machine.sync()
        assert (report["noop"], report["audit"]["sent"]) == (True, 0)
    assert machine.held() == before


@pytest.mark.parametrize("answer_lost", [False, True])
def test_requests_and_answers_lost_at_any_call_leave_one_chain(
    audience: Audience, answer_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "AUDIT_ROWS_MAX", 3)
    machine = audience.machine("a")
    for call in count(1):
        for number in range(4):
            machine.work(call * 10 + number)
        line = LossyHub(machine.hub, call, answer_lost)
        with suppress(HubUnreachable):
            machine.sync(line)
            if line.calls < call:
                break  # no call was left to lose
    assert call > 8
    audience.require_whole()


def test_kill_9_at_any_call_of_the_end_leaves_one_chain(audience: Audience) -> None:
    """Between the upload, the answer, the mark and the report, before and after each."""
    machine = audience.machine("a")
    machine.work(0)
    calls = count(1)
    names: list[str] = []
    line = Tap(machine.endpoint(), calls, lambda number, name, done: names.append(name))
    hub = Tap(machine.hub, calls, lambda number, name, done: names.append(name))
    sync(line, hub, machine.clock)
    home, dsn = machine.store.home, machine.hub._dsn
    machine.close()
    first = names.index("audit_waiting") // 2 + 1
    for number in range(first, len(names) // 2 + 1):
        for done in (False, True):
            alive = forked(lambda n=number, d=done: _dying(home, str(dsn), n, d), home / "errors")
            _, status = os.waitpid(alive, 0)
            assert os.WIFSIGNALED(status), (home / "errors").read_text()
    audience.machines["a"] = Audited.at(home, str(dsn))
    audience.require_whole()


def _dying(home: Path, dsn: str, at: int, after: bool) -> int:
    machine = Audited.at(home, dsn)
    machine.work(at * 2 + after)
    calls = count(1)

    def strike(number: int, _: str, done: bool) -> None:
        if (number, done) == (at, after):
            os.kill(os.getpid(), 9)

    hub = Tap(machine.hub, calls, strike)
    sync(Tap(machine.endpoint(), calls, strike), hub, machine.clock)
    return 0


def test_readers_and_writers_go_on_while_it_is_sent(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.put("m", "text")

    def read() -> None:
        mine = Audited.at(machine.store.home, str(machine.hub._dsn))
        for number in range(25):
            mine.work(number)
        mine.close()

    threads = [Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert machine.sync()["audit"]["refused"] == {}
    audience.require_whole()
    assert len(machine.held()["reads"]) == 1 + 75


# ---- a file that was set back, lost, forged ----------------------------------------------------


def test_a_restored_file_begins_new_chains_that_name_the_old_ones(
    audience: Audience, tmp_path: Path
) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    machine.close()
    shutil.copytree(machine.store.home, tmp_path / "backup")
    machine = audience.machines["a"] = Audited.at(machine.store.home, str(machine.hub._dsn))
    machine.work(2)
    machine.sync()
    old = machine.store.replica_id
    machine.close()
    shutil.rmtree(machine.store.home)
    shutil.copytree(tmp_path / "backup", machine.store.home)
    machine = audience.machines["a"] = Audited.at(machine.store.home, str(machine.hub._dsn))
    machine.work(3)
    audience.require_whole()
    assert machine.store.replica_id != old
    (writes,) = [
        one for one in audience.looked()
        if one.name.chain == "writes" and one.name.replica_id != old.hex()
    ]  # fmt: skip
    assert f"of {old.hex()}" in writes.notes[0]


def test_a_lost_activity_db_is_told_once_and_kept_as_evidence(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    for file in machine.store.home.glob("activity.db*"):
        file.unlink()
    machine.work(2)
    report = machine.sync()
    assert (report["exit"], set(report["audit"]["refused"])) == (1, {"reads"})
    assert "audit chain" in report["identity"][-1]
    machine.work(3)
    assert machine.sync()["exit"] == 0
    assert audience.faults() == [("reads", "refused")]
    assert audience.holds(machine) != {}


def test_a_chain_of_writes_that_was_rewritten_is_refused_and_the_rows_still_travel(
    audience: Audience,
) -> None:
    """As by somebody who has the machine, its audit key included: the hub has seen another past."""
    machine, other = audience.machine("a"), audience.machine("b")
    for number in range(4):
        machine.work(number)
    machine.sync()
    with machine.store.write() as db:
        db.execute("DELETE FROM audit")
        db.execute("DELETE FROM audit_head")
    machine.put("m9", "after the deed")
    report = machine.sync()
    assert set(report["audit"]["refused"]) == {"writes"}
    other.sync()
    assert other.text("m9") == "after the deed"
    assert audience.faults() == [("writes", "refused")]
    machine.work(10)
    assert machine.sync()["exit"] == 0


def test_a_byte_changed_in_the_file_before_it_was_sent_is_refused_where_it_is(
    audience: Audience,
) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    for number in range(2, 6):
        machine.work(number)
    db = apsw.Connection(str(machine.store.path))
    ((seq,),) = db.execute("SELECT max(seq) - 1 FROM audit").fetchall()
    db.execute("UPDATE audit SET body = replace(body, 'created', 'deleted') WHERE seq = ?", (seq,))
    db.close()
    report = machine.sync()
    assert f"link of record {seq}" in report["audit"]["refused"]["writes"]
    assert [one[0] for one in audience.holds(machine)["writes"]] == []
    assert ("writes", "refused") in audience.faults()


def test_a_hub_that_was_set_back_gets_the_chains_again(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    audience.world.backup()
    machine.hub.close()
    for number in range(2, 5):
        machine.work(number)
        machine.sync()
    machine.hub.close()
    audience.world.rewind()
    audience.require_whole()


def test_what_was_pruned_here_stays_there(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    machine.clock.at_ms += 100 * DAY_MS
    audience.world.psql().execute(
        "UPDATE satchel.hub SET clock_correction_ms = %s", (100 * DAY_MS,)
    )
    for number in range(2, 4):
        machine.work(number)
        machine.sync()
    held, holds = machine.held(), audience.holds(machine)
    for name in CHAINS:
        assert held[name][0][0] > 1, "the machine keeps 90 days"
        assert [one[0] for one in holds[name]] == list(range(1, len(holds[name]) + 1))
    assert audience.faults() == []


def test_what_was_pruned_before_it_came_is_a_hole_that_the_chain_tells_of(
    audience: Audience,
) -> None:
    machine = audience.machine("a")
    for number in range(3):
        machine.work(number)
    machine.clock.at_ms += 400 * DAY_MS
    audience.world.psql().execute(
        "UPDATE satchel.hub SET clock_correction_ms = %s", (400 * DAY_MS,)
    )
    machine.work(9)
    report = machine.sync()
    assert report["audit"]["refused"] == {}
    (writes, reads) = audience.looked()
    assert writes.holes[0][0] == 1
    assert (writes.faults, reads.faults) == ([], [])


# ---- the keys ------------------------------------------------------------------------------------


def test_another_signing_key_is_told_once_and_pinned_to_a_new_id_only(audience: Audience) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    for key in (machine.store.home / "keys").glob("sign.*"):
        key.unlink()
    machine.work(2)
    report = machine.sync()
    assert "another key" in report["audit"]["refused"]["writes"]
    assert report["exit"] == 1
    machine.work(3)
    assert machine.sync()["exit"] == 0
    assert {fault for _, fault in audience.faults()} == {"refused"}


def test_keys_that_were_rotated_leave_the_chain_to_the_key_that_began_it(
    audience: Audience,
) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    id_before = machine.store.replica_id
    for number in (2, 3):
        key_store(machine.settings).rotate()
        machine.work(number)
        report = machine.sync()
        assert (report["exit"], report["audit"]["refused"]) == (0, {})
    assert machine.store.replica_id == id_before
    audience.require_whole()


def test_a_key_that_others_may_read_signs_nothing_and_the_report_says_so(
    audience: Audience,
) -> None:
    machine = audience.machine("a")
    machine.work(1)
    machine.sync()
    (key,) = (machine.store.home / "keys").glob("sign.*")
    key.chmod(0o644)
    machine.work(2)
    for _ in range(2):
        report = machine.sync()
        assert str(key) in report["audit"]["refused"]["writes"]
        assert report["identity"] == []
    key.chmod(0o600)
    audience.require_whole()
