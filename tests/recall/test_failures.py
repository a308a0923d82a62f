"""Failures of hooks: kept whatever fails, told by doctor, and never in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from satchel.doctor.hooks import hooks
from satchel.hooks.failures import FAILURES_BYTES_MAX, FAILURES_FILE, keep, listed


def test_a_failure_is_kept_for_its_user_only(tmp_path: Path) -> None:
    assert keep(tmp_path, "recall", "codex", "store_busy", "another process holds it")
    (found,) = listed(tmp_path)
    assert found[1:] == ("recall", "codex", "store_busy", "another process holds it")
    assert abs(found.at - time.time() * 1000) < 60_000
    assert (tmp_path / FAILURES_FILE).stat().st_mode & 0o777 == 0o600
    assert listed(tmp_path, found.at + 1) == []


def test_a_secret_that_an_error_quotes_is_masked(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    keep(tmp_path, "recall", "codex", "invalid_input", f"cannot use {secret} here")
    assert secret not in (tmp_path / FAILURES_FILE).read_text("utf-8")


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    for number in range(900):
        keep(tmp_path, "recall", "codex", "failed", f"{number} " + "x" * 200)
    size = (tmp_path / FAILURES_FILE).stat().st_size
    found = listed(tmp_path)
    assert size <= FAILURES_BYTES_MAX + 1_000
    assert found[-1].message.startswith("899 ")
    numbers = [int(one.message.split()[0]) for one in found]
    assert numbers == list(range(numbers[0], 900))


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    keep(tmp_path, "recall", "codex", "failed", "one")
    with (tmp_path / FAILURES_FILE).open("ab") as file:
        file.write(b'\xff\n{"at": "x"}\n[]\n' + b"[" * 5_000 + b"\n\n{\n")
    keep(tmp_path, "recall", "codex", "failed", "two")
    assert [one.message for one in listed(tmp_path)] == ["one", "two"]


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom satchel.hooks.failures import keep\n"
        "for n in range(40): keep(Path(sys.argv[1]), 'recall', sys.argv[2], 'failed', 'x' * 250)"
    )
    ran = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path), f"host{n}"])
        for n in range(3)
    ]
    assert [one.wait() for one in ran] == [0, 0, 0]
    lines = (tmp_path / FAILURES_FILE).read_bytes().splitlines()
    assert len([json.loads(line) for line in lines]) == 120


@pytest.mark.parametrize("place", ["none/such", "file/home", "pipe"])
def test_where_nothing_can_be_kept_nothing_is_raised(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    home = tmp_path / place
    if place == "pipe":
        home.mkdir()
        os.mkfifo(home / FAILURES_FILE)
    assert not keep(home, "recall", "codex", "failed", "x")


def test_doctor_tells_the_last_one(tmp_path: Path) -> None:
    assert hooks(tmp_path).ok == "ok"
    keep(tmp_path, "chatlog capture", "codex", "store_busy", "held")
    keep(tmp_path, "recall", "gemini-cli", "hook_late", "no answer within 9 ms")
    told = hooks(tmp_path)
    assert told.ok == "warn"
    assert "2 failures" in told.found
    assert "`recall` for gemini-cli: no answer within 9 ms (hook_late)" in told.found
    assert "timeout_ms" in told.fix


def test_doctor_forgets_old_ones_and_survives_a_strange_file(tmp_path: Path) -> None:
    old = {"at": 1, "command": "recall", "host": "codex", "code": "x", "message": "y"}
    (tmp_path / FAILURES_FILE).write_text(json.dumps(old) + "\n")
    assert hooks(tmp_path).ok == "ok"
    (tmp_path / FAILURES_FILE).unlink()
    (tmp_path / FAILURES_FILE).mkdir()
    assert hooks(tmp_path).ok == "warn"
