"""`satchel schedule` as a command in a process of its own, and the programs that it runs."""

from __future__ import annotations

import configparser
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel.schedule.runner import Programs


@pytest.mark.skipif(sys.platform != "linux", reason="it would touch this user's own timers")
def test_the_command_writes_units_under_the_users_folder(
    satchel: Callable[..., Any], home: Path, tmp_path: Path
) -> None:
    def schedule(*words: str, **variables: str) -> Any:
        return satchel("--home", str(home), "schedule", *words, **variables)

    assert schedule("remove").error["message"].startswith("nothing is installed")
    assert schedule("remove").code == 3
    installed = schedule("install", "--every", "2h30m").json
    folder = tmp_path / "user/.config/systemd/user"
    assert {Path(path).parent for path in installed["files"]} == {folder}
    service = configparser.ConfigParser(interpolation=None)
    service.read(installed["files"][0])
    assert installed["command"][0] == sys.executable
    assert "sesame" not in str(installed)
    assert schedule("status").json["every"] == "2h30m"
    assert len(schedule("remove").json["removed"]) == 2
    assert schedule("status").json["installed"] is False
    elsewhere = schedule("install", XDG_CONFIG_HOME=str(tmp_path / "xdg")).json
    assert {Path(path).parent for path in elsewhere["files"]} == {tmp_path / "xdg/systemd/user"}


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["install", "--every", "soon"], 2, "invalid_input"),
        (["install", "--every", "30s"], 2, "invalid_input"),
        (["install", "--every", ""], 2, "invalid_input"),
        (["instal"], 2, "unknown_argument"),
        (["remove", "--every", "1h"], 2, "unknown_argument"),
    ],
)
def test_what_cannot_be_asked(
    satchel: Callable[..., Any], home: Path, words: list[str], code: int, error: str
) -> None:
    ran = satchel("--home", str(home), "schedule", *words)
    assert (ran.code, ran.out, ran.error["code"]) == (code, "", error)


def test_without_a_warehouse_nothing_is_installed(
    satchel: Callable[..., Any], tmp_path: Path
) -> None:
    ran = satchel("--home", str(tmp_path / "new"), "schedule", "install")
    assert (ran.code, ran.error["code"]) == (2, "config_invalid")
    assert not (tmp_path / "user").exists()


def test_the_command_that_is_installed_can_be_run(
    satchel: Callable[..., Any], home: Path, environment: Callable[..., dict[str, str]]
) -> None:
    command = satchel("--home", str(home), "schedule", "install").json["command"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )
    assert done.returncode == 10, "nobody serves that warehouse"
    assert json.loads(done.stderr)["error"]["code"] == "hub_unreachable"


def test_programs_are_run_for_real() -> None:
    runner = Programs()
    assert runner.has("sh")
    assert not runner.has("satchel-no-such-program")
    ran = runner.run(["sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"])
    assert (ran.code, ran.out, ran.words) == (3, "out\n", "last")
    assert runner.run(["satchel-no-such-program"]).code == 127
