"""Processes that append at once make one honest chain each; kill -9 takes nothing acknowledged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from home import Home

from satchel_crypto.audit_record import READS, WRITES

WORKER = Path(__file__).with_name("worker.py")
PROCESSES = 8
EACH = 12


def start(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(WORKER), str(folder), name, str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def created(home: Home) -> list[str]:
    """Ids of memories that the chain of writes says were created."""
    return [key for one in home.said() if one.action == "created" for _, key in one.rows]


def test_eight_processes_make_one_chain_of_writes_and_one_of_reads(tmp_path: Path) -> None:
    """All of them make the home, the key and the chains at once."""
    folder = tmp_path / "home"
    workers = [start(folder, f"w{n}", EACH) for n in range(PROCESSES)]
    acknowledged, lost = [], 0
    for worker in workers:
        out, err = worker.communicate(timeout=110)
        assert worker.returncode == 0, err
        *ids, told = out.splitlines()
        acknowledged += ids
        lost += int(told.removeprefix("lost "))
    with Home(folder) as home:
        assert home.breaks() == []
        assert sorted(created(home)) == sorted(acknowledged)
        assert len(acknowledged) == PROCESSES * EACH
        read = [key for one in home.said(READS) if one.action == "read" for _, key in one.rows]
        assert len(read) + lost == len(acknowledged)
        told_lost = sum(int(one.detail.get("lost_before", 0)) for one in home.said(READS))
        assert told_lost <= lost
        for name in (WRITES, READS):
            assert [one.action for one in home.said(name)].count("began") == 1


@pytest.mark.parametrize("delay_ms", [5, 60, 150, 300])
def test_a_kill_9_leaves_whole_chains_with_all_that_was_acknowledged(
    tmp_path: Path, delay_ms: int
) -> None:
    folder = tmp_path / "home"
    acknowledged: list[str] = []
    for name in ("first", "second"):
        worker = start(folder, name, 100_000)
        assert worker.stdout is not None
        acknowledged.append(worker.stdout.readline().strip())
        time.sleep(delay_ms / 1000)
        worker.send_signal(signal.SIGKILL)
        out, _ = worker.communicate(timeout=30)
        acknowledged += out.splitlines()
    with Home(folder) as home:
        assert home.breaks() == []
        with home.replica.store.read() as db:
            held = {str(key) for (key,) in db.execute("SELECT id FROM memory")}
        assert set(acknowledged) <= held  # a line that was cut off would not be there
        assert held == set(created(home))
        home.busy(2)
        home.later()
        assert home.breaks() == []
