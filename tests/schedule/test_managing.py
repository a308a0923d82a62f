"""`satchel schedule`: install, status and remove, on a system that answers and on one that is mute.

The three systems are tables of answers here; that systemd takes the units is test_rendering.py's.
"""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from fix_schedule import DSN, NotedRunner, configure
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel import config
from satchel.errors import EngineUnavailable, NotFound, Refused, SatchelError, StoreUnusable
from satchel.schedule import manage
from satchel.schedule.contract import Ran, Scheduler
from satchel.schedule.job import name_of
from satchel.schedule.launchd import Launchd
from satchel.schedule.systemd import Systemd
from satchel.schedule.windows import TaskScheduler

System = tuple[Scheduler, NotedRunner]
BUS = "systemctl --user show --property=Version"
NO_BUS = Ran(code=1, err="Failed to connect to bus: No medium found")
SYSTEMS = ["systemd", "launchd", "task scheduler"]


def system(name: str, folder: Path, *, mute: bool = False) -> System:
    """One of the three, in a temporary folder; a mute one lacks its program."""
    runner = NotedRunner(frozenset() if mute else frozenset({"systemctl", "launchctl", "schtasks"}))
    made: dict[str, Scheduler] = {
        "systemd": Systemd(folder / "systemd/user", runner),
        "launchd": Launchd(folder / "LaunchAgents", 501, runner),
        "task scheduler": TaskScheduler(folder / "schedule", runner),
    }
    return made[name], runner


def read(home: Path, **environ: str) -> config.Settings:
    return config.load(flags={"home": str(home)}, environ=environ)


# ---- all three ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mute", [False, True], ids=["answers", "mute"])
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_timer_comes_changes_and_goes(home: Path, tmp_path: Path, name: str, mute: bool) -> None:
    scheduler, runner = system(name, tmp_path, mute=mute)
    unloaded = Ran(code=1)
    runner.answers = {"launchctl print": unloaded, "schtasks /Query": unloaded}
    mine = read(home)
    none = {"installed": False, "manager": name, "name": name_of(home)}
    assert manage.status(mine, scheduler) == none

    installed = manage.install(mine, "1h", scheduler)
    assert (installed["changed"], installed["active"]) == (True, not mute)
    assert bool(installed["run"]) == bool(installed["notes"]) == mute
    assert installed["files"]
    for path in map(Path, installed["files"]):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "sesame" not in path.read_bytes().decode("utf-16" if name[0] == "t" else "utf-8")
        assert {one.name for one in path.parent.iterdir()} <= {
            Path(one).name for one in installed["files"]
        }
    runner.answers = {}  # now it is loaded
    seen = manage.status(mine, scheduler)
    assert (seen["installed"], seen["every"]) == (True, "1h")
    assert seen["files"] == installed["files"]
    assert str(home) in " ".join(seen["command"])

    before = [Path(path).read_bytes() for path in installed["files"]]
    assert manage.install(mine, "1h", scheduler)["changed"] is False
    assert [Path(path).read_bytes() for path in installed["files"]] == before
    assert manage.install(mine, "2h30m", scheduler)["changed"] is True
    assert manage.status(mine, scheduler)["every"] == "2h30m"

    assert manage.remove(mine, scheduler)["removed"] == installed["files"]
    assert not any(Path(path).exists() for path in installed["files"])
    runner.answers = {"schtasks /Query": unloaded}
    assert manage.status(mine, scheduler) == none
    with pytest.raises(NotFound, match="nothing is installed") as raised:
        manage.remove(mine, scheduler)
    assert raised.value.exit_code == 3


@pytest.mark.parametrize("name", SYSTEMS)
def test_two_homes_have_two_timers(home: Path, tmp_path: Path, name: str) -> None:
    scheduler, runner = system(name, tmp_path, mute=True)
    other = tmp_path / "other"
    other.mkdir()
    configure(other, DSN)
    first = manage.install(read(home), "1h", scheduler)
    second = manage.install(read(other), "1d", scheduler)
    assert not set(first["files"]) & set(second["files"])
    manage.remove(read(home), scheduler)
    assert manage.status(read(other), scheduler)["every"] == "1d"
    assert runner.ran == []


