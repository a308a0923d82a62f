"""A hypothesis state machine over real files and a real Postgres: any history ends in one state.

What the simulation does to the model is done here to the endpoints that people use, at a hundredth
of its pace: `--hypothesis-profile=long` runs for long. A failing history is shrunk and printed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from fix_chaos import Ledger, Note, Tap, everything, noted, words
from fix_files import cloned, opened, put_back, saved
from fix_held import hub_holds, replica_holds, same
from fix_hub import HubWorld
from fix_hub_copies import Copy, taken
from fix_hub_copies import put_back as put_hub_back
from fix_machines import DAY_MS, Fleet, Machine
from fix_memory import NOON_MS, StillClock
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from satchel.memory import forget
from satchel.replica import DATABASE_FILE
from satchel.store import attempts, rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.succession import COPIED
from satchel_sync.changes import Standing
from satchel_sync.errors import HubUnreachable
from satchel_sync.phases.handshake import EVENTS
from satchel_sync.session import sync
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import MEMORY, TASK, Memory, Table, Task
from satchel_warehouse.endpoint import WarehouseHub

RESTORED, REWOUND, MOVED = (EVENTS[s] for s in Standing if s is not Standing.KNOWN)
MACHINES_MAX = 4
CALLS = (
    *("hello", "welcome", "outgoing", "push", "settle", "pull", "apply", "digest", "digests"),
    *("reconcile", "reconciled", "manifest", "requeue", "fetch", "bye", "record"),
    *("losers", "journal", "losers_sent"),
)
"""Where a sync is struck: at one of the first calls of such a name."""
FLIGHTS = (
    *(("outgoing", 4, True), ("push", 1, True), ("settle", 1, True), ("push", 2, True)),
    *(("pull", 1, True), ("apply", 1, True), ("digest", 4, True), ("digests", 1, True)),
)
"""When a change is most likely to be lost; memories are the fourth kind."""
CHANGES = ("write", "write", "write", "delete", "forget")
HUB_CALLS = 14
STATUSES = ("pending", "in_progress", "completed", "failed")
STILL = f"""
CREATE OR REPLACE FUNCTION satchel.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
SET search_path = satchel, pg_catalog, pg_temp
AS $$ SELECT {NOON_MS} + clock_correction_ms FROM satchel.hub $$
"""
"""The hub's clock, standing until it is moved, as those of the machines."""

which = st.integers(0, MACHINES_MAX - 1)
keys = st.sampled_from("vwxyz")
tasks = st.sampled_from("pq")
skews = st.sampled_from([1, -1, 20_000, -6 * 60_000, DAY_MS, -DAY_MS, 2 * 365 * DAY_MS])
hub_calls = st.integers(1, HUB_CALLS)
calls = st.tuples(st.sampled_from(CALLS), st.integers(1, 2), st.booleans())
"""(name, which call of that name, whether it was done)."""
When = tuple[str, int, bool]


class Crash(Exception):
    """The process died; nobody but the world catches this."""


