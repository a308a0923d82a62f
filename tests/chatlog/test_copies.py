"""What one conversation repeats of another is kept once, and what was forgotten stays forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_memory import opened, seen_as
from fix_transcripts import SESSION, THREAD, ClaudeCode, Codex, claude_code, codex

from satchel.capture.keep import Captured, capture
from satchel.errors import NotFound
from satchel.memory import chatlog, forget, promotion
from satchel.replica import Replica
from satchel.store import rows
from satchel.transcripts.reading import read
from satchel_sync.tables import CHATLOG

TALK = [
    ("user", "How is the weather in Oslo today?"),
    ("assistant", "I can not know that."),
    ("user", "My blood test from doctor Hansen says diabetes type two."),
    ("assistant", "I am sorry to hear that."),
]


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with opened(tmp_path, embedding="off") as found:
        yield found


def said_in_codex(log: Codex, talk: list[tuple[str, str]]) -> None:
    for role, words in talk:
        log.message(role, words)


def said_in_claude(log: ClaudeCode, talk: list[tuple[str, str]]) -> None:
    for number, (role, words) in enumerate(talk):
        block = {"type": "text", "text": words}
        if role == "user":
            log.user(words)
        else:
            log.answer(block, message=f"msg_{len(log.written)}_{number}")


def codex_fork(folder: Path, name: str, of: str, talk: list[tuple[str, str]], second: int) -> Codex:
    """A fork as Codex writes it: its own head, then all that was said, at new times."""
    fork = codex(folder / name)
    fork.second = second
    fork.meta(id=name, forked_from_id=of)
    fork.meta()
    said_in_codex(fork, talk)
    return fork


def claude_copy(folder: Path, name: str, of: ClaudeCode) -> ClaudeCode:
    """What an older `--resume` writes: the same records under another session's id."""
    copy = claude_code(folder / name)
    copy.session = name
    for record in of.written:
        copy.add(record | {"sessionId": name})
    copy.second = of.second + 100
    return copy


def captured(replica: Replica, log: Codex | ClaudeCode) -> Captured:
    host = "codex" if isinstance(log, Codex) else "claude-code"
    return capture(replica, read(log.path, host).turns, scope="user")


def contents(replica: Replica, conversation: str) -> list[str]:
    try:
        return [one["content"] for one in chatlog.show(replica, conversation)["items"]]
    except NotFound:
        return []


def forget_turns(replica: Replica, conversation: str, gone: tuple[int, ...], how: str) -> None:
    """As a user does it (a memory of the turn, forgotten with what repeats it), or a delete."""
    keys = [one["id"] for one in chatlog.show(replica, conversation)["items"]]
    for at in gone:
        if how == "forgotten":
            made = promotion.promote_turn(replica, keys[at]).id
            assert keys[at] in forget.forget(replica, [made], linked=True, confirm=True)["linked"]
        else:
            with replica.store.write() as db:
                assert rows.delete(db, CHATLOG, keys[at])


GONE = [(0,), (2,), (3,), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
@pytest.mark.parametrize("gone", [*GONE, (0, 1, 2, 3)], ids=str)
def test_a_fork_of_codex_brings_back_nothing(
    replica: Replica, tmp_path: Path, gone: tuple[int, ...], how: str
) -> None:
    log = codex(tmp_path / "log")
    log.meta()
    said_in_codex(log, TALK)
    captured(replica, log)
    forget_turns(replica, THREAD, gone, how)
    fork = codex_fork(tmp_path, "fork-1", THREAD, TALK, 500)
    fork.message("user", "and now?")
    left = [words for at, (_, words) in enumerate(TALK) if at not in gone]
    for made in (1, 0):
        done = captured(replica, fork)
        assert (done.created, done.exists, done.forgotten) == (
            made,
            5 - made - len(gone),
            len(gone),
        )
    assert (contents(replica, "fork-1"), contents(replica, THREAD)) == (["and now?"], left)
    fork.message("assistant", "Now it rains.")
    captured(replica, fork)
    # A fork of the fork repeats both; what was forgotten in either stays so.
    forget_turns(replica, "fork-1", (0,), how)
    again = [*TALK, ("user", "and now?"), ("assistant", "Now it rains.")]
    second = codex_fork(tmp_path, "fork-2", "fork-1", again, 900)
    second.message("user", "and tomorrow?")
    done = captured(replica, second)
    assert (done.created, done.forgotten) == (1, len(gone) + 1)
    assert contents(replica, "fork-2") == ["and tomorrow?"]
    assert captured(replica, second).created == 0
    assert (contents(replica, "fork-1"), contents(replica, THREAD)) == (["Now it rains."], left)


@pytest.mark.parametrize("how", ["forgotten", "deleted"])
@pytest.mark.parametrize("gone", [(), *GONE], ids=str)
def test_a_session_of_claude_code_under_another_id_brings_back_nothing(
    replica: Replica, tmp_path: Path, gone: tuple[int, ...], how: str
) -> None:
    log = claude_code(tmp_path / "log")
    said_in_claude(log, TALK)
    captured(replica, log)
    forget_turns(replica, SESSION, gone, how)
    copy = claude_copy(tmp_path, "copy-1", log)
    copy.user("and now?")
    left = [words for at, (_, words) in enumerate(TALK) if at not in gone]
    for made in (1, 0):
        done = captured(replica, copy)
        assert (done.created, done.exists, done.forgotten) == (
            made,
            5 - made - len(gone),
            len(gone),
        )
    assert (contents(replica, "copy-1"), contents(replica, SESSION)) == (["and now?"], left)
    second = claude_copy(tmp_path, "copy-2", copy)
    second.user("and tomorrow?")
    for made in (1, 0):
        assert captured(replica, second).created == made
    log.user("In the first one again.")
    assert (captured(replica, log).created, captured(replica, copy).created) == (1, 0)
    assert contents(replica, "copy-2") == ["and tomorrow?"]
    assert contents(replica, "copy-1") == ["and now?"]
    assert contents(replica, SESSION) == [*left, "In the first one again."]


def test_what_began_alike_or_is_anothers_is_no_copy(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as replica:
        log, other = claude_code(tmp_path / "log"), claude_code(tmp_path / "other")
        other.session = "alike"
        for one, words in ((log, "one"), (other, "two")):
            one.user("Run the tests.")
            one.user(words)
        assert [captured(replica, one).created for one in (log, other)] == [2, 2]
        assert contents(replica, "alike") == ["Run the tests.", "two"]
        copy = claude_copy(tmp_path, "copy-1", log)
        turns = read(copy.path, "claude-code").turns
        ada = seen_as(replica, "ada")
        assert capture(ada, turns, scope="agent").created == 2  # the others are the user's
        assert capture(seen_as(replica, "bob"), turns, scope="agent").created == 2
        assert capture(seen_as(replica, None), turns, scope="user").created == 0
