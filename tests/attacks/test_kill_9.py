"""A loop of kills -9 of syncing processes under writers, of writers, and of the hub's sessions.

Each machine is a process of its own (`chaos_child.py`). Afterwards nothing may be missing that was
acknowledged, nobody may think that a file was restored or the hub set back, and no digest check may
ever have found anything to repair.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_chaos import Ledger, Note, everything, words
from fix_held import hub_holds, replica_holds, same
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_memory import StillClock
from psycopg import conninfo

from satchel.replica import DATABASE_FILE
from satchel.store import attempts, succession
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel_warehouse.endpoint import WarehouseHub

NAMES = ("a", "b", "c")
KILLS_EACH = 70
CUTS_MAX = 10
MAY_END = {None, 0, 10}
"""Killed, clean, or the hub was away for a moment."""
WAIT_S = 5
"""For a push while its tenant is held; a login gives up after 10 s."""
BUSY = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = ANY (%s)"


@pytest.mark.timeout(300)
def test_200_kills_at_any_moment_lose_nothing_and_raise_no_alarm(
    hub_world: HubWorld, tmp_path: Path
) -> None:
    with living(hub_world, tmp_path) as children:
        cut = hub_deaths(hub_world, children)
    fates = [fate for name in NAMES for fate in lines(tmp_path / name / "fates.jsonl")]
    assert {fate["exit"] for fate in fates} <= MAY_END, errors(tmp_path)
    assert errors(tmp_path) == ""
    ways = Counter(way(fate) for fate in fates if fate["exit"] is None)
    assert sum(ways.values()) >= 200, ways
    assert min(ways["call"], ways["statement"], ways["moment"]) >= 30, ways
    assert cut["push"] >= 3, cut
    assert cut["crash"] == 1, cut
    fleet = reopened(hub_world, tmp_path)
    try:
        fleet.quiet()
        check_all_is_there(fleet)
        check_no_alarm_was_raised(fleet)
        check_files_are_whole(fleet)
    finally:
        fleet.close()


def check_all_is_there(fleet: Fleet) -> None:
    """Every acknowledged write won, was built on, or is in a journal; what is forgotten is gone."""
    psql = fleet.world.psql()
    ledger, held = notes(fleet.folder), everything(fleet, psql)
    assert len(ledger.owed) > 200, "the writers hardly wrote"
    assert ledger.missing(held) == []
    rows = {item.place: item.version for item in held if not item.journal}
    assert [note for note in ledger.owed.values() if rows[note.place] < note.version] == []
    homes = [machine.store.home for machine in fleet.machines.values()]
    assert same(hub_holds(fleet.world.dsn), *map(replica_holds, homes))
    gone = ledger.texts(ledger.forgotten())
    assert gone, "nothing was forgotten"
    found = list(words(fleet, psql))
    assert [(text, where) for text in gone for where, said in found if text in said] == []


def check_no_alarm_was_raised(fleet: Fleet) -> None:
    """No new ids, no new epoch, no reconcile, and nothing was ever found by a digest check."""
    psql = fleet.world.psql()
    mine = {machine.store.replica_id for machine in fleet.machines.values()}
    known = psql.execute("SELECT replica_id FROM satchel.replica WHERE host <> 'host-0'").fetchall()
    assert {bytes(replica_id) for (replica_id,) in known} == mine
    standings = psql.execute("SELECT DISTINCT standing FROM satchel.attempt").fetchall()
    assert standings == [("known",)]
    for machine in fleet.machines.values():
        with machine.store.read() as db:
            assert succession.predecessors(db) == ()
            reports = attempts.reports(db, limit=10_000)
        alarms = [(r["repaired"], r["identity"], r["reconcile_due"]) for r in reports]
        assert [alarm for alarm in alarms if alarm != ({}, [], None)] == []


def check_files_are_whole(fleet: Fleet) -> None:
    """No page of a file is broken, no index says what its rows do not, no row is kept back."""
    for machine in fleet.machines.values():
        assert machine.sql("PRAGMA integrity_check") == [("ok",)]
        assert machine.sql("SELECT kind, key FROM quarantine") == []
        assert machine.sql("SELECT kind, key FROM outbox") == []
        with machine.store.write() as db:
            db.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES('integrity-check', 1)")


# ---- below: the machines, the deaths of the hub's sessions, what is read afterwards -------------


@contextmanager
def living(world: HubWorld, folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The machines as processes; the body ends when they do."""
    program = Path(__file__).with_name("chaos_child.py")
    paths = os.pathsep.join(path for path in sys.path if path)
    children = []
    for number, name in enumerate(NAMES):
        home = folder / name
        home.mkdir()
        (home / "errors.txt").touch()
        given = (home, world.login(), number, len(NAMES), KILLS_EACH)
        children.append(
            subprocess.Popen(
                [sys.executable, program, *map(str, given)],
                env={**os.environ, "PYTHONPATH": paths},
                start_new_session=True,
            )
        )
    try:
        yield children
        assert [child.wait(120) for child in children] == [0] * len(NAMES)
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # the parent and its writer
            child.wait()


