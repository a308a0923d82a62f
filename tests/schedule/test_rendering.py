"""The files of the three timers say what was meant, whatever is in the paths; systemd agrees."""

from __future__ import annotations

import configparser
import os
import plistlib
import shlex
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import Refused
from satchel.schedule.job import Job, job_of, name_of
from satchel.schedule.launchd import Launchd
from satchel.schedule.runner import Programs
from satchel.schedule.systemd import Systemd, quoted, service_unit, startable, timer_unit, unquoted
from satchel.schedule.windows import TaskScheduler, task_xml

HOUR = 3600
TASK = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
NASTY = [
    "plain", "two words", "100%", "%h and %%", "it's", 'a "quoted" one', "back\\slash", "$HOME",
    "${HOME}", "ünï ✓ 日本", "🧳", " lead", "trail ", "a;b", "-dash", "#hash", "a\u00a0b", "<&>",
    "\\", "]]>",
]  # fmt: skip
"""Names of folders that a file's syntax could take for something else."""
REFUSED = ["new\nline", "re\rturn", "t\tab", "nul\0", "esc\x1b", "\x7f", "\u2028", "\ud800", "\x85"]
PERIODS = [60, 90, 600, 900, 1800, 3600, 7200, 9000, 18_000, 43_200, 86_400, 31 * 86_400]


def a_job(folder: str = "plain", period_s: int = HOUR, python: str = "/usr/bin/env") -> Job:
    return job_of(Path("/srv") / folder, period_s, python=python)