class Wild(RuleBasedStateMachine):
    """Two machines at first, a hub, and what happens to them."""

    world: HubWorld
    psql: psycopg.Connection[Any]
    start: Copy
    blank: Path
    logins: dict[str, str]

    def __init__(self) -> None:
        super().__init__()
        put_hub_back(self.psql, self.start)
        self.fleet = Fleet(self.world, Path(tempfile.mkdtemp(dir=self.blank.parent)))
        self.ledger, self.number = Ledger(), count(1)
        self.backups: list[tuple[Machine, Path]] = []
        self.copies: list[Copy] = []
        self.hub_skew_ms = 0
        self.events: set[str] = set()

    @initialize()
    def two_machines_with_a_past(self) -> None:
        for name in "ab":
            self.new_machine(name)
        self.write(0, "x")
        for at in (0, 1):
            self.sync(at)
            self.backup(at)
        self.back_up_the_hub()

    # ---- users --------------------------------------------------------------------------------

    @rule(at=which, key=keys, change=st.sampled_from(CHANGES))
    def change(self, at: int, key: str, change: str) -> None:
        getattr(self, change)(at, key)

    def write(self, at: int, key: str) -> None:
        machine, text = self.at(at), f"{key} says {next(self.number)}."
        self.commit(machine, MEMORY, key, lambda db: put(db, key, text), text)

    def delete(self, at: int, key: str) -> None:
        self.commit(self.at(at), MEMORY, key, lambda db: rows.delete(db, MEMORY, key), None)

    def forget(self, at: int, key: str) -> None:
        machine = self.at(at)
        if machine.text(key) is not None:
            forget.forget(machine.replica, [key], confirm=True)
            self.ledger.acknowledged(Note("memory", key, SCRUBBED.hex(), ()))

    @rule(at=which, key=tasks, parent=tasks, status=st.sampled_from(STATUSES))
    def work(self, at: int, key: str, parent: str, status: str) -> None:
        columns = {"parent_id": parent, "status": status, "title": f"{next(self.number)}."}
        self.commit(self.at(at), TASK, key, lambda db: move(db, key, columns), None)

    # ---- syncs --------------------------------------------------------------------------------

    @rule(at=which)
    def sync(self, at: int) -> None:
        assert self.at(at).sync()["exit"] == 0

    @rule(at=which, call=hub_calls, answer_lost=st.booleans())
    def sync_that_is_cut(self, at: int, call: int, answer_lost: bool) -> None:
        machine = self.at(at)
        with suppress(HubUnreachable):
            machine.sync(machine.lossy(call, answer_lost=answer_lost))

    @rule(at=which, call=calls, key=keys)
    def sync_that_dies(self, at: int, call: When, key: str) -> None:
        self.write(at, key)
        machine = self.at(at)
        with suppress(Crash):
            self.struck(machine, call, die)
        left, machine.store = machine.store, opened(machine.store.path, machine.clock)
        machine.hub.close()
        left.close()  # not before: a last close would move the log into the file

    @rule(at=which, call=st.sampled_from(FLIGHTS), key=keys, change=st.sampled_from(CHANGES))
    def sync_with_a_change_in_flight(self, at: int, call: When, key: str, change: str) -> None:
        self.write(at, key)
        self.struck(self.at(at), call, lambda: getattr(self, change)(at, key))

    @rule(at=which, call=calls, other=which)
    def sync_while_another_syncs(self, at: int, call: When, other: int) -> None:
        if self.at(other) is not self.at(at):
            self.struck(self.at(at), call, lambda: self.sync(other))

    # ---- disks, clocks, administrators ----------------------------------------------------------

    @rule(at=which)
    def backup(self, at: int) -> None:
        self.backups.append((self.at(at), saved(self.at(at))))

    @rule(back=st.integers(0, 2), noticed=st.booleans())
    def restore(self, back: int, noticed: bool) -> None:
        machine, file = self.backups[-1 - back % len(self.backups)]
        put_back(machine, file, noticed=noticed)
        self.destroyed(RESTORED, *([COPIED] if noticed else []))

    @precondition(lambda self: len(self.fleet.machines) < MACHINES_MAX)
    @rule(at=which, noticed=st.booleans())
    def clone(self, at: int, noticed: bool) -> None:
        cloned(self.fleet, self.at(at), "abcd"[len(self.fleet.machines)], noticed=noticed)
        self.events.update([RESTORED, *([COPIED] if noticed else [])])

    @rule()
    def back_up_the_hub(self) -> None:
        self.copies.append(taken(self.psql))

    @rule(back=st.integers(0, 1))
    def rewind_the_hub(self, back: int) -> None:
        for machine in self.fleet.machines.values():
            machine.hub.close()
        put_hub_back(self.psql, self.copies[-1 - back % len(self.copies)])
        self.set_hub_clock()
        self.destroyed(REWOUND, MOVED)

    @rule(whose=st.none() | which, ms=skews)
    def a_clock_is_set(self, whose: int | None, ms: int) -> None:
        if whose is None:
            self.hub_skew_ms += ms
            self.set_hub_clock()
        else:
            self.at(whose).clock.at_ms += ms

    @rule(ms=st.sampled_from([1, 1000, 60_000, DAY_MS]))
    def time_passes(self, ms: int) -> None:
        for at in (None, *range(len(self.fleet.machines))):
            self.a_clock_is_set(at, ms)

    # ---- the end --------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.fleet.machines:
                self.fleet.quiet()
                self.check()
        finally:
            self.fleet.close()
            shutil.rmtree(self.fleet.folder)

    def check(self) -> None:
        """What must hold whatever happened."""
        machines, held = self.fleet.machines.values(), everything(self.fleet, self.psql)
        homes = [machine.store.home for machine in machines]
        assert same(hub_holds(self.world.dsn), *map(replica_holds, homes))
        assert self.ledger.outlived(held) == []
        if REWOUND not in self.events:  # a hub that is set back forgets its journal's latest part
            assert self.ledger.missing(held) == []
        forgotten = self.ledger.texts(self.ledger.forgotten())
        found = list(words(self.fleet, self.psql)) if forgotten else []
        assert [(text, where) for text in forgotten for where, said in found if text in said] == []
        for machine in machines:
            with machine.store.read() as db:
                reports = attempts.reports(db, limit=1000)
            assert {event for report in reports for event in report["identity"]} <= self.events
            assert [report["repaired"] for report in reports if report["repaired"]] == []

    # ---- below: how it is done ------------------------------------------------------------------

    def at(self, number: int) -> Machine:
        """A machine, counted around."""
        return list(self.fleet.machines.values())[number % len(self.fleet.machines)]

    def new_machine(self, name: str) -> None:
        """A machine with an empty file that has an id of its own."""
        path = self.fleet.folder / name / DATABASE_FILE
        path.parent.mkdir()
        shutil.copy(self.blank, path)
        db = apsw.Connection(str(path))
        db.execute("UPDATE control SET replica_id = randomblob(16)")
        db.close()
        clock, hub = StillClock(NOON_MS), WarehouseHub(self.logins[name])
        self.fleet.machines[name] = Machine(opened(path, clock), clock, hub)

    def commit(
        self,
        machine: Machine,
        table: Table,
        key: str,
        write: Callable[[apsw.Connection], object],
        text: str | None,
    ) -> None:
        """A write, noted once it is committed."""
        with machine.store.write() as db:
            if db.execute(f"SELECT 1 FROM {table.name} WHERE {table.key} = ? AND life = ?",
                          (key, SCRUBBED.life)).get:  # fmt: skip
                return
            note = noted(db, table, key, lambda: write(db), text)
        if note:
            self.ledger.acknowledged(note)

    def struck(self, machine: Machine, when: When, strike: Callable[[], None]) -> None:
        """A sync of which one call is struck, if it comes to that."""
        called: Counter[tuple[str, bool]] = Counter()

        def struck(_: int, name: str, done: bool) -> None:
            called[name, done] += 1
            if (name, called[name, done], done) == when:
                strike()

        replica: Any = Tap(SqliteReplica(machine.store), count(1), struck)
        hub: Any = Tap(machine.hub, count(1), struck)
        assert sync(replica, hub, machine.clock)["exit"] == 0

    def destroyed(self, *events: str) -> None:
        """Rows may be gone with a file or a hub; what nobody holds any more is not missed."""
        self.events.update(events)
        self.ledger.forgive(everything(self.fleet, self.psql))

    def set_hub_clock(self) -> None:
        """The hub's clock as it should be, also after a rewind."""
        self.psql.execute("UPDATE satchel.hub SET clock_correction_ms = %s", (self.hub_skew_ms,))


