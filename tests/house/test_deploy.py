"""The units under deploy/ are what `satchel schedule` writes, and systemd takes them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from satchel.schedule.job import Job
from satchel.schedule.runner import Programs
from satchel.schedule.systemd import Systemd

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
FOR_ALL = Job(
    name="satchel-sync",
    home=Path(),
    command=("/usr/bin/env", "satchel", "sync", "--quiet"),
    period_s=3600,
)
"""Every user's default home, by the satchel of the PATH."""


def test_the_units_are_what_the_renderer_writes() -> None:
    rendered = Systemd(FOLDER, Programs()).render(FOR_ALL)
    assert {path: path.read_bytes() for path in FOLDER.iterdir()} == rendered


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("this machine has no systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *sorted(FOLDER.iterdir())],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
