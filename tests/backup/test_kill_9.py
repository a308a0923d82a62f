"""A restore that is killed with -9, at whatever line: the old replica or the new one, and whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from place import Place

KILLER = Path(__file__).with_name("killer.py")
OLD, NEW = ["later", "one", None], ["one", None]
"""Texts of the home and of the backup; the third row was forgotten, after the backup."""
STATES = ("whole", "damaged", "gone")


@pytest.fixture
def backup(place: Place, tmp_path: Path) -> Path:
    """A backup of before the home's last write, and of before something was forgotten."""
    place.write("one")
    secret = place.write("a secret")
    place.read(secret)
    made = place.backup(out=tmp_path / "disk", with_keys=True)
    place.forget(secret)
    place.backup()
    place.write("later")
    place.close()
    return made


def killed(place: Place, backup: Path, state: str, every: int, offset: int) -> Any:
    words = [place.folder, backup, backup.parent, state, every, offset]
    done = subprocess.run(
        [sys.executable, KILLER, *map(str, words)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
        timeout=1150,
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def judge(state: str, told: Any) -> None:
    allowed = {
        "whole": [OLD, NEW],
        "damaged": [["StoreUnusable"], NEW],
        "gone": [["gone"], [], NEW],
    }[state]
    for number, (first, second, left) in told["found"]:
        assert sorted(first, key=str) in [sorted(one, key=str) for one in allowed], number
        assert sorted(second, key=str) == sorted(NEW, key=str), number
        assert left == [], number


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("state", STATES)
def test_killed_at_many_lines(place: Place, backup: Path, state: str) -> None:
    told = killed(place, backup, state, 4, 1)
    assert 4 * len(told["found"]) >= told["lines"] > 200
    judge(state, told)


@pytest.mark.parametrize("state", STATES)
def test_killed_at_some_lines(place: Place, backup: Path, state: str) -> None:
    told = killed(place, backup, state, 120, Random(state).randrange(1, 120))
    judge(state, told)
    assert len(told["found"]) >= 2
