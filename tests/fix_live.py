"""A machine whose `satchel sync --every 1s` runs in a process of its own, beside who writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from fix_command import COMMAND, Run, environment, run
from fix_schedule import configure

from satchel.replica import DATABASE_FILE
from satchel.store import outbox, rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.digest import BUCKETS
from satchel_sync.live import ALL_SEQS
from satchel_sync.stamp import Stamp
from satchel_sync.tables import MEMORY, TABLES, Memory

EVERY = "1s"
SOON_S = 60.0
"""Far longer than any of it takes on a machine that is not overloaded."""
STEP_S = 0.02


class Touching:
    """A home, who writes into it, and a process that keeps it in touch with the warehouse."""

    def __init__(self, home: Path, dsn: str) -> None:
        """The home is made; nothing runs yet."""
        home.mkdir()
        configure(home, dsn)
        self.home = home
        self.store = Store.open(home / DATABASE_FILE, durability="process")
        self._out, self._err = home / "out", home / "err"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; its lines are added to those of earlier ones."""
        with self._out.open("ab") as out, self._err.open("ab") as err:
            self.process = subprocess.Popen(
                [*COMMAND, "--home", str(self.home), "sync", "--every", EVERY],
                stdout=out,
                stderr=err,
                env=environment(HOME=str(self.home)),
            )

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code, self.process = self.process.wait(60), None
        return code

    def reports(self) -> list[dict[str, Any]]:
        """What it said of the attempts that ended."""
        return [json.loads(line) for line in self._out.read_text("utf-8").splitlines()]

    def troubles(self) -> list[str]:
        """Codes of what it said on stderr."""
        lines = self._err.read_text("utf-8").splitlines()
        return [json.loads(line)["error"]["code"] for line in lines]

    def satchel(self, *words: str) -> Run:
        """A command on the same home, to its end."""
        return run("--home", str(self.home), *words, HOME=str(self.home))

    def put(self, key: str, text: str) -> None:
        """Write a memory's text: create or edit."""
        with self.store.write() as db:
            if rows.get(db, MEMORY, key) is None:
                rows.insert(db, Memory(id=key, type="note", content=text, scope="org"))
            else:
                rows.update(db, MEMORY, key, content=text)

    def text(self, key: str) -> str | None:
        """The text of a memory, None if it is not here."""
        with self.store.read() as db:
            found = rows.get(db, MEMORY, key)
            return found and found.content

    def versions(self) -> dict[str, dict[str, Stamp]]:
        """Kind -> key -> version of all that should be at the hub."""
        replica = SqliteReplica(self.store)
        return {table.name: dict(replica.manifest(table, range(BUCKETS))) for table in TABLES}

    def newest(self) -> tuple[object, ...]:
        """How many memories there are, and the latest stamp of them."""
        with self.store.read() as db:
            return tuple(db.execute("SELECT count(*), max(hlc) FROM memory").fetchall())

    def unsent(self) -> int:
        """How many rows wait."""
        with self.store.read() as db:
            return sum(outbox.waiting(db, ALL_SEQS).values())

    def close(self) -> None:
        """End what runs, and close the store."""
        if self.process is not None:
            self.end(signal.SIGKILL)
        self.store.close()


@contextmanager
def silent(dsn: str) -> Iterator[None]:
    """The sessions of others in that database answer nothing meanwhile: their connections stay."""
    with psycopg.connect(dsn) as db:
        query = """SELECT pid FROM pg_stat_activity
            WHERE datname = current_database() AND backend_type = 'client backend'
            AND pid <> pg_backend_pid()"""
        backends = [int(row[0]) for row in db.execute(query)]
    assert backends
    try:
        for pid in backends:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in backends:
            os.kill(pid, signal.SIGCONT)


def soon(true: Callable[[], bool], what: str) -> float:
    """Wait until it is true; the seconds that took. Raises AssertionError with `what`."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < SOON_S, f"not within {SOON_S:.0f} s: {what}"
        time.sleep(STEP_S)
    return time.monotonic() - began


def agree(*machines: Touching) -> float:
    """Wait until all hold the same versions and nothing waits; the seconds that took."""

    def equal() -> bool:
        # A manifest takes the file's lock, so it is asked for only where it may well be the same.
        if any(one.unsent() for one in machines) or len({one.newest() for one in machines}) > 1:
            return False
        first, *others = [one.versions() for one in machines]
        return all(one == first for one in others)

    return soon(equal, "the machines agree")
