"""The doctor's words: one table for all, the same in its page; and who sends people to it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from fix_command import COMMAND, environment, run
from fix_doctor import Patient, database, scratched
from fix_mcp import ASKED
from fix_terminal import typed
from rich.console import Console

from satchel import config
from satchel.cli.doctor_table import show
from satchel.doctor import Check
from satchel.doctor.document import document
from satchel.doctor.network import network
from satchel.doctor.subjects import SUBJECTS
from satchel.errors import DOCTORS

ROOT = Path(__file__).parents[2]
POINTER = "`satchel doctor` tells more"
COLOURS = {"32": "ok", "33": "warn", "1;31": "fail"}
WITHOUT_COLOUR = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def broken(tmp_path: Path) -> Patient:
    """A home whose memories cannot be read."""
    made = Patient(tmp_path / "home")
    made.written("the attic is dry")
    scratched(database(made.home), "memory")
    return made


def test_the_page_has_the_table() -> None:
    """`make docs` writes it there."""
    assert document() in (ROOT / "docs" / "OPERATIONS.md").read_text("utf-8")


def test_every_check_has_its_line_and_its_place(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "home")
    patient.written("the attic is dry")
    shown = list(patient.checks())
    assert shown == [name for name in SUBJECTS if name not in ("clock", "offline")]
    for subject in SUBJECTS.values():
        assert subject.what
        assert subject.why
        assert subject.fix


def test_the_table_says_of_each_check_what_fix_can_do_and_of_no_other() -> None:
    """Held against the calls themselves: a check with a mend has its words, and the reverse."""
    calls = [
        node
        for path in (ROOT / "replica" / "satchel" / "doctor").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Check"
    ]
    said = [{word.arg: word.value for word in call.keywords} for call in calls]
    mend = {ast.literal_eval(one["name"]) for one in said if "mends" in one}
    assert mend == {name for name, one in SUBJECTS.items() if one.mends}


def test_who_points_to_the_doctor_is_documented() -> None:
    known = (ROOT / "docs" / "ERRORS.md").read_text("utf-8")
    assert {code for code in DOCTORS if f"`{code}`" not in known} == set()


# ---- at a terminal ------------------------------------------------------------------------------


def test_colour_repeats_what_the_words_say() -> None:
    good = Check(name="replica", ok="ok", found="one; two")
    bad = Check(
        name="config", ok="warn", found="a long tale " * 40, why="a misspelt one", fix="spell"
    )
    shown = [good, bad, replace(bad, name="sqlite", ok="fail")]
    screens = []
    for no_color in (False, True):
        console = Console(file=StringIO(), force_terminal=True, width=80, no_color=no_color)
        show(console, shown)
        screens.append(console.file.getvalue())  # type: ignore[attr-defined]
    coloured, plain = screens
    assert all(f"\x1b[{code}m{word}" in coloured for code, word in COLOURS.items())
    assert not re.search(r"\x1b\[[\d;]*3\d", plain)
    words = WITHOUT_COLOUR.sub("", plain)
    assert words == WITHOUT_COLOUR.sub("", coloured)
    assert max(len(line.rstrip()) for line in words.splitlines()) <= 80
    told = " ".join(words.split())
    for said in ("ok replica one two", "why: a misspelt one", "fix: spell"):
        assert said in told
    assert told.endswith("3 checks: 1 failed, 1 to look at")


def test_a_network_that_is_as_installed_takes_a_line(tmp_path: Path) -> None:
    """With anything named, enabled or closed each path has its own again."""
    plain = config.load(environ={"SATCHEL_HOME": str(tmp_path)})
    paths = {**plain.network_paths, "mcp.http": (True, "")}
    lines = {}
    for name, settings in {
        "as installed": plain,
        "named": replace(plain, warehouse_dsn="host=127.0.0.1"),
        "enabled": replace(plain, network_paths=paths),
        "closed": replace(plain, network_mode="none"),
    }.items():
        console = Console(file=StringIO(), width=200)
        check = network(settings)
        show(console, [check])
        lines[name] = console.file.getvalue().count("\n")  # type: ignore[attr-defined]
        assert "sync.postgres " in check.as_dict()["found"], "a program is told of each path"
    assert lines.pop("as installed") == 3
    assert min(lines.values()) > 10


def test_what_is_removed_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "home"
    patient = Patient(home)
    patient.written("the attic is dry")
    (home / "vectors").mkdir(mode=0o700)
    (home / "vectors" / "spoiled.vec").write_bytes(b"no vectors")
    said = {"SATCHEL_HOME": str(home)}
    asked = "remove spoiled.vec?"
    _, screen = typed("doctor", "--fix", answers=((asked, "n"),), **said)
    words = " ".join(WITHOUT_COLOUR.sub("", screen).split())
    assert "fixed: not done: remove spoiled.vec" in words
    assert "`satchel doctor --fix` can mend some of it" in words
    assert (home / "vectors" / "spoiled.vec").exists()
    _, screen = typed("doctor", "--fix", answers=((asked, "y"),), **said)
    words = " ".join(WITHOUT_COLOUR.sub("", screen).split())
    assert "fixed: removed spoiled.vec" in words
    assert "all is well" in words
    patient.is_well()


# ---- who points to it ---------------------------------------------------------------------------


def test_a_command_that_cannot_start_points_to_it(broken: Patient) -> None:
    refused = broken.satchel("write", "the cellar is wet")
    assert refused.error["code"] == "store_unusable"
    assert refused.error["hint"].endswith(POINTER)


def test_a_server_that_cannot_read_says_so_in_its_answer(broken: Patient) -> None:
    """The handshake is answered all the same: a host shows the error of a call, not of a start."""
    call = {"name": "memory_search", "arguments": {"query": "attic"}}
    with subprocess.Popen(
        [*COMMAND, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, env=environment(SATCHEL_HOME=str(broken.home)),
    ) as server:  # fmt: skip
        assert server.stdin is not None
        assert server.stdout is not None
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        for message in (ASKED, ready, {**ASKED, "id": 2, "method": "tools/call", "params": call}):
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
    assert "serverInfo" in answers[0]["result"]
    told = answers[1]["result"]
    assert told["isError"]
    error = json.loads(told["content"][0]["text"])
    assert POINTER in json.dumps(error)


def test_a_server_with_a_broken_config_says_so_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[ranking\n")
    done = run("mcp", SATCHEL_HOME=str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert done.error["code"] == "config_invalid"
    assert done.error["hint"].endswith(POINTER)


def test_a_hook_tells_its_host_nothing_and_the_doctor_all(broken: Patient) -> None:
    call = '{"hook_event_name": "UserPromptSubmit", "prompt": "is the attic dry?"}'
    done = run("recall", "--hook", "claude-code", stdin=call, SATCHEL_HOME=str(broken.home))
    assert (done.code, done.out, done.err) == (0, "", "")
    hooks = broken.bad()["hooks"]
    assert "`recall` for claude-code" in hooks["found"]
    assert "(store_unusable)" in hooks["found"]


def test_a_hook_that_can_keep_nothing_points_to_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("no folder")
    call = '{"hook_event_name": "UserPromptSubmit", "prompt": "is the attic dry?"}'
    done = run("recall", "--hook", "claude-code", stdin=call, SATCHEL_HOME=str(home))
    assert (done.code, done.out) == (0, "")
    assert done.err.rstrip().endswith(POINTER)
