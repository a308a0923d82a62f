"""Sixteen processes that write to one replica at once: what is acknowledged must be there."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.measure import COLUMNS, Samples
from bench.page import Section
from bench.stock import opened

PROCESSES = 16
WRITES = 50
WRITER = Path(__file__).with_name("writer.py")
METHOD = f"""
{PROCESSES} processes open one new replica, wait for one another, then each writes {WRITES} memories
of about 450 bytes through `memory.write` with `durability = full`, as fast as it can. A failure is
any error that reaches the caller. Afterwards every acknowledged id is looked up.
"""


def bench_sixteen_writers(tmp_path: Path) -> None:
    section = Section(
        "writers",
        f"{PROCESSES} writers at once",
        METHOD,
        ("acknowledged", "found", "failures", *COLUMNS, "writes/s"),
    )
    writers = [_start(tmp_path, f"w{number}") for number in range(PROCESSES)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    told = [_told(writer) for writer in writers]
    seconds = time.perf_counter() - began
    acknowledged = {key for one in told for key in one["ids"]}
    with opened(tmp_path) as replica, replica.store.read() as db:
        held = {key for (key,) in db.execute("SELECT id FROM memory")}
        assert db.execute("PRAGMA integrity_check").get == "ok"
    failures = [failure for one in told for failure in one["failures"]]
    samples = Samples(*([ms for one in told for ms in one[name]] for name in ("ms", "cpu_ms")))
    rate = f"{len(acknowledged) / seconds:.0f}"
    found = len(acknowledged & held)
    section.add(len(acknowledged), found, len(failures), *samples.columns(), rate)
    section.remarks += sorted(set(failures))[:5]
    section.write()
    assert acknowledged <= held


def _start(home: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(home), name, str(WRITES)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _told(writer: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = writer.communicate(timeout=600)
    assert writer.returncode == 0
    told: dict[str, Any] = json.loads(out)
    return told