@pytest.mark.parametrize("name", SYSTEMS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.just(b"X-Every=" + b"9" * 5000))
def test_a_file_that_somebody_else_wrote_is_no_crash(
    home: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    scheduler, _ = system(name, tmp_path, mute=True)
    for path in scheduler.files(name_of(home)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert manage.status(read(home), scheduler)["installed"] is True
    assert manage.install(read(home), "1h", scheduler)["changed"] is True
    assert manage.status(read(home), scheduler)["every"] == "1h"


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_folder_that_cannot_be_written(home: Path, tmp_path: Path, name: str) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    scheduler, _ = system(name, blocked, mute=True)
    with pytest.raises(StoreUnusable, match=r"file/"):
        manage.install(read(home), "1h", scheduler)


def test_an_operating_system_that_nobody_knows(home: Path) -> None:
    with pytest.raises(EngineUnavailable, match="freebsd") as raised:
        manage.scheduler_of(read(home), platform="freebsd")
    assert "--every" in raised.value.hint


@pytest.mark.parametrize(
    ("platform", "name"),
    [("linux", "systemd"), ("darwin", "launchd"), ("win32", "task scheduler")],
)
def test_each_operating_system_has_its_own(home: Path, platform: str, name: str) -> None:
    assert manage.scheduler_of(read(home), platform=platform).manager == name


# ---- where the warehouse is named ---------------------------------------------------------------


def test_a_dsn_of_this_shell_only_is_refused(home: Path, tmp_path: Path) -> None:
    (home / "config.toml").unlink()
    scheduler, runner = system("systemd", tmp_path)
    with pytest.raises(Refused, match="only in this shell's environment") as raised:
        manage.install(read(home, SATCHEL_WAREHOUSE_DSN=DSN), "1h", scheduler)
    assert "config.toml" in raised.value.hint
    assert "sesame" not in f"{raised.value} {raised.value.hint}"
    assert (manage.status(read(home), scheduler)["installed"], runner.ran) == (False, [])


def test_what_only_this_shell_has_is_told(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", "/a/secret/place")
    scheduler, _ = system("systemd", tmp_path)
    mine = read(
        home, SATCHEL_NETWORK_MODE="none", SATCHEL_WAREHOUSE_DSN=DSN.replace("/n", "/other")
    )
    notes = manage.install(mine, "1h", scheduler)["notes"]
    assert [note for note in notes if "SATCHEL_NETWORK_MODE" in note]
    assert [note for note in notes if "SATCHEL_WAREHOUSE_DSN" in note]
    assert [note for note in notes if "PGPASSFILE" in note]
    assert "sesame" not in str(notes)
    assert "secret" not in str(notes)


# ---- systemd ------------------------------------------------------------------------------------

LISTED = json.dumps(
    [{
        "next": 1_796_000_400_000_000, "left": 1, "last": 1_795_996_800_123_456, "passed": 1,
        "unit": "x.timer", "activates": "x.service",
    }]
)  # fmt: skip


def test_the_timer_is_loaded_enabled_and_started(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("systemd", tmp_path)
    timer = f"{name_of(home)}.timer"
    reload, enable = "systemctl --user daemon-reload", f"systemctl --user enable --now {timer}"
    manage.install(read(home), "1h", scheduler)
    assert runner.since() == [BUS, reload, enable]
    manage.install(read(home), "1h", scheduler)
    assert runner.since() == [BUS, reload, enable]
    manage.install(read(home), "2h", scheduler)
    assert runner.since() == [BUS, reload, enable, f"systemctl --user restart {timer}"]
    manage.remove(read(home), scheduler)
    assert runner.since()[-3:] == [BUS, f"systemctl --user disable --now {timer}", reload]


def test_without_a_user_bus_the_commands_are_told(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("systemd", tmp_path)
    runner.answers = {BUS: NO_BUS}
    installed = manage.install(read(home), "1h", scheduler)
    assert installed["run"] == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {name_of(home)}.timer",
    ]
    assert "No medium found" in installed["notes"][0]
    assert set(runner.ran) == {BUS}
    wanted = Path(installed["files"][0]).parent / "timers.target.wants" / f"{name_of(home)}.timer"
    wanted.parent.mkdir()
    wanted.symlink_to(installed["files"][1])
    assert manage.remove(read(home), scheduler)["run"]
    assert not wanted.is_symlink(), "what `enable` made by hand goes too"


def test_what_is_left_of_a_timer_can_be_removed(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("systemd", tmp_path)
    service, timer = map(Path, manage.install(read(home), "1h", scheduler)["files"])
    timer.unlink()
    runner.answers = {"systemctl --user disable": Ran(code=1, err="Unit file does not exist.")}
    assert manage.remove(read(home), scheduler)["removed"] == [str(service)]
    assert manage.status(read(home), scheduler)["installed"] is False


@pytest.mark.parametrize("step", ["daemon-reload", "enable"])
def test_a_manager_that_says_no_is_no_success(home: Path, tmp_path: Path, step: str) -> None:
    scheduler, runner = system("systemd", tmp_path)
    runner.answers = {f"systemctl --user {step}": Ran(code=1, err="Unit is masked.\n")}
    with pytest.raises(SatchelError, match=rf"{step}.* failed: Unit is masked") as raised:
        manage.install(read(home), "1h", scheduler)
    assert raised.value.exit_code == 1


def test_systemd_tells_when_it_ran_and_will(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("systemd", tmp_path)
    manage.install(read(home), "1h", scheduler)
    runner.answers = {
        "systemctl --user list-timers": Ran(code=0, out=LISTED),
        f"systemctl --user show {name_of(home)}.service": Ran(
            code=0, out="ExecMainStatus=11\nExecMainExitTimestampMonotonic=123456\n"
        ),
    }
    seen = manage.status(read(home), scheduler)
    assert seen["active"] is True
    assert seen["last_run"] == "2026-11-30T00:00:00.123+00:00"
    assert seen["next_run"] == "2026-11-30T01:00:00.000+00:00"
    assert seen["last_exit"] == 11


@pytest.mark.parametrize(
    "said",
    ["", "[]", "{}", "nonsense", "[1]", '[{"next": null, "last": 0}]', '[{"next": "soon"}]'],
)
def test_a_timer_that_never_ran_has_no_times(home: Path, tmp_path: Path, said: str) -> None:
    scheduler, runner = system("systemd", tmp_path)
    manage.install(read(home), "1h", scheduler)
    runner.answers = {
        "systemctl --user list-timers": Ran(code=0, out=said),
        "systemctl --user is-active": Ran(code=3),
        "systemctl --user show satchel": Ran(
            code=0, out="ExecMainStatus=0\nExecMainExitTimestampMonotonic=0\n"
        ),
    }
    seen = manage.status(read(home), scheduler)
    assert seen["active"] is False
    assert (seen["last_run"], seen["next_run"], seen["last_exit"]) == (None, None, None)


# ---- launchd ------------------------------------------------------------------------------------


def test_an_agent_is_loaded_once_and_again_when_changed(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("launchd", tmp_path)
    target = f"gui/501/{name_of(home)}"
    path = tmp_path / "LaunchAgents" / f"{name_of(home)}.plist"
    printing, load = f"launchctl print {target}", f"launchctl bootstrap gui/501 {path}"
    runner.answers = {printing: Ran(code=113)}
    manage.install(read(home), "1h", scheduler)
    assert runner.since() == [printing, load]
    runner.answers = {printing: Ran(code=0, out="\truns = 4\n\tlast exit code = 10\n")}
    manage.install(read(home), "1h", scheduler)
    assert runner.since() == [printing]
    manage.install(read(home), "2h", scheduler)
    assert runner.since() == [printing, f"launchctl bootout {target}", load]
    seen = manage.status(read(home), scheduler)
    assert (seen["active"], seen["last_exit"], seen["next_run"]) == (True, 10, None)


def test_without_a_desktop_session_the_command_is_told(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("launchd", tmp_path)
    runner.answers = {
        "launchctl print": Ran(code=113),
        "launchctl bootstrap": Ran(code=125, err="Bootstrap failed: 125: Domain does not support"),
    }
    installed = manage.install(read(home), "1h", scheduler)
    assert (installed["active"], len(installed["run"])) == (False, 1)
    assert "Bootstrap failed: 125" in installed["notes"][0]


# ---- the Task Scheduler -------------------------------------------------------------------------


def test_a_task_is_made_of_the_xml(home: Path, tmp_path: Path) -> None:
    scheduler, runner = system("task scheduler", tmp_path)
    name = name_of(home)
    (path,) = manage.install(read(home), "1h", scheduler)["files"]
    assert runner.since() == [f"schtasks /Create /TN {name} /XML {path} /F"]
    told = {"last": "2026-11-30T00:00:00.1234567Z", "next": "2026-11-30T01:00:00.0000000Z"}
    runner.answers = {"powershell": Ran(code=0, out=json.dumps({**told, "result": 11}))}
    seen = manage.status(read(home), scheduler)
    assert seen["last_run"] == "2026-11-30T00:00:00.123+00:00"
    assert seen["next_run"] == "2026-11-30T01:00:00.000+00:00"
    assert seen["last_exit"] == 11
    runner.answers = {"schtasks /Create": Ran(code=1, err="ERROR: Access is denied.\n")}
    with pytest.raises(SatchelError, match="Access is denied"):
        manage.install(read(home), "2h", scheduler)


@pytest.mark.parametrize("said", [{}, {"last": "1999-11-30T00:00:00.0000000Z", "result": 267011}])
def test_a_task_that_never_ran_has_no_times(
    home: Path, tmp_path: Path, said: dict[str, Any]
) -> None:
    scheduler, runner = system("task scheduler", tmp_path)
    manage.install(read(home), "1h", scheduler)
    runner.answers = {"powershell": Ran(code=0, out=json.dumps(said))}
    seen = manage.status(read(home), scheduler)
    assert (seen["last_run"], seen["next_run"], seen["last_exit"]) == (None, None, None)
