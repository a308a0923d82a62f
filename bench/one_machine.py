"""A machine in a process of its own: it fills a home, waits for a word, syncs, says what it saw.

`python -m bench.one_machine HOME DSN MEMORIES SEED SYNCS` prints `ready`, reads a line, and prints
one JSON object a sync: `seconds`, `pushes` (seconds of each call), `report`, `peak_mb` (resident).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from bench.corpus import Corpus
from bench.stock import fill

from satchel.replica import DATABASE_FILE
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import PushAnswer
from satchel_sync.session import sync
from satchel_sync.tables import Table
from satchel_warehouse.ahead import PagesAhead


class Watched(PagesAhead):
    """The hub as a sync on a machine has it, with the time that each push takes."""

    def __init__(self, dsn: str) -> None:
        super().__init__(dsn)
        self.pushes: list[float] = []

    def push(self, table: Table, rows: Any) -> PushAnswer:
        """See `ports.Hub`."""
        began = time.perf_counter()
        answer = super().push(table, rows)
        self.pushes.append(time.perf_counter() - began)
        return answer


def start(
    home: Path, dsn: str, memories: int = 0, seed: int = 1, syncs: int = 1
) -> subprocess.Popen[str]:
    """Such a process; `begin` makes it sync."""
    command = [sys.executable, "-m", "bench.one_machine", str(home), dsn]
    return subprocess.Popen(
        [*command, str(memories), str(seed), str(syncs)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def begin(process: subprocess.Popen[str]) -> None:
    """Wait until it is ready, and let it go."""
    assert _said(process).readline() == "ready\n"
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def told(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """Everything it said about its syncs. Raises AssertionError when it failed."""
    with process:
        lines = _said(process).readlines()
    assert process.returncode == 0, "a machine failed: see its output above"
    return [json.loads(line) for line in lines]


def _said(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


def main(home: Path, dsn: str, memories: int, seed: int, syncs: int) -> None:
    """What the process does."""
    with Store.open(home / DATABASE_FILE) as store, Watched(dsn) as hub:
        fill(store, Corpus(seed).memories(memories))
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(syncs):
            hub.pushes.clear()
            began = time.perf_counter()
            report = sync(SqliteReplica(store), hub, SYSTEM_CLOCK)
            said = {
                "seconds": time.perf_counter() - began,
                "pushes": hub.pushes,
                "report": report,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6]))