def hub_deaths(world: HubWorld, children: list[subprocess.Popen[bytes]]) -> Counter[str]:
    """While the machines live: end sessions in mid-push, and once the whole server by a crash."""
    done: Counter[str] = Counter()
    while any(child.poll() is None for child in children):
        try:
            with psycopg.connect(world.dsn, autocommit=True) as db:
                if done["push"] == 3 and not done["crash"]:
                    done["crash"] += crash(db, world.logins)
                elif done["push"] < CUTS_MAX:
                    done["push"] += cut_a_push(db, world.logins)
        except psycopg.OperationalError:
            done["away"] += 1  # it comes back by itself
        time.sleep(0.6)
    return done


def cut_a_push(db: psycopg.Connection[Any], logins: list[str]) -> int:
    """Hold the tenant until a push waits for it, then end the session of that push."""
    with db.transaction():
        db.execute("SELECT satchel.lock_tenant('default')")
        if found := waiting(db, logins):
            db.execute("SELECT pg_terminate_backend(%s)", (found,))
    return int(bool(found))


def crash(db: psycopg.Connection[Any], logins: list[str]) -> int:
    """Kill -9 a session in mid-push: the server ends all others and recovers from its log."""
    with db.transaction():
        db.execute("SELECT satchel.lock_tenant('default')")
        if found := waiting(db, logins):
            os.kill(found, signal.SIGKILL)
    return int(bool(found))


def waiting(db: psycopg.Connection[Any], logins: list[str]) -> int | None:
    """The process of a session that waits for the tenant's lock; None where none comes."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if found := db.execute(BUSY, (logins,)).fetchone():
            return int(found[0])
        time.sleep(0.01)
    return None


def reopened(world: HubWorld, folder: Path) -> Fleet:
    """The machines in this process, for the quiet end."""
    fleet = Fleet(world, folder)
    for name, login in zip(NAMES, world.logins[-len(NAMES) :], strict=True):
        clock = StillClock(SYSTEM_CLOCK.now_ms())
        store = Store.open(folder / name / DATABASE_FILE, durability="process", clock=clock)
        hub = WarehouseHub(conninfo.make_conninfo(world.dsn, user=login))
        fleet.machines[name] = Machine(store, clock, hub)
    return fleet


def notes(folder: Path) -> Ledger:
    """All that writers noted, of every life they had; a torn last line was not acknowledged."""
    ledger = Ledger()
    for path in sorted(folder.glob("*/*.notes")):
        for line in path.read_text("utf-8").split("\n")[:-1]:
            take = ledger.acknowledged if line[0] == "!" else ledger.tried
            take(Note.parse(line[1:]))
    return ledger


def lines(path: Path) -> list[dict[str, Any]]:
    """The JSON of each line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def way(fate: dict[str, Any]) -> str:
    """How a sync was to die."""
    return "call" if fate["call"] else "statement" if fate["statement"] else "moment"


def errors(folder: Path) -> str:
    """What children could not cope with."""
    return "".join((folder / name / "errors.txt").read_text("utf-8") for name in NAMES)
