"""One machine that is killed all the time: a writer, and syncs that die where a plan says.

Run as a program: `chaos_child.py HOME DSN NUMBER MACHINES KILLS`. It forks before any database is
opened, so a death costs a fork and no interpreter. Notes of writes go to HOME/*.notes, what became
of each sync to HOME/fates.jsonl, what the children had to say to HOME/errors.txt.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import apsw
from fix_chaos import Note, Tap, noted

from satchel.config import Settings
from satchel.memory import forget
from satchel.memory.visibility import Caller
from satchel.replica import DATABASE_FILE, Replica
from satchel.store import rows
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.errors import SyncError
from satchel_sync.session import sync
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import MEMORY, TASK, Memory, Table, Task
from satchel_warehouse.endpoint import WarehouseHub

CALLS = 75
"""A quiet sync makes about this many calls of its two endpoints."""
STATEMENTS = 420
"""And about this many statements in SQLite."""
SYNC_S = 0.35
"""About as long as a sync takes that connects anew."""
WHOLE_EVERY = 7
"""One sync in so many is left alone."""
PAUSE_S = 0.05
KEYS = 12
AWAY = 10
"""Exit code of a sync that did not reach the hub, or was cut off."""
BROKEN = 70
"""Exit code of a child that failed by an error that no sync may end with."""
STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Plan:
    """Where a sync dies: at a call of an endpoint, at a statement of SQLite, or after a time."""

    call: int = 0
    after: bool = False
    statement: int = 0
    delay_s: float = 0.0


def die() -> None:
    """As by kill -9: no handler runs, nothing is flushed."""
    os.kill(os.getpid(), signal.SIGKILL)


def watch(db: apsw.Connection, at: int, statements: Iterator[int]) -> None:
    """Die before statement number `at`, whichever connection it is on."""

    def began(_: dict[str, Any]) -> None:
        if next(statements) == at:
            die()

    db.trace_v2(apsw.SQLITE_TRACE_STMT, began)


def forked(work: Callable[[], int], errors: Path) -> int:
    """Do `work` in a process of its own; its exit code is what that returns."""
    child = os.fork()
    if child:
        return child
    code = BROKEN
    try:
        code = work()
    except BaseException:  # noqa: BLE001 - it is told, and the test fails for it
        with errors.open("a") as log:
            traceback.print_exc(file=log)
    finally:
        os._exit(code)


def synced(path: Path, dsn: str, plan: Plan) -> int:
    """One sync; the exit code of its report. The process may not live to see it."""
    calls, statements = count(1), count(1)
    if plan.statement:
        apsw.connection_hooks.append(lambda db: watch(db, plan.statement, statements))
    store = Store.open(path, durability="process")

    def strike(number: int, _: str, done: bool) -> None:
        if (number, done) == (plan.call, plan.after):
            die()

    replica = Tap(SqliteReplica(store), calls, strike)
    hub = Tap(WarehouseHub(dsn), calls, strike)
    try:
        report = sync(replica, hub, SYSTEM_CLOCK)
    except SyncError as error:
        return error.exit_code
    return int(report["exit"])


@dataclass
class Writer:
    """An agent that goes on writing; of each write it first notes what it is, then that it is."""

    store: Store
    log: int
    draw: Random
    name: str
    number: int = 0

    def run(self) -> None:
        """Write until killed."""
        while True:
            self.once()
            time.sleep(self.draw.uniform(0.5, 1.5) * PAUSE_S)

    def once(self) -> None:
        """One write of some kind."""
        self.number += 1
        key = f"m{self.draw.randrange(KEYS):02}"
        text = f"{self.name} says {self.number} of {key}"
        chance = self.draw.random()
        if chance < 0.01:
            self.forget(key)
        elif chance < 0.15:
            self.write(MEMORY, key, lambda db: rows.delete(db, MEMORY, key), None)
        elif chance < 0.6:
            self.write(MEMORY, key, lambda db: put(db, key, text), text)
        elif chance < 0.8:
            fresh = f"{self.name}-{self.number}"
            self.write(MEMORY, fresh, lambda db: put(db, fresh, text), text)
        else:
            key = f"t{self.draw.randrange(4)}"
            parent, status = f"t{self.draw.randrange(4)}", self.draw.choice(STATUSES)
            self.write(TASK, key, lambda db: work(db, key, text, status, parent), text)

    def write(
        self, table: Table, key: str, do: Callable[[apsw.Connection], object], text: str | None
    ) -> None:
        """One transaction, its note before and its acknowledgement after."""
        with self.store.write() as db:
            if not alive_or_new(db, table, key):
                return
            note = noted(db, table, key, lambda: do(db), text)
            if note:
                self.note("?", note)
        if note:
            self.note("!", note)

    def forget(self, key: str) -> None:
        """Forget a memory as the tool does."""
        settings = Settings(home=self.store.home)
        replica = Replica(self.store, settings, Caller(None, "una", "operator"))
        with self.store.read() as db:
            if rows.get(db, MEMORY, key) is None:
                return
        forget.forget(replica, [key], confirm=True)
        self.note("!", Note("memory", key, SCRUBBED.hex(), ()))

    def note(self, mark: str, note: Note) -> None:
        """A line on disk."""
        os.write(self.log, f"{mark}{note.line()}\n".encode())
        os.fsync(self.log)


def alive_or_new(db: apsw.Connection, table: Table, key: str) -> bool:
    """Whether a row may be written: a forgotten one may not."""
    found = db.execute(f"SELECT life FROM {table.name} WHERE {table.key} = ?", (key,)).get
    return found != SCRUBBED.life


def put(db: apsw.Connection, key: str, text: str) -> None:
    """Create, edit or restore a memory."""
    if not rows.update(db, MEMORY, key, content=text) and rows.get(db, MEMORY, key) is None:
        rows.insert(db, Memory(id=key, type="note", content=text, scope="org"))


def work(db: apsw.Connection, key: str, text: str, status: str, parent: str) -> None:
    """Create a task, or move it and change its state."""
    if rows.get(db, TASK, key) is None:
        rows.insert(db, Task(id=key, title=text, status=status, parent_id=parent, scope="org"))
    else:
        rows.update(db, TASK, key, title=text, status=status, parent_id=parent)


@dataclass
class Machine:
    """The parent: it opens nothing itself."""

    home: Path
    dsn: str
    number: int
    machines: int
    draw: Random
    writers: int = 0
    swept: int = 0

    @property
    def path(self) -> Path:
        return self.home / DATABASE_FILE

    def live(self, kills: int) -> None:
        """Syncs until so many were killed, one after the other, under a writer."""
        writer, dead = self.new_writer(), 0
        with (self.home / "fates.jsonl").open("a", buffering=1) as fates:
            for number in range(10 * kills):
                plan = self.plan(number)
                child = forked(lambda p=plan: synced(self.path, self.dsn, p), self.errors)
                status = self.ended(child, plan)
                dead += os.WIFSIGNALED(status)
                code = None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
                fates.write(json.dumps({**asdict(plan), "exit": code}) + "\n")
                if dead >= kills:
                    break
                if code == AWAY:
                    time.sleep(0.2)
                if number % 10 == 9:
                    killed(writer)
                    writer = self.new_writer()
        killed(writer)

    def plan(self, number: int) -> Plan:
        """The next death: the calls in turn, statements and moments by chance."""
        match number % 3 if (number + 1) % WHOLE_EVERY else None:
            case 0:
                self.swept += 1
                call = (self.machines * self.swept + self.number) % CALLS + 1
                return Plan(call=call, after=self.draw.random() < 0.5)
            case 1:
                return Plan(statement=self.draw.randint(1, STATEMENTS))
            case 2:
                return Plan(delay_s=self.draw.uniform(0.01, SYNC_S))
        return Plan()

    def ended(self, child: int, plan: Plan) -> int:
        """The wait status of a child, killed in its time if the plan has one."""
        deadline = time.monotonic() + plan.delay_s
        while plan.delay_s and time.monotonic() < deadline:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return status
            time.sleep(0.002)
        if plan.delay_s:
            os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]

    def new_writer(self) -> int:
        """Start the next writer; every one has notes of its own."""
        self.writers += 1
        name, seed = f"{self.home.name}{self.writers}", self.draw.random()

        def write() -> int:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            log = os.open(self.home / f"{name}.notes", flags, 0o600)
            Writer(Store.open(self.path, durability="process"), log, Random(seed), name).run()
            return 0

        return forked(write, self.errors)

    @property
    def errors(self) -> Path:
        return self.home / "errors.txt"


def killed(child: int) -> None:
    """Kill a child wherever it is."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    home, dsn, number, machines, kills = sys.argv[1:]
    Machine(Path(home), dsn, int(number), int(machines), Random(int(number))).live(int(kills))