def die() -> None:
    """At a call of an endpoint."""
    raise Crash


def put(db: apsw.Connection, key: str, text: str) -> None:
    """Create, edit or restore a memory."""
    if not rows.update(db, MEMORY, key, content=text):
        rows.insert(db, Memory(id=key, type="note", content=text, scope="org"))


def move(db: apsw.Connection, key: str, columns: dict[str, str]) -> None:
    """Create a task, or move it and change its state."""
    if not rows.update(db, TASK, key, **columns):
        rows.insert(db, Task(id=key, scope="org", **columns))


@pytest.fixture
def wild(world: HubWorld, tmp_path: Path) -> type[Wild]:
    """The machine with a hub that it starts from and an empty file for each of its own."""
    psql = world.psql()
    psql.execute(STILL.encode())
    blank = tmp_path / "blank.db"
    Store.open(blank, durability="process", clock=StillClock()).close()
    db = apsw.Connection(str(blank))
    db.execute("DELETE FROM meta WHERE name = 'fingerprint'")
    db.close()
    logins = {name: world.login() for name in "ab"}
    given = {"world": world, "psql": psql, "start": taken(psql), "blank": blank, "logins": logins}
    return type("Wild", (Wild,), given)


@pytest.mark.timeout(0)
def test_any_history_of_real_machines_ends_in_one_state(wild: type[Wild]) -> None:
    run(
        wild,
        settings=settings(
            max_examples=settings.default.max_examples // 6,
            stateful_step_count=16,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
