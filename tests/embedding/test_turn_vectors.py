"""Vectors of chat turns: what is embedded, when it is stale, the drain that can stop any time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fix_memory import NOON_MS, StillClock, TrigramEmbedder, opened, seen_as

from satchel.embedding import turn_vectors
from satchel.embedding.queue import drain, waiting
from satchel.embedding.turn_vectors import Turn
from satchel.memory import change, chatlog
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import Replica

HOUR_MS = 3_600_000


class Listening(TrigramEmbedder):
    """Remembers what it was given."""

    def __init__(self, fail_at: str | None = None, **given: int) -> None:
        super().__init__(**given)
        self.heard: list[str] = []
        self._fail_at = fail_at

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        self.heard += texts
        if self._fail_at in texts:
            raise KeyboardInterrupt
        return super().embed_documents(texts)


def vectors(replica: Replica) -> dict[str, list[tuple[int, int]]]:
    """Text of a turn -> (view, chunk) of its vectors."""
    sql = """SELECT t.content, v.view, v.chunk FROM chatlog AS t
             LEFT JOIN turn_vector AS v ON v.turn = t.row ORDER BY t.row, v.view, v.chunk"""
    found: dict[str, list[tuple[int, int]]] = {}
    with replica.store.read() as db:
        for content, view, chunk in db.execute(sql):
            found.setdefault(content, []).extend([] if view is None else [(view, chunk)])
    return found


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (Turn(1, "yes", "user", None, None), ["yes"]),
        (Turn(1, "yes", "user", "really?", "assistant"), ["really?\nyes", "yes"]),
        (Turn(1, "yes", "Ann", None, None), ["Ann: yes", "yes"]),
        (Turn(1, " yes\n", "Ann", "really? ", "Bob"), ["Bob: really?\nAnn: yes", "yes"]),
        (Turn(1, "yes", "user", "a b c d e f g h", "user"), ["e f g h\nyes", "yes"]),
        (
            Turn(1, "one two three four five six", "Ann", "so", "Bob"),
            ["one two three four five six"],
        ),
        (Turn(1, "a b c d e f g h", "user", "so", "user"), ["a b c d e f", "g h"]),
        (Turn(1, "yes", None, " ", "user"), ["yes"]),
        (Turn(1, "Ann: yes", "user", "Bob: really?", "user"), ["Bob: really?\nAnn: yes", "yes"]),
    ],
)
def test_what_is_embedded(turn: Turn, expected: list[str]) -> None:
    found = turn_vectors.pieces(TrigramEmbedder(window=8), turn)
    assert [piece.text for piece in found] == expected


def test_turns_are_embedded_as_they_are_written(tmp_path: Path) -> None:
    embedder = Listening()
    with opened(tmp_path, embedder=embedder) as replica:
        chatlog.write(replica, "c", "shall we meet?", role="Ann")
        chatlog.write(replica, "c", "at noon", role="Bob")
        assert waiting(replica) == 0
        assert vectors(replica) == {
            "shall we meet?": [(0, 0), (1, 0)],
            "at noon": [(0, 0), (1, 0)],
        }
        assert "Ann: shall we meet?\nBob: at noon" in embedder.heard
        heard = len(embedder.heard)
        again = chatlog.write(replica, "c", "at noon", role="Bob", ordinal=1)
        assert again["outcome"] == "exists"
        assert drain(replica).done == 0
        assert waiting(replica) == 0
        assert len(embedder.heard) <= heard + 2


def test_a_turn_in_between_makes_the_next_one_stale(tmp_path: Path) -> None:
    embedder = Listening()
    with opened(tmp_path, embedder=embedder) as replica:
        chatlog.write(replica, "c", "first", ordinal=1)
        chatlog.write(replica, "c", "third", ordinal=3)
        chatlog.write(replica, "c", "second", ordinal=2)
        assert waiting(replica) == 1
        assert vectors(replica)["third"] == []
        assert drain(replica).done == 1
        assert embedder.heard[-2:] == ["second\nthird", "third"]


def test_another_owner_lends_nothing(tmp_path: Path) -> None:
    embedder = Listening()
    with opened(tmp_path, "ada", embedder=embedder) as ada:
        chatlog.write(ada, "c", "ours")
        chatlog.write(seen_as(ada, "bob"), "c", "theirs", ordinal=1)
        chatlog.write(ada, "c", "ours too", ordinal=2)
        assert "ours\nours too" in embedder.heard
        assert not any("theirs\n" in text or "\ntheirs" in text for text in embedder.heard)


def test_another_session_lends_nothing(tmp_path: Path) -> None:
    embedder = Listening()
    with opened(tmp_path, clock=StillClock(), embedder=embedder) as replica:
        chatlog.write(replica, "c", "yesterday", said_at=NOON_MS)
        chatlog.write(replica, "c", "today", said_at=NOON_MS + 7 * HOUR_MS)
        chatlog.write(replica, "c", "now", said_at=NOON_MS + 8 * HOUR_MS)
    assert "today\nnow" in embedder.heard
    assert not any("yesterday\n" in text for text in embedder.heard)


def test_the_drain_embeds_both_kinds_and_tells_how_far_it_is(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as cold:
        for number in range(40):
            chatlog.write(cold, "c", f"turn {number}")
            write(cold, f"memory {number}")
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        partly = drain(warm, limit=50)
        assert (partly.done, partly.left) == (50, 30)
        seen: list[tuple[int, int]] = []
        rest = drain(warm, progress=lambda done, left: seen.append((done, left)))
        assert (rest.done, rest.left) == (30, 0)
        assert seen[-1] == (30, 0)
        assert all(done + left == 30 for done, left in seen)
        assert drain(warm).done == 0
    with opened(tmp_path, embedder=TrigramEmbedder(name="newer")) as other:
        assert drain(other).done == 80


def test_a_stop_loses_one_batch_at_most(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as cold:
        for number in range(100):
            chatlog.write(cold, f"c{number}", f"turn {number}")
    with opened(tmp_path, embedder=Listening(fail_at="turn 20")) as stopped:
        with pytest.raises(KeyboardInterrupt):
            drain(stopped)
        left = waiting(stopped)
        assert 21 <= left <= 21 + 32
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        assert drain(warm).done == left


def test_text_that_is_no_text_stops_no_drain(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as cold:
        chatlog.write(cold, "c", "good")
        chatlog.write(cold, "d", "bad")
        with cold.store.write() as db:
            db.execute("UPDATE chatlog SET content = x'ff00' WHERE content = 'bad'")
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        assert drain(warm).done == 1
        assert drain(warm).done == 0
        assert [hit.snippet for hit in search.search(warm, "good").hits] == ["good"]


def test_a_deleted_turn_leaves_no_vector(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        chatlog.write(replica, "c", "photosynthesis")
        with replica.store.write() as db:
            db.execute("DELETE FROM chatlog")
        with replica.store.read() as db:
            assert db.execute("SELECT count(*) FROM turn_vector").get == 0
        assert search.search(replica, "photosynthesis").hits == []


def test_an_alias_is_a_part_of_what_is_embedded(tmp_path: Path) -> None:
    embedder = Listening()
    with opened(tmp_path, embedder=embedder) as replica:
        key = write(replica, "lights", title="aurora_borealis", aliases=["polar glow"]).id
        assert embedder.heard == ["aurora borealis (polar glow)\nlights"]
        change.alias(replica, key, ["northern lights", "glow"])
        assert embedder.heard[-1] == "aurora borealis (northern lights, glow)\nlights"
