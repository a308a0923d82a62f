"""A hook ends in time, whatever it waits for, and doctor tells; the next capture goes on."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from fix_command import COMMAND, environment
from fix_hooks import call
from fix_transcripts import SESSION, claude_code

from satchel.cli import hooked
from satchel.config import Settings
from satchel.doctor.hooks import hooks
from satchel.hooks.failures import listed
from satchel.memory import chatlog
from satchel.replica import open_replica
from satchel.settings import BY_NAME

RECALL, CAPTURE = ["recall", "--hook", "codex"], ["chatlog", "capture", "--hook", "claude-code"]
IN_A_HURRY = (
    "import sys, time\nfrom satchel.cli import hooked\n"
    "for name in hooked.LIMIT_MS: hooked.LIMIT_MS[name] = 400\n"
)
RUN = "from satchel.cli.main import run\nrun(sys.argv[1:])"
HUNG_SETTINGS = "from satchel import config\nconfig.load = lambda **_: time.sleep(60)\n"
"""As on a network folder that does not answer: no file of a test can be made to hang so."""


def ended(program: str, *words: str, stdin: bytes | None = None) -> float:
    """Run it to its end, which is well and without a word; how long it took (s).

    Its stdin is kept open where nothing is said there.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin
    if stdin is not None:
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
    try:
        assert process.wait(timeout=30) == 0
        took_s = time.monotonic() - began
        assert process.communicate() == (b"", b"")
    finally:
        process.kill()
    return took_s


def test_the_time_before_the_settings_are_known_is_their_default() -> None:
    assert hooked.LIMIT_MS["recall"] == BY_NAME["recall.timeout_ms"].default
    assert set(hooked.LIMIT_MS) == {" ".join(one) for one in hooked.COMMANDS}


@pytest.mark.parametrize("words", [RECALL, CAPTURE])
def test_settings_that_hang_and_an_open_stdin_hold_no_host(
    tmp_path: Path, words: list[str]
) -> None:
    home, command = ["--home", str(tmp_path)], " ".join(words[:-2])
    said = call(words[-1], "stop")
    assert ended(IN_A_HURRY + HUNG_SETTINGS + RUN, *home, *words, stdin=said) < 20
    if words is CAPTURE:  # recall's is in test_processes
        assert ended(IN_A_HURRY + RUN, *home, *words) < 20
    found = listed(tmp_path)
    assert {(one.command, one.host, one.code) for one in found} == {
        (command, words[-1], "hook_late")
    }
    assert " 400 ms" in found[0].message
    told = hooks(tmp_path)
    assert command in told.found
    assert ("chatlog capture --all" in told.fix) is (words is CAPTURE)


def test_a_pipe_in_place_of_the_settings_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.toml")
    home = ["--home", str(tmp_path)]
    for words in (RECALL, CAPTURE):
        ended("import sys\n" + RUN, *home, *words, stdin=call(words[-1], "stop"))
    assert {one.code for one in listed(tmp_path)} == {"config_invalid"}
    for words in (["search", "x"], ["config", "set", "recall.hits", "3"]):
        done = subprocess.run(
            [*COMMAND, *home, *words], capture_output=True, env=environment(), timeout=30
        )
        assert done.returncode != 0
        error = json.loads(done.stderr.splitlines()[-1])["error"]
        assert (error["code"], error["field"]) == ("config_invalid", "config")
        assert "it is no file" in error["message"]


def test_a_database_that_another_holds_delays_no_host(tmp_path: Path) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("which shed?")
    home = tmp_path / "home"
    open_replica(Settings(home=home, embedding="off")).close()
    said = call("claude-code", "stop", transcript_path=str(log.path), session_id=SESSION)
    words = ["--home", str(home), *CAPTURE]
    with closing(sqlite3.connect(home / "satchel.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert ended(IN_A_HURRY + RUN, *words, stdin=said) < 20
    assert [one.code for one in listed(home)] == ["hook_late"]
    ended("import sys\n" + RUN, *words, stdin=said)
    with open_replica(Settings(home=home, embedding="off")) as replica:
        (turn,) = chatlog.show(replica, SESSION)["items"]
    assert turn["content"] == "which shed?"


@pytest.mark.parametrize(
    "hung",
    [
        "watchdog.armed(200, lambda _: time.sleep(60))",
        "watchdog.armed(200, print), watchdog.answering()",
    ],
)
def test_neither_a_hung_disk_nor_a_hung_reader_keeps_it(hung: str) -> None:
    program = f"import time\nfrom satchel.hooks import watchdog\nwith {hung}: time.sleep(60)"
    assert ended(program) < 20


def test_the_settings_move_the_end_both_ways_and_who_is_done_is_let_go() -> None:
    longer = (
        "import sys, time\nfrom satchel.hooks import watchdog\n"
        "def late(ms): open(sys.argv[1], 'a').write(str(ms))\n"
        "with watchdog.armed(300, late):\n    watchdog.limit(30_000)\n    time.sleep(0.6)\n"
        "time.sleep(0.1)\nsys.exit({code})"
    )
    done = subprocess.run([sys.executable, "-c", longer.format(code=7), "unused"], timeout=30)
    assert done.returncode == 7
    shorter = longer.replace("30_000", "50").replace("sleep(0.6)", "sleep(60)")
    assert ended(shorter.format(code=7), os.devnull) < 20
