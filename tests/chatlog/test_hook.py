"""`satchel chatlog capture`: as hosts run it, by name and for all; it never fails a host."""

from __future__ import annotations

import io
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_command import Run
from fix_transcripts import (
    CHAT,
    SESSION,
    THREAD,
    Codex,
    claude_code,
    codex,
    gemini_cli,
    text,
)

from satchel.cli import capture as door
from satchel.cli import main
from satchel.config import Settings
from satchel.hooks import failures
from satchel.memory import chatlog
from satchel.replica import open_replica

Shell = Callable[..., Run]


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Shell:
    """`satchel chatlog capture …` in this process, in a home and a user's folder of its own."""
    # The hook on sockets can't be taken off: it would stay for all that this process tests next.
    monkeypatch.setattr(main, "enforce", lambda: None)
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_EMBEDDING", "off")
    monkeypatch.setenv("SATCHEL_STORE_DURABILITY", "process")
    monkeypatch.setenv("SATCHEL_USER", "una")
    monkeypatch.setenv("HOME", str(tmp_path / "una"))
    for name in ("SATCHEL_AGENT", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, stdin: bytes | dict[str, Any] = b"", verb: str = "chatlog capture") -> Run:
        raw = json.dumps(stdin).encode() if isinstance(stdin, dict) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        code = main._run([*verb.split(), *words])
        out, err = capfd.readouterr()
        return Run(code, out, err)

    return run


def home_of(tmp_path: Path) -> Path:
    return tmp_path / "home"


def kept(tmp_path: Path, conversation: str) -> list[dict[str, Any]]:
    with open_replica(Settings(home=home_of(tmp_path), user_id="una", embedding="off")) as found:
        items: list[dict[str, Any]] = chatlog.show(found, conversation)["items"]
        return items


def failed(tmp_path: Path) -> list[str]:
    return [one.code for one in failures.listed(home_of(tmp_path))]


def call(event: str, path: Path | None, **more: Any) -> dict[str, Any]:
    said = {"session_id": SESSION, "cwd": "/home/una/shed", "hook_event_name": event}
    return {**said, "transcript_path": None if path is None else str(path), **more}


# ---- hooks --------------------------------------------------------------------------------------


def test_each_moment_of_each_host_keeps_the_session(shell: Shell, tmp_path: Path) -> None:
    log = claude_code(tmp_path / "claude")
    for event in ("Stop", "PreCompact", "SessionEnd", "PostToolUse"):
        log.user(f"before {event}")
        assert shell("--hook", "claude-code", stdin=call(event, log.path)) == Run(0, "", "")
        assert kept(tmp_path, SESSION)[-1]["content"] == f"before {event}"
    assert shell("--hook=claude-code", stdin=call("Stop", log.path)) == Run(0, "", "")
    rollout = codex(tmp_path / "codex")
    rollout.meta()
    rollout.message("user", "hello codex")
    assert shell("--hook", "codex", stdin=call("Stop", rollout.path)) == Run(0, "", "")
    chat = gemini_cli(tmp_path / "gemini" / "chats")
    chat.head()
    chat.message("user", "hello gemini", "m1")
    assert shell("--hook", "gemini-cli", stdin=call("AfterAgent", chat.path)) == Run(0, "", "")
    assert len(kept(tmp_path, SESSION)) == 4
    (said,) = kept(tmp_path, THREAD)
    assert (said["content"], said["agent_id"], said["host_agent"]) == (
        "hello codex", "codex", "codex",
    )  # fmt: skip
    assert (said["scope"], said["user_id"]) == ("user", "una")
    assert [one["content"] for one in kept(tmp_path, CHAT)] == ["hello gemini"]
    assert failed(tmp_path) == []
    audit = shell("--chain", "writes", verb="audit log").json["items"]
    captured = [one for one in audit if one["rows"]]
    assert {one["tool"] for one in captured} == {"chatlog_capture"}
    assert {one["actor"] for one in captured} == {"claude-code", "codex", "gemini-cli"}


