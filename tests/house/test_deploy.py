"""The units under deploy/ are ones that systemd takes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = sorted((Path(__file__).parents[2] / "deploy" / "systemd").iterdir())


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("this machine has no systemd-analyze")
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *UNITS],
        capture_output=True, text=True, check=False,
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_there_is_a_timer_for_its_service() -> None:
    assert {unit.stem for unit in UNITS if unit.suffix == ".timer"} == {
        unit.stem for unit in UNITS if unit.suffix == ".service"
    }
