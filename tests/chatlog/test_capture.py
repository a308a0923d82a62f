"""Capturing: each turn once, however often and in whatever state a transcript is captured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fix_memory import opened, seen_as, settings
from fix_transcripts import (
    CHAT,
    SESSION,
    THREAD,
    claude_code,
    codex,
    gemini_cli,
    stamp_ms,
    text,
    tool_use,
)
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from satchel.capture import keep
from satchel.capture.keep import Captured, capture
from satchel.memory import chatlog
from satchel.memory.limits import TEXT_BYTES_MAX
from satchel.replica import Replica
from satchel.store import rows, scrubbing
from satchel.transcripts.reading import read
from satchel.transcripts.turn import Turn
from satchel_sync.tables import CHATLOG


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[Replica]:
    with opened(tmp_path, embedding="off") as found:
        yield found


def again(replica: Replica, path: Path, **more: Any) -> tuple[int, int, int]:
    """Capture a file: how many turns were created, were there, were corrected."""
    done = capture(replica, read(path).turns, **more)
    return done.created, done.exists, done.updated


def kept(replica: Replica, conversation: str = SESSION) -> list[str]:
    return [one["content"] for one in chatlog.show(replica, conversation)["items"]]


def test_a_grown_file_adds_what_is_new(replica: Replica, tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.user("yes")
    log.answer(text("ok"))
    assert again(replica, log.path) == (2, 0, 0)
    log.user("yes")  # the same words, said again
    log.answer(text("ok"), message="msg_2")
    assert again(replica, log.path) == (2, 2, 0)
    assert again(replica, log.path) == (0, 4, 0)
    assert kept(replica) == ["yes", "ok", "yes", "ok"]
    turns = chatlog.show(replica, SESSION)["items"]
    assert [one["ordinal"] for one in turns] == [0, 1, 2, 3]
    first, answer = turns[:2]
    assert (first["said_at"], first["host_agent"]) == (stamp_ms(1), "claude-code")
    assert (answer["model"], answer["tokens_in"], answer["tokens_out"]) == (
        "claude-sonnet-4-5-20250929", 1110, 50,
    )  # fmt: skip


def test_what_an_answer_took_is_corrected_when_it_is_known(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    log.answer(text("I will."), tokens=(10, 0, 0, 1))  # while it is still being written
    assert again(replica, log.path) == (1, 0, 0)
    log.answer(tool_use("Bash", command="ls"), tokens=(10, 0, 0, 80))
    assert again(replica, log.path) == (1, 1, 1)
    assert again(replica, log.path) == (0, 2, 0)
    found = chatlog.show(replica, SESSION)["items"]
    assert [one["tokens_out"] for one in found] == [80, None]


def test_what_is_stored_as_it_was_written_is_not_searched_again(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = claude_code(tmp_path)
    log.user("harmless")
    log.user("the key is AKIAIOSFODNN7EXAMPLQ")
    log.answer(tool_use("Write", content="x" * 5_000), tokens=(1, 0, 0, 1))
    again(replica, log.path)
    searched: list[str] = []
    monkeypatch.setattr(keep, "cleaned", lambda turn, mode: searched.append(turn.content) or [])
    assert again(replica, log.path) == (0, 2, 0)
    assert searched == ["the key is AKIAIOSFODNN7EXAMPLQ"]
    monkeypatch.undo()
    log.answer(text("more"), tokens=(1, 0, 0, 9))  # of the same answer: its count has grown
    assert again(replica, log.path) == (1, 3, 1)
    grown = chatlog.show(replica, SESSION)["items"][2]
    assert (grown["tokens_out"], grown["model"]) == (9, "claude-sonnet-4-5-20250929")
    assert json.loads(grown["metadata"])["tool"] == "Write"


def test_a_compacted_file_loses_nothing_and_doubles_nothing(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    for words in ("a", "b", "a", "c"):
        log.user(words)
    again(replica, log.path)
    records = log.written
    log.path.write_text("".join(json.dumps(one) + "\n" for one in records[2:]))
    log.user("They said a, b and a.", isCompactSummary=True)
    log.user("a")
    assert again(replica, log.path) == (2, 2, 0)
    assert kept(replica) == ["a", "b", "a", "c", "They said a, b and a.", "a"]


def test_an_edited_turn_is_another_one(replica: Replica, tmp_path: Path) -> None:
    log = gemini_cli(tmp_path)
    log.head()
    log.message("user", "paint it", "m1")
    answer = log.message("gemini", "Which colour?", "m2", model="gemini-2.5-pro")
    log.message("user", "blue", "m3")
    assert again(replica, log.path) == (3, 0, 0)
    log.add({"$rewindTo": "m3"})
    log.message("user", "green", "m4")
    log.again(answer, tokens={"input": 7, "output": 3, "cached": 0, "total": 10})
    assert again(replica, log.path) == (1, 3, 1)
    assert kept(replica, CHAT) == ["paint it", "Which colour?", "blue", "green"]
    document = tmp_path / "session-old.json"
    log.as_document(document)  # the older form of the same chat
    assert again(replica, document) == (0, 4, 0)


def test_a_fork_begins_where_it_says_something_else(replica: Replica, tmp_path: Path) -> None:
    log = codex(tmp_path)
    log.meta()
    log.message("user", "paint it")
    log.message("assistant", "Done.")
    log.tokens(1000, 0, 20)
    fork = codex(tmp_path / "fork")
    fork.second = 500
    fork.meta(id="fork-1", forked_from_id=THREAD)
    fork.meta()
    fork.message("user", "paint it")
    fork.message("assistant", "Done.")
    fork.tokens(1000, 0, 20)
    fork.message("user", "and the door")
    again(replica, log.path)
    assert again(replica, fork.path) == (1, 2, 0)
    assert again(replica, fork.path) == (0, 3, 0)
    assert (kept(replica, "fork-1"), len(kept(replica, THREAD))) == (["and the door"], 2)


@pytest.mark.parametrize("gone", [(0,), (1,), (3,), (1, 2), (0, 1, 2, 3)])
def test_what_was_forgotten_does_not_come_back(
    replica: Replica, tmp_path: Path, gone: tuple[int, ...]
) -> None:
    log = claude_code(tmp_path)
    said = ["one", "two", "three", "four"]
    for words in said:
        log.user(words)
    again(replica, log.path)
    items = chatlog.show(replica, SESSION)["items"]
    with replica.store.write() as db:
        scrubbing.scrub(db, [("chatlog", items[at]["id"]) for at in gone], replica.now_ms())
    done = capture(replica, read(log.path).turns)
    assert (done.created, done.exists, done.forgotten) == (0, 4 - len(gone), len(gone))
    log.user(said[gone[-1]])  # the same words at another time are not what was forgotten
    log.user("five")
    done = capture(replica, read(log.path).turns)
    assert (done.created, done.exists, done.forgotten) == (2, 4 - len(gone), len(gone))
    left = [words for at, words in enumerate(said) if at not in gone]
    assert kept(replica) == [*left, said[gone[-1]], "five"]
    assert capture(replica, read(log.path).turns).created == 0


def test_words_that_were_forgotten_may_be_said_again(replica: Replica) -> None:
    said = [turn("a", 1), turn("b", 2), turn("x", 3)]
    capture(replica, said)
    last = chatlog.show(replica, "talk")["items"][2]["id"]
    with replica.store.write() as db:
        scrubbing.scrub(db, [("chatlog", last)], replica.now_ms())
    done = capture(replica, [said[0], turn("x", 9), said[1]])  # as a host rewrites its file
    assert (done.created, done.exists, done.forgotten) == (1, 2, 0)
    found = chatlog.show(replica, "talk")["items"]
    assert [(one["content"], one["ordinal"]) for one in found] == [("a", 0), ("b", 1), ("x", 3)]


def test_a_deleted_turn_does_not_come_back(replica: Replica, tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.user("one")
    log.user("two")
    again(replica, log.path)
    with replica.store.write() as db:
        rows.delete(db, CHATLOG, chatlog.show(replica, SESSION)["items"][0]["id"])
    assert again(replica, log.path) == (0, 1, 0)
    assert kept(replica) == ["two"]


def turn(words: str, said_at: int | None, role: Any = "user") -> Turn:
    return Turn(
        conversation_id="talk", role=role, content=words, said_at=said_at, host_agent="codex",
        line=1,
    )  # fmt: skip


_TURN = st.builds(
    turn, st.sampled_from("ab"), st.sampled_from((None, 1, 2)), st.sampled_from(("user", "tool"))
)
_CUTS = st.lists(st.tuples(st.integers(0, 4), st.lists(_TURN, max_size=3)), max_size=3)


def places(turns: list[Turn]) -> dict[tuple[str, str, int | None], int]:
    """How often each thing was said."""
    found: dict[tuple[str, str, int | None], int] = {}
    for one in turns:
        key = (one.role, one.content, one.said_at)
        found[key] = found.get(key, 0) + 1
    return found


@examples(max_examples=25, deadline=None)
@given(st.lists(_TURN, max_size=5), _CUTS)
def test_any_history_of_a_file_keeps_each_turn_as_often_as_it_was_there_at_once(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[Turn],
    cuts: list[tuple[int, list[Turn]]],
) -> None:
    with opened(tmp_path_factory.mktemp("home"), embedding="off") as replica:
        file, wanted = first, places(first)
        capture(replica, file)
        for cut, more in cuts:
            file = file[cut:] + more
            done = capture(replica, file)
            assert done.created + done.exists == len(file)
            for key, times in places(file).items():
                wanted[key] = max(wanted.get(key, 0), times)
            assert capture(replica, file).created == 0
        with replica.store.read() as db:
            sql = "SELECT role, content, said_at, count(*) FROM chatlog GROUP BY 1, 2, 3"
            found = {tuple(key): times for *key, times in db.execute(sql)}
        assert found == wanted


def test_two_machines_that_capture_one_file_have_the_same_rows(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    with opened(tmp_path / "other", embedding="off") as other:
        for words in ("a", "b", "a"):
            log.user(words)
            again(other, log.path)
        again(replica, log.path)
        ours, theirs = (chatlog.show(one, SESSION)["items"] for one in (replica, other))
    assert [one["id"] for one in ours] == [one["id"] for one in theirs]


# ---- whose turns they are -----------------------------------------------------------------------


def test_another_agents_private_turns_are_neither_met_nor_lost(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    log.user("one")
    ada, bob = seen_as(replica, "ada"), seen_as(replica, "bob")
    assert again(ada, log.path, scope="agent") == (1, 0, 0)
    assert again(bob, log.path, scope="agent") == (1, 0, 0)
    assert (again(ada, log.path), again(bob, log.path)) == ((0, 1, 0), (0, 1, 0))
    assert (kept(ada), kept(bob), kept(replica)) == (["one"], ["one"], ["one", "one"])
    assert again(replica, log.path) == (0, 1, 0)


def test_turns_of_the_user_are_everybodys_who_works_for_them(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    log.user("one")
    again(seen_as(replica, "claude-code"), log.path, scope="user")
    assert kept(seen_as(replica, "codex")) == ["one"]
    assert again(seen_as(replica, "codex"), log.path, scope="user") == (0, 1, 0)
    with pytest.raises(Exception, match="no conversation"):
        kept(seen_as(replica, "eve", user="eve"))


def test_a_space_is_made_and_a_correction_needs_the_right_to_change(
    replica: Replica, tmp_path: Path
) -> None:
    log = claude_code(tmp_path)
    log.answer(text("hm"), tokens=(1, 0, 0, 1))
    again(seen_as(replica, "ada"), log.path, scope="agent", space="garden")
    with replica.store.write() as db:
        rows.update(db, CHATLOG, chatlog.show(replica, SESSION)["items"][0]["id"], scope="org")
    log.answer(text("done"), tokens=(1, 0, 0, 9))
    created, _, updated = again(seen_as(replica, "bob"), log.path)
    assert created == 1
    shown = chatlog.show(replica, SESSION)["items"]
    assert [one["tokens_out"] for one in shown] == [9 if updated else 1, None]


# ---- what a turn may be -------------------------------------------------------------------------


def test_a_turn_longer_than_a_turn_may_be_is_kept_in_parts(
    replica: Replica, tmp_path: Path
) -> None:
    words = "".join(f"{number} grün 😀, " for number in range(100_000))
    log = claude_code(tmp_path)
    log.answer(text(words))
    created, _, _ = again(replica, log.path)
    assert created == 6
    found = chatlog.show(replica, SESSION)["items"]
    assert "".join(one["content"] for one in found) == words.strip()
    assert max(len(one["content"].encode()) for one in found) <= TEXT_BYTES_MAX
    assert [one["tokens_in"] for one in found] == [1110, None, None, None, None, None]
    assert again(replica, log.path) == (0, 6, 0)


def test_of_a_tools_call_the_beginning_is_kept(replica: Replica, tmp_path: Path) -> None:
    log = claude_code(tmp_path)
    log.answer(tool_use("Write", file_path="a.py", content="x" * 50_000))
    again(replica, log.path)
    (content,) = kept(replica)
    assert (len(content), content[-1]) == (2_001, "…")
    assert again(replica, log.path) == (0, 1, 0)


def test_a_turn_with_a_secret_is_left_out_where_the_settings_say_so(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as found:
        strict = Replica(found.store, settings(tmp_path, chatlog_secrets="refuse"), found.caller)
        turns = [turn("the key is AKIAIOSFODNN7EXAMPLQ", 1), turn("harmless", 2)]
        done = capture(strict, turns)
        assert (done.created, done.refused) == (1, 1)
        assert kept(strict, "talk") == ["harmless"]


def test_a_turn_that_no_store_takes_does_not_hold_up_the_others(replica: Replica) -> None:
    done = capture(replica, [turn("a\0b", 1), turn("  ", 2), turn("fine", 3)])
    assert (done.created, done.refused, done.turns) == (1, 1, 2)


def test_several_batches_and_an_interruption(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "BATCH_TURNS", 3)
    turns = [turn(str(number), number) for number in range(10)]
    assert capture(replica, turns[:7]).created == 7
    written = keep._write_batch
    calls: list[int] = []

    def once(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return written(*given)

    monkeypatch.setattr(keep, "_write_batch", once)
    more = [*turns, *(turn(f"more {number}", 20 + number) for number in range(5))]
    with pytest.raises(KeyboardInterrupt):
        capture(replica, more)
    assert len(kept(replica, "talk")) == 10
    monkeypatch.setattr(keep, "_write_batch", written)
    done = capture(replica, more)
    assert (done.created, done.exists) == (5, 10)
    assert kept(replica, "talk") == [one.content for one in more]


def test_what_another_process_writes_in_between_is_seen(
    replica: Replica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep, "BATCH_TURNS", 2)
    turns = [turn(str(number), number) for number in range(6)]
    ours, met = replica.store.write, list[Captured]()

    @contextmanager
    def write(actor: str | None = None) -> Iterator[Any]:
        with ours(actor) as db:
            yield db
        if not met:
            with opened(tmp_path, embedding="off") as other:
                met.append(capture(other, turns))

    monkeypatch.setattr(replica.store, "write", write)
    done = capture(replica, turns)
    assert (done.created, done.exists, met[0].created) == (2, 4, 4)
    assert kept(replica, "talk") == [one.content for one in turns]
