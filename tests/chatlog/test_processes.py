"""Capture in processes of its own: no secret on the disk, nothing lost by a kill, two at once."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from fix_command import COMMAND, environment
from fix_transcripts import SESSION, claude_code, text, tool_use

from satchel.config import Settings
from satchel.hooks import failures
from satchel.memory import chatlog
from satchel.replica import open_replica
from satchel.transcripts.reading import read


def call(path: Path, **more: Any) -> bytes:
    """What Claude Code writes to the stdin of a Stop hook."""
    said = {"session_id": SESSION, "cwd": "/home/una/shed", "hook_event_name": "Stop"}
    return json.dumps({**said, "transcript_path": str(path), **more}).encode()


SECRETS = (
    "AKIAIOSFODNN7EXAMPLQ",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "correct-horse-battery-9",
    "sk-ant-api03-R2D2R2D2R2D2R2D2R2D2R2D2R2D2R2D2R2D2R2D2-AA",
)

CUT = "correct-hor"
"""The beginning of one, which lies across the place where a tool's call is cut."""


def test_no_secret_touches_the_disk(tmp_path: Path) -> None:
    """In a process of its own, whose temporary files would lie in a folder that is looked at."""
    key, token, password, other = SECRETS
    log = claude_code(tmp_path / "claude")
    log.user(f"the key is {key}")
    log.answer(text(f"I use {token}"), tool_use("Bash", command=f"export PASSWORD='{password}'"))
    log.answer(text("hm"), message="m2", model=f"claude {other}")
    log.user("x", cwd=f"/home/una/{token}", gitBranch=key)
    log.user("y", sessionId=token)
    log.answer(tool_use("Write", content="z" * 1_955 + f"\npassword = '{password}'"), message="m3")
    log.raw(b'{"broken": "' + key.encode() + b"\n")
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    scratch.mkdir()
    words = ["--home", str(home), "chatlog", "capture", "--hook", "claude-code"]
    done = subprocess.run(
        [*COMMAND, *words],
        input=call(log.path, last_assistant_message=token),
        capture_output=True,
        env=environment(TMPDIR=str(scratch)),
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    with open_replica(Settings(home=home, embedding="off")) as replica:
        assert chatlog.show(replica, SESSION)["items"][0]["content"] == (
            "the key is [redacted: AWS key]"
        )
    for file in (one for one in tmp_path.rglob("*") if one.is_file() and one != log.path):
        raw = file.read_bytes()
        for secret in (*SECRETS, CUT):
            assert secret.encode() not in raw, file


TURNS = 1_200


def begun(words: list[str], said: bytes) -> subprocess.Popen[bytes]:
    started = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment())
    assert started.stdin is not None
    started.stdin.write(said)
    started.stdin.close()
    return started


def counted(home: Path) -> tuple[int, int, int]:
    """Turns, different ones, the last ordinal; zeros while there is no table yet."""
    sql = "SELECT count(*), count(DISTINCT content), coalesce(max(ordinal), -1) FROM chatlog"
    try:
        with closing(sqlite3.connect(f"file:{home / 'satchel.db'}?mode=ro", uri=True)) as db:
            found: tuple[int, int, int] = db.execute(sql).fetchone()
    except sqlite3.OperationalError:
        return 0, 0, -1
    return found


def test_what_was_committed_before_a_kill_is_kept_and_the_rest_comes_next(tmp_path: Path) -> None:
    log = claude_code(tmp_path / "claude")
    for number in range(TURNS):
        log.user(f"turn {number}")
    home = tmp_path / "home"
    said = call(log.path)
    words = [*COMMAND, "--home", str(home), "chatlog", "capture", "--hook", "claude-code"]
    before = 0
    for _ in range(2):
        started = begun(["nice", "-n", "10", *words], said)  # whoever watches must be faster
        while counted(home)[0] <= before:
            assert started.poll() is None, "it ended before it was killed"
            threading.Event().wait(0.01)
        started.kill()
        started.wait()
        count, different, last = counted(home)
        assert count == different == last + 1
        assert before < count < TURNS
        before = count
    pair = [begun(words, said), begun(words, said)]  # two hooks at once
    assert [one.wait(60) for one in pair] == [0, 0]
    with open_replica(Settings(home=home, embedding="off")) as replica:
        found = chatlog.show(replica, SESSION)["items"]
    assert [one["content"] for one in found] == [one.content for one in read(log.path).turns]
    assert failures.listed(home) == []
