"""A machine that stays in touch, in a process of its own; it notes when each memory arrived.

`python -m bench.one_live HOME DSN PERIOD_S` prints `ready` once it is in touch, then follows the
warehouse until SIGTERM, and prints one JSON object: `arrived` (memory id -> Unix time at which its
row was committed here), `cpu_s` and `wall_s` since `ready`, `turns`, `reports`, `peak_mb`.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from satchel.config import Settings
from satchel.periodic import RealClocks, follow
from satchel.store.endpoint import SqliteReplica
from satchel.syncing import live
from satchel.syncing.live import LiveSync
from satchel_sync.changes import Applied
from satchel_sync.tables import Table


class Over(Exception):
    """SIGTERM came."""


class Noting(SqliteReplica):
    """Notes when a pulled memory is there for everybody on this machine."""

    arrived: ClassVar[dict[str, float]] = {}

    def apply(self, table: Table, rows: Any, cursor: int | None) -> Applied:
        """See `Replica.apply`."""
        applied = super().apply(table, rows, cursor)
        if table.name == "memory":
            self.arrived.update(dict.fromkeys((row.key for row in rows), time.time()))
        return applied


def start(home: Path, dsn: str, period_s: float) -> subprocess.Popen[str]:
    """Such a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "bench.one_live", str(home), dsn, str(period_s)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def ready(process: subprocess.Popen[str]) -> None:
    """Wait until it is in touch."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    """End it; what it saw. Raises AssertionError when it failed."""
    process.send_signal(signal.SIGTERM)
    with process:
        assert process.stdout is not None
        line = process.stdout.read()
    assert process.returncode == 0, "a machine failed: see its output above"
    said: dict[str, Any] = json.loads(line)
    return said


def main(home: Path, dsn: str, period_s: float) -> None:
    """What the process does."""
    vars(live)["SqliteReplica"] = Noting
    turns, reports, began = 0, 0, (0.0, 0.0)

    def over(number: int, frame: FrameType | None) -> None:
        raise Over

    def turn(now_s: float) -> bool:
        nonlocal turns, reports, began
        reports += syncing.turn(now_s) is not None
        if turns == 0:
            print("ready", flush=True)
            began = time.process_time(), time.monotonic()
        turns += 1
        return True

    signal.signal(signal.SIGTERM, over)
    settings = Settings(home=home, warehouse_dsn=dsn, embedding="off")
    syncing = LiveSync(settings)
    try:
        follow(turn, syncing.written, period_s, RealClocks())
    except Over:
        said = {
            "arrived": Noting.arrived,
            "cpu_s": time.process_time() - began[0],
            "wall_s": time.monotonic() - began[1],
            "turns": turns,
            "reports": reports,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    syncing.close()
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
