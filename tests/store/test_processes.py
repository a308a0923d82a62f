"""Many processes on one file: first opens, writes, and kill -9 in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from satchel.store.connection import Store
from satchel_sync.digest import row_digest
from satchel_sync.tables import MEMORY

PROCESSES = 16
WRITES = 15
WRITER = Path(__file__).with_name("writer.py")


def start(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(WRITER), str(path), name, str(count)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )


def check_file(store: Store, acknowledged: set[str]) -> None:
    """Every acknowledged row is there, queued, indexed and sealed; the file is sound."""
    with store.write():
        pass
    with store.write() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.execute("INSERT INTO memory_fts(memory_fts, rank) VALUES('integrity-check', 1)")
        held = {str(key) for (key,) in db.execute("SELECT id FROM memory")}
        queued = {str(key) for (key,) in db.execute("SELECT key FROM outbox WHERE kind = 'memory'")}
        assert acknowledged <= held
        assert held == queued
        stamps = db.execute("SELECT count(DISTINCT hlc), count(*) FROM memory").fetchone()
        assert stamps is not None
        assert stamps[0] == stamps[1]
        assert db.execute("SELECT count(*) FROM history_pending").get == 0
        names = ", ".join((*MEMORY.names, "extra"))
        for key, digest, *values in db.execute(f"SELECT id, digest, {names} FROM memory"):
            assert digest == row_digest(MEMORY, str(key), values)


def test_sixteen_processes_open_and_write_a_new_file_at_once(path: Path) -> None:
    writers = [start(path, f"w{at}", WRITES) for at in range(PROCESSES)]
    acknowledged: set[str] = set()
    for writer in writers:
        out, err = writer.communicate(timeout=100)
        assert writer.returncode == 0, err
        acknowledged |= set(out.split())
    assert len(acknowledged) == PROCESSES * WRITES
    with Store.open(path) as store:
        check_file(store, acknowledged)
        with store.read() as db:
            assert db.execute("SELECT count(*) FROM memory").get == PROCESSES * WRITES
            assert db.execute("SELECT count(*) FROM history").get == PROCESSES * (WRITES - 1)


def test_kill_9_in_the_middle_loses_nothing_acknowledged(path: Path) -> None:
    acknowledged: set[str] = set()
    for attempt in range(3):
        writers = [start(path, f"a{attempt}w{at}", 100_000) for at in range(4)]
        try:
            for writer in writers:
                assert writer.stdout is not None
                acknowledged.add(writer.stdout.readline().strip())
            time.sleep(0.3 + attempt * 0.13)
        finally:
            for writer in writers:
                writer.send_signal(signal.SIGKILL)
        for writer in writers:
            out, err = writer.communicate(timeout=30)
            assert writer.returncode == -signal.SIGKILL, err
            # A kill may cut the last line; a line was printed whole or its write was not said.
            acknowledged |= set(out.split("\n")[:-1])
    assert len(acknowledged) > 12
    with Store.open(path) as store:
        check_file(store, acknowledged)