def test_a_configured_agent_keeps_its_own(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("mine")
    shell("--agent", "planner", "--hook", "claude-code", stdin=call("Stop", log.path))
    (said,) = kept(tmp_path, SESSION)
    assert (said["scope"], said["agent_id"]) == ("agent", "planner")


def test_sub_agents_are_kept_with_their_session(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "claude"
    log = claude_code(folder)
    log.user("look around")
    inner = claude_code(folder / SESSION / "subagents", "agent-d2")
    inner.agent = "d2"
    inner.user("look for doors")
    older = claude_code(folder, "agent-e3")
    older.agent = "e3"
    older.user("look for windows")
    other = claude_code(folder, "agent-f4")
    other.session, other.agent = "another", "f4"
    other.user("look elsewhere")
    chat = gemini_cli(tmp_path / "gemini" / "chats")
    chat.head()
    child = gemini_cli(tmp_path / "gemini" / "chats" / CHAT)
    child.head(sessionId="child", kind="subagent")
    child.message("user", "look for roofs", "m1")
    shell("--hook", "claude-code", stdin=call("Stop", log.path))
    shell("--hook", "gemini-cli", stdin=call("SessionEnd", chat.path, session_id=CHAT))
    listed = shell(verb="chatlog list").json["items"]
    wanted = {SESSION, f"{SESSION}:d2", f"{SESSION}:e3", "child"}
    assert {one["conversation_id"] for one in listed} == wanted
    given = call("SubagentStop", log.path, agent_transcript_path=str(other.path))
    shell("--hook", "claude-code", stdin=given)
    assert [one["content"] for one in kept(tmp_path, "another:f4")] == ["look elsewhere"]


@pytest.mark.parametrize("after_s", [0.1, None])
def test_an_answer_that_is_not_written_yet_is_waited_for_and_not_for_long(
    shell: Shell, tmp_path: Path, after_s: float | None
) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("paint it")
    log.answer(text("I will."))
    late = threading.Timer(after_s or 60, lambda: log.answer(text("Done."), message="m2"))
    late.start()
    stop = call("Stop", log.path, last_assistant_message="Done.\n")
    assert shell("--hook", "claude-code", stdin=stop) == Run(0, "", "")
    late.cancel()
    wanted = ["paint it", "I will.", *(["Done."] if after_s else [])]
    assert [one["content"] for one in kept(tmp_path, SESSION)] == wanted


def test_a_fork_is_kept_with_what_it_came_from(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "una" / ".codex" / "sessions"
    first = codex(folder)
    first.meta()
    first.message("user", "paint it")
    fork = Codex(folder / "rollout-2026-11-03T00-00-00-fork-1.jsonl", second=500)
    fork.meta(id="fork-1", forked_from_id=THREAD)
    fork.meta()
    fork.message("user", "paint it")
    fork.message("user", "and the door")
    assert shell("--hook", "codex", stdin=call("Stop", fork.path)) == Run(0, "", "")
    assert [one["content"] for one in kept(tmp_path, THREAD)] == ["paint it"]
    assert [one["content"] for one in kept(tmp_path, "fork-1")] == ["and the door"]
    first.message("user", "later")  # the file of the origin is the newer one now
    assert shell("--all").json["created"] == 1


BAD_CALLS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "hook_unreadable"),
    "no JSON": (b"{", "hook_unreadable"),
    "a list": (b"[]", "hook_unreadable"),
    "no event": (b"{}", "hook_unreadable"),
    "not UTF-8": (b'{"hook_event_name": "\xff"}', "hook_unreadable"),
    "nested": (b"[" * 100_000, "hook_unreadable"),
    "an absent file": (
        b'{"hook_event_name": "Stop", "transcript_path": "/nowhere/x.jsonl"}',
        "transcript_unreadable",
    ),
    "a device": (
        b'{"hook_event_name": "Stop", "transcript_path": "/dev/zero"}',
        "transcript_unreadable",
    ),
    "a path with NUL": (
        b'{"hook_event_name": "Stop", "transcript_path": "a\\u0000b"}',
        "transcript_unreadable",
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_is_doctors_to_tell(shell: Shell, tmp_path: Path, name: str) -> None:
    said, code = BAD_CALLS[name]
    home_of(tmp_path).mkdir()
    assert shell("--hook", "claude-code", stdin=said) == Run(0, "", "")
    assert failed(tmp_path) == [code]


def test_no_failure_of_ours_reaches_the_host(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("hello")
    stop = call("Stop", log.path)
    home = home_of(tmp_path)
    home.mkdir()
    assert shell("--hook", "cursor", stdin=stop) == Run(0, "", "")
    assert shell("--hook", "claude-code", "--file", "x", stdin=stop) == Run(0, "", "")
    assert shell("--hook", "claude-code", "--nonsense", stdin=stop) == Run(0, "", "")
    (home / "config.toml").write_text("nonsense = [")
    assert shell("--hook", "claude-code", stdin=stop) == Run(0, "", "")
    (home / "config.toml").unlink()
    (home / "satchel.db").write_bytes(b"no database" * 1000)
    assert shell("--hook", "claude-code", stdin=stop) == Run(0, "", "")
    (home / "satchel.db").unlink()
    monkeypatch.setattr("satchel.capture.hook.capture", _explode)
    assert shell("--hook", "claude-code", stdin=stop) == Run(0, "", "")
    host, both, _, config, store, ours = failed(tmp_path)
    assert (host, both) == ("hook_unreadable", "invalid_input")
    assert (config, store, ours) == ("config_invalid", "store_unusable", "internal")


def _explode(*given: object, **named: object) -> None:
    raise ZeroDivisionError("the key is AKIAIOSFODNN7EXAMPLQ")


def test_a_failure_never_tells_a_secret(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("hello")
    monkeypatch.setattr("satchel.capture.hook.capture", _explode)
    shell("--hook", "claude-code", stdin=call("Stop", log.path))
    raw = (home_of(tmp_path) / failures.FAILURES_FILE).read_text()
    assert "redacted" in raw
    assert "AKIA" not in raw


def test_a_session_in_which_nothing_was_said_is_no_failure(shell: Shell, tmp_path: Path) -> None:
    absent = tmp_path / "absent.jsonl"
    for event in ("SessionEnd", "SessionStart", "UserPromptSubmit"):
        assert shell("--hook", "claude-code", stdin=call(event, absent)) == Run(0, "", "")
    assert shell("--hook", "codex", stdin=call("Stop", None)) == Run(0, "", "")
    assert failed(tmp_path) == []


def test_a_format_that_nobody_knows_any_more_is_told(shell: Shell, tmp_path: Path) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("readable")
    log.raw(b"{broken\n")
    shell("--hook", "claude-code", stdin=call("Stop", log.path))
    assert failed(tmp_path) == [], "one broken line is the file's"
    other = tmp_path / "claude" / "other.jsonl"
    other.write_bytes(b"\x00\x01binary\n" * 3)
    shell("--hook", "claude-code", stdin=call("Stop", other))
    assert failed(tmp_path) == ["transcript_unreadable"]


def test_one_transcript_that_cannot_be_read_does_not_hold_up_the_others(
    shell: Shell, tmp_path: Path
) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("main")
    inner = claude_code(tmp_path / "claude" / SESSION / "subagents", "agent-b2")
    inner.agent = "b2"
    inner.user("inner")
    (inner.path.parent / "agent-a1.jsonl").symlink_to(log.path)
    shell("--hook", "claude-code", stdin=call("Stop", log.path))
    assert len(kept(tmp_path, SESSION)) == len(kept(tmp_path, f"{SESSION}:b2")) == 1
    assert failed(tmp_path) == ["transcript_unreadable"]


def test_codex_before_it_had_hooks(shell: Shell, tmp_path: Path) -> None:
    log = codex(tmp_path / "una" / ".codex" / "sessions" / "2026" / "11" / "02")
    log.meta()
    log.message("user", "hello")
    said = json.dumps({"type": "agent-turn-complete", "thread-id": THREAD, "turn-id": "1"})
    assert shell("--hook", "codex", said) == Run(0, "", "")
    assert [one["content"] for one in kept(tmp_path, THREAD)] == ["hello"]
    for wrong in ("{}", "[", '{"thread-id": 7}'):
        assert shell("--hook", "codex", wrong) == Run(0, "", "")
    assert failed(tmp_path) == ["hook_unreadable"] * 3


# ---- by name, and all ---------------------------------------------------------------------------


def test_a_file_by_its_name(shell: Shell, tmp_path: Path) -> None:
    log = claude_code(tmp_path / "claude")
    log.user("hello")
    log.raw(b"{broken\n")
    answer = shell("--file", str(log.path)).json
    (item,) = answer.pop("items")
    assert answer == {
        "files": 1, "conversations": 1, "created": 1, "exists": 0, "updated": 0,
        "forgotten": 0, "refused": 0, "redactions": 0, "failed": [],
    }  # fmt: skip
    assert (item["host"], item["file"]) == ("claude-code", str(log.path))
    assert [(one["line"], one["code"]) for one in item["faults"]] == [(2, "broken_json")]
    assert shell("--file", str(log.path), "--host", "claude-code").json["exists"] == 1


def test_what_is_wrong_is_told_to_a_person(shell: Shell, tmp_path: Path) -> None:
    for words, code, field in (
        ((), 2, "file"),
        (("--all", "--file", "x"), 2, "file"),
        (("--file", str(tmp_path / "absent")), 1, "file"),
        (("--all", "--host", "codexx"), 2, "host"),
        (("--file", str(tmp_path), "--host", "cursor"), 2, "host"),
        (("--all", "notify"), 2, "notification"),
    ):
        done = shell(*words)
        assert (done.code, done.out, done.error["field"]) == (code, "", field), words


def test_all_that_the_hosts_of_this_machine_wrote(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    una = tmp_path / "una"
    log = claude_code(una / ".claude" / "projects" / "-home-una")
    log.user("to claude")
    (log.path.parent / "broken.jsonl").symlink_to("/etc/passwd")
    (log.path.parent / "notes.txt").write_text("no transcript")
    (una / ".claude" / "projects" / "elsewhere").symlink_to("/")
    rollout = codex(tmp_path / "codex" / "archived_sessions")
    rollout.meta()
    rollout.message("user", "to codex")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    chat = gemini_cli(una / ".gemini" / "tmp" / "ab" / "chats")
    chat.head()
    chat.message("user", "to gemini", "m1")
    (una / ".gemini" / "tmp" / "ab" / "logs.json").write_text("[]")
    done = shell("--all")
    answer = done.json
    assert (done.code, answer["files"], answer["created"]) == (1, 4, 3)
    assert [one["code"] for one in answer["failed"]] == ["transcript_unreadable"]
    (log.path.parent / "broken.jsonl").unlink()
    done = shell("--all", "--host", "codex")
    assert (done.code, done.json["files"], done.json["items"]) == (0, 1, [])
    assert shell("--all").json["exists"] == 3


def test_both_ways_to_read_the_command_line_mean_the_same(tmp_path: Path) -> None:
    words = ["--json", "chatlog", "capture", "--file", "x", "--host", "codex", "--results"]
    found = door.read([*words, "--space", "s", "--scope", "space", "--home", "h"])
    assert found is not None
    wanted = door.Wanted(file="x", host="codex", results=True, space="s", scope="space")
    assert found.wanted == wanted
    assert (found.options.home, found.options.json) == ("h", True)
    for others in (["chatlog", "list"], [*words, "--nonsense"], [*words, "a", "b"], ["recall"]):
        assert door.read(others) is None
