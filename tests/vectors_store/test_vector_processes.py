"""Many processes on one file: some write, some ask, some are killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from vector_world import World

ASKER = Path(__file__).with_name("asker.py")
RECORDS = 60


def started(home: Path, seed: int, what: str) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, str(ASKER), str(home), str(seed), what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )


def killed(askers: Sequence[subprocess.Popen[str]]) -> list[int]:
    """Right answers of each. Raises AssertionError for an asker that ended by itself."""
    for asker in askers:
        asker.send_signal(signal.SIGKILL)
    said = [asker.communicate(timeout=30) for asker in askers]
    for asker, (_, err) in zip(askers, said, strict=True):
        assert asker.returncode == -signal.SIGKILL, err
    return [out.count("right") for out, _ in said]


def running(askers: Sequence[subprocess.Popen[str]]) -> None:
    """Wait until each has answered once."""
    for asker in askers:
        assert asker.stdout is not None
        line = asker.stdout.readline()
        assert line == "right\n", asker.stderr and asker.stderr.read()


def test_readers_are_right_while_one_writes(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(RECORDS):
        world.write()
    askers = [started(tmp_path, 1, "write"), *(started(tmp_path, seed, "ask") for seed in (2, 3))]
    running(askers)
    time.sleep(4)
    assert min(killed(askers)) > 5
    world.check(times=10)
    world.close()


def test_kill_9_in_the_middle_of_an_append_or_of_making_the_file(tmp_path: Path) -> None:
    world = World(tmp_path)
    for _ in range(RECORDS):
        world.write()
    for attempt in range(4):
        askers = [
            started(tmp_path, 10 * attempt, "write"),
            started(tmp_path, 10 * attempt + 1, "rebuild"),
        ]
        running(askers)
        time.sleep(0.2 + 0.11 * attempt)
        killed(askers)
        world.check(times=8)
    world.write()
    (path, *_) = (tmp_path / "vectors").glob("*.memory.vec")
    path.unlink()
    world.check(times=30)
    assert list((tmp_path / "vectors").glob(f"{path.name}.*.draft")) == []
    world.close()
