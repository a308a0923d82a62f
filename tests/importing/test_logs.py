"""Session logs of hosts: turns are kept once, without their secrets; bad lines are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fix_importing import taken
from fix_memory import seen_as
from fix_transcripts import SESSION, claude_code, codex, gemini_cli, text

from satchel.errors import InvalidInput
from satchel.memory import chatlog
from satchel.replica import Replica

KEY = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder as Claude Code keeps one, with two sessions and a broken line."""
    folder = tmp_path / "projects/-home-una-shed"
    one = claude_code(folder)
    one.user("paint the shed green")
    one.answer(text("which green?"))
    one.raw(b"{oops\n")
    one.user(f"the key is {KEY}")
    other = claude_code(folder, "another")
    other.session = "another"
    other.user("and the door?")
    (folder / "notes.txt").write_text("no session")
    (folder / "empty.jsonl").write_text("")
    return tmp_path / "projects"


def said(replica: Replica) -> set[tuple[str, str, str | None]]:
    with replica.store.read() as db:
        sql = "SELECT role, content, host_agent FROM chatlog"
        found: Any = db.execute(sql).fetchall()
    return set(found)


def test_a_folder_without_any_is_told(replica: Replica, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "notes.txt").write_text("no session")
    found = taken(replica, "claude-code", tmp_path / "here")
    assert (found["ok"], found["records"], found["warned"]) == (True, 0, 1)
    assert "nothing of claude-code" in found["warnings"][0]


def test_a_folder_of_sessions(replica: Replica, logs: Path) -> None:
    answer = taken(replica, "claude-code", logs, code=1)
    (error,) = answer["errors"]
    assert (error["file"], error["line"]) == (f"-home-una-shed/{SESSION}.jsonl", 3)
    assert answer["kinds"] == {"chatlog": {"created": 4}}
    assert answer["left_out"] == {"files without turns": 1}
    found = said(replica)
    assert {host for _, _, host in found} == {"claude-code"}
    assert {(role, content) for role, content, _ in found} > {
        ("user", "paint the shed green"),
        ("assistant", "which green?"),
        ("user", "and the door?"),
    }
    assert not any(KEY in content for _, content, _ in found)
    assert answer["warned"] == 1
    assert KEY not in str(answer)


def test_the_same_again_and_what_was_said_since(replica: Replica, logs: Path) -> None:
    taken(replica, "claude-code", logs, code=1)
    again = taken(replica, "claude-code", logs, code=1)
    assert again["kinds"] == {"chatlog": {"exists": 4}}
    other = claude_code(logs / "-home-una-shed", "another")
    other.session, other.second, other.written = "another", 50, [{}]
    other.user("blue, then")
    more = taken(replica, "claude-code", logs, code=1)
    assert more["kinds"] == {"chatlog": {"exists": 4, "created": 1}}


def test_codex_and_gemini(replica: Replica, tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.meta()
    log.context()
    log.message("user", "is it dry?")
    log.message("assistant", "by noon")
    taken(replica, "codex", log.path)
    chat = gemini_cli(tmp_path / "chats")
    chat.head()
    chat.message("user", "who has the ladder?", "m1")
    taken(replica, "gemini-cli", tmp_path / "chats")
    assert said(replica) == {
        ("user", "is it dry?", "codex"),
        ("assistant", "by noon", "codex"),
        ("user", "who has the ladder?", "gemini-cli"),
    }


def test_whose_they_are(replica: Replica, logs: Path) -> None:
    taken(seen_as(replica, "bob"), "claude-code", logs, code=1, space="shed")
    with replica.store.read() as db:
        owners = set(db.execute("SELECT scope, space, agent_id, user_id FROM chatlog").fetchall())
    assert owners == {("space", "shed", "bob", "una")}
    found = chatlog.search(seen_as(replica, "ada"), "which green")
    assert "which green?" in [hit.snippet for hit in found.hits]


def test_options_that_a_turn_has_no_place_for(replica: Replica, logs: Path) -> None:
    with pytest.raises(InvalidInput, match="--scope and --space only"):
        taken(replica, "claude-code", logs, local=True)


def test_what_is_no_session(replica: Replica, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\x00\xff" * 100)
    answer = taken(replica, "claude-code", path, code=1)
    assert answer["errors"][0]["file"] == "x.jsonl"
    with pytest.raises(InvalidInput, match="not stdin"):
        taken(replica, "codex", Path("-"))