def values(unit: str) -> configparser.ConfigParser:
    """A unit file as an independent reader sees it."""
    parser = configparser.ConfigParser(interpolation=None, strict=True, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(unit)
    return parser


def argv_of(line: str) -> list[str]:
    """What systemd makes of an ExecStart with a colon: quotes, then specifiers, no variables."""
    first, *rest = shlex.split(line)
    assert first.startswith(":"), "variables would be replaced"
    words = [first[1:], *rest]
    assert all(word.replace("%%", "").count("%") == 0 for word in words), "a specifier is left"
    return [word.replace("%%", "%") for word in words]


# ---- what every timer has -----------------------------------------------------------------------


def test_a_job_runs_this_program_on_that_home() -> None:
    job = job_of(Path("/srv/home"), HOUR, python="/opt/py/bin/python")
    assert job.command == (
        "/opt/py/bin/python", "-P", "-m", "satchel", "--home", "/srv/home", "sync", "--quiet",
    )  # fmt: skip


@pytest.mark.parametrize("folder", REFUSED, ids=ascii)
def test_a_path_that_no_file_can_hold_is_refused(folder: str) -> None:
    with pytest.raises(Refused, match=r"home: .* at position \d+") as raised:
        a_job(folder)
    assert (raised.value.exit_code, raised.value.field) == (4, "home")
    with pytest.raises(Refused, match=r"program: "):
        a_job(python=f"/opt/{folder}/python")


def test_an_unknown_python_is_refused() -> None:
    with pytest.raises(Refused, match="not known where this Python is"):
        a_job(python="")


def test_each_home_has_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert name_of(tmp_path / "home") == name_of(tmp_path / "x" / ".." / "home")
    assert name_of(tmp_path / "home") == name_of(tmp_path / "link")
    assert len({name_of(Path("/srv") / folder) for folder in NASTY}) == len(NASTY)


@pytest.mark.parametrize("period_s", PERIODS)
def test_a_run_is_put_off_by_less_than_the_period(period_s: int) -> None:
    assert 0 < a_job(period_s=period_s).spread_s <= min(period_s / 4, 900)


# ---- systemd ------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", NASTY, ids=ascii)
def test_systemd_reads_the_command_that_was_meant(folder: str) -> None:
    job = a_job(folder, python=f"/opt/{folder}/python")
    exec_start = values(service_unit(job))["Service"]["ExecStart"]
    assert argv_of(exec_start) == list(startable(job.command))
    assert unquoted(exec_start) == list(startable(job.command))
    assert startable(job.command)[-len(job.command) :] == job.command


@given(st.lists(st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp"))), min_size=1))
def test_what_is_quoted_is_read_back(words: list[str]) -> None:
    assert argv_of(quoted(tuple(words))) == words
    assert unquoted(quoted(tuple(words))) == words


def test_the_service_is_one_sync_that_may_do_little() -> None:
    service = values(service_unit(a_job()))["Service"]
    assert (service["Type"], service["SuccessExitStatus"]) == ("oneshot", "10")
    assert (service["UMask"], service["NoNewPrivileges"]) == ("0077", "yes")
    assert int(service["TimeoutStartSec"]) >= 3600
    assert not {"Environment", "EnvironmentFile", "User"} & set(service)


@pytest.mark.parametrize(
    ("period_s", "when"),
    [
        (60, {"OnCalendar": "*-*-* *:00/1:00"}),
        (900, {"OnCalendar": "*-*-* *:00/15:00"}),
        (3600, {"OnCalendar": "*-*-* 00/1:00:00"}),
        (7200, {"OnCalendar": "*-*-* 00/2:00:00"}),
        (86_400, {"OnCalendar": "*-*-* 00:00:00"}),
        (9000, {"OnActiveSec": "60", "OnUnitActiveSec": "9000"}),
        (18_000, {"OnActiveSec": "60", "OnUnitActiveSec": "18000"}),
        (90, {"OnActiveSec": "60", "OnUnitActiveSec": "90"}),
        (172_800, {"OnActiveSec": "60", "OnUnitActiveSec": "172800"}),
    ],
)
def test_the_timer_comes_as_often_as_was_asked(period_s: int, when: dict[str, str]) -> None:
    timer = dict(values(timer_unit(a_job(period_s=period_s)))["Timer"])
    assert when.items() <= timer.items()
    assert {name for name in timer if name.startswith("On")} == set(when)
    assert timer["Persistent"] == "true"
    assert 0 < int(timer["RandomizedDelaySec"]) <= period_s // 4


def test_the_timer_is_started_with_the_others() -> None:
    assert values(timer_unit(a_job()))["Install"]["WantedBy"] == "timers.target"


@pytest.mark.parametrize(("period_s", "gap_s"), [(60, 60), (900, 900), (7200, 7200), (86_400,) * 2])
def test_systemd_makes_that_period_of_the_calendar(period_s: int, gap_s: int) -> None:
    calendar = values(timer_unit(a_job(period_s=period_s)))["Timer"]["OnCalendar"]
    said = analyze("calendar", "--iterations=3", "--base-time=2026-03-03 05:00:30", calendar)
    assert said.returncode == 0, said.stderr
    lines = [line.split()[-2] for line in said.stdout.splitlines() if "UTC" in line]
    assert len(lines) == 3
    seconds = [sum(int(n) * f for n, f in zip(t.split(":"), (3600, 60, 1), strict=True))
               for t in lines]  # fmt: skip
    assert {(b - a) % 86_400 for a, b in pairwise(seconds)} == {gap_s % 86_400}


def analyze(*arguments: str, runtime: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`systemd-analyze`, or a skip that says why."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("this machine has no systemd-analyze")
    environment = {"XDG_RUNTIME_DIR": str(runtime)} if runtime else {}
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60,
        env=os.environ | {"TZ": "UTC", "LC_ALL": "C"} | environment,
    )  # fmt: skip


Verify = Callable[[Job], subprocess.CompletedProcess[str]]


@pytest.fixture
def verify(tmp_path: Path) -> Verify:
    """Let systemd judge both units of a job."""

    def run(job: Job) -> subprocess.CompletedProcess[str]:
        paths = Systemd(tmp_path / "units", Programs()).render(job)
        for path, content in paths.items():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        return analyze("--user", "verify", *map(str, paths), runtime=tmp_path)

    return run


@pytest.mark.parametrize("period_s", PERIODS)
def test_systemd_takes_the_units(verify: Verify, period_s: int) -> None:
    done = verify(a_job(period_s=period_s))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("folder", NASTY, ids=ascii)
def test_systemd_finds_the_program_whatever_its_folder_is_called(
    verify: Verify, tmp_path: Path, folder: str
) -> None:
    program = tmp_path / folder / "python"
    program.parent.mkdir()
    job = a_job(folder, python=str(program))
    if startable(job.command) == job.command:
        missing = verify(job)
        assert missing.returncode != 0, "systemd looks for the program"
        assert "is not executable" in missing.stderr
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    done = verify(job)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# ---- launchd ------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", NASTY, ids=ascii)
def test_launchd_gets_a_property_list(tmp_path: Path, folder: str) -> None:
    job = a_job(folder, 9000)
    ((path, content),) = Launchd(tmp_path, 501, Programs()).render(job).items()
    said = plistlib.loads(content)
    assert path == tmp_path / f"{job.name}.plist"
    assert (said["Label"], said["StartInterval"], said["Umask"]) == (job.name, 9000, 0o077)
    assert said["ProgramArguments"] == list(job.command)
    assert said["RunAtLoad"] is True, "an interval of days would never end otherwise"
    assert said["StandardErrorPath"] == f"/srv/{folder}/sync.log"
    assert not {"EnvironmentVariables", "UserName", "KeepAlive"} & set(said)


# ---- Windows ------------------------------------------------------------------------------------


def task_of(content: bytes) -> dict[str, str]:
    """The leaves of a task as `Parent/Tag` -> text."""
    root = ET.fromstring(content)
    assert root.tag == f"{TASK}Task"
    return {
        f"{parent.tag.removeprefix(TASK)}/{child.tag.removeprefix(TASK)}": child.text or ""
        for parent in root.iter()
        for child in parent
        if len(child) == 0
    }


@pytest.mark.parametrize(
    "folder", [one for one in NASTY if "%" not in one and '"' not in one], ids=ascii
)
def test_the_task_scheduler_gets_a_task(folder: str) -> None:
    job = a_job(folder, 9000, python="/opt/two words/python.exe")
    said = task_of(task_xml(job))
    assert said["Repetition/Interval"] == "PT9000S"
    assert said["TimeTrigger/RandomDelay"] == "PT900S"
    assert said["Exec/Command"] == "/opt/two words/python.exe"
    assert windows_argv(said["Exec/Arguments"]) == list(job.command[1:])
    assert said["Settings/MultipleInstancesPolicy"] == "IgnoreNew"
    assert said["Settings/StartWhenAvailable"] == "true"
    assert said["Principal/LogonType"] == "InteractiveToken"
    assert said["Principal/RunLevel"] == "LeastPrivilege"


def windows_argv(line: str) -> list[str]:
    """What a Windows program makes of its command line (CommandLineToArgvW)."""
    words, word, quoting, slashes, begun = [], "", False, 0, False
    for character in line + " ":
        if character == "\\":
            slashes, begun = slashes + 1, True
            continue
        if character == '"':
            word += "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            else:
                quoting = not quoting
            begun = True
        else:
            word += "\\" * slashes
            if character in " \t" and not quoting:
                words += [word] if begun else []
                word, begun = "", False
            else:
                word, begun = word + character, True
        slashes = 0
    return words


def test_the_task_is_utf_16_and_in_the_order_of_the_schema() -> None:
    content = task_xml(a_job("ünï ✓"))
    assert content.startswith((b"\xff\xfe", b"\xfe\xff")), "the mark that schtasks wants"
    assert content.decode("utf-16").startswith('<?xml version="1.0" encoding="UTF-16"?>')
    root = ET.fromstring(content)
    assert [one.tag.removeprefix(TASK) for one in root] == [
        "RegistrationInfo", "Triggers", "Principals", "Settings", "Actions",
    ]  # fmt: skip
    trigger = root.find(f"{TASK}Triggers/{TASK}TimeTrigger")
    assert trigger is not None
    assert [one.tag.removeprefix(TASK) for one in trigger] == [
        "Repetition", "StartBoundary", "Enabled", "RandomDelay",
    ]  # fmt: skip
    actions, principal = root.find(f"{TASK}Actions"), root.find(f"{TASK}Principals/{TASK}Principal")
    assert actions is not None
    assert principal is not None
    assert actions.get("Context") == principal.get("id") == "Author"


@pytest.mark.parametrize("folder", ["100%", "%TEMP%", "$(Arg0)"])
def test_a_path_that_windows_would_expand_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(Refused, match="takes % and"):
        TaskScheduler(tmp_path, Programs()).render(a_job(folder))
