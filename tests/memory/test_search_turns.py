"""Searching what was said: neighbours, speakers, sessions, dates, and memories beside turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_memory import NOON_MS, StillClock, TrigramEmbedder, opened, seen_as

from satchel.memory import chatlog, edges
from satchel.memory.search import names, search
from satchel.memory.write import write
from satchel.replica import Replica

DAY_MS = 86_400_000


def say(replica: Replica, role: str, text: str, conversation: str = "c", **given: object) -> str:
    return str(chatlog.write(replica, conversation, text, role=role, **given)["id"])  # type: ignore[arg-type]


def ids(replica: Replica, query: str, **given: object) -> list[str]:
    return [hit.id for hit in search.search(replica, query, **given).hits]  # type: ignore[arg-type]


def parts(replica: Replica, query: str, **given: object) -> dict[str, dict[str, float]]:
    """Id -> the parts of its score, of what was found and of what was dropped."""
    answer = search.search(replica, query, explain=True, **given)  # type: ignore[arg-type]
    assert answer.dropped is not None
    found = {hit.id: hit.explain or {} for hit in answer.hits}
    return found | {row["id"]: row["explain"] for row in answer.dropped["rows"]}


def test_a_turn_is_found_by_its_meaning(hybrid: Replica) -> None:
    key = say(hybrid, "user", "photosynthesis needs light")
    say(hybrid, "user", "qqq www zzz", "other")
    answer = search.search(hybrid, "photosynthetic", kind="chatlog", explain=True)
    assert answer.mode == "hybrid"
    assert answer.hits[0].id == key
    assert answer.hits[0].explain is not None
    assert answer.hits[0].explain["meaning"] > 0.2


def test_a_short_answer_is_found_by_what_was_asked(hybrid: Replica) -> None:
    say(hybrid, "user", "where does the photosynthesis lecture take place?")
    answer = say(hybrid, "assistant", "in hall seven")
    for number in range(5):
        say(hybrid, "user", f"other matter {number}", f"c{number}")
    found = parts(hybrid, "photosynthesis lecture place", kind="chatlog")
    assert found[answer]["meaning"] > 0
    assert found[answer]["asked"] > 0
    assert answer in ids(hybrid, "photosynthesis lecture place", kind="chatlog", k=2)


def test_a_chat_search_is_narrowed_as_every_search(ada: Replica) -> None:
    keys = [
        say(ada, "user", f"apple {number} " + "filler words " * 30, said_at=NOON_MS + number)
        for number in range(6)
    ]
    since = chatlog.search(ada, "apple", since=NOON_MS + 2, until=NOON_MS + 4, explain=True)
    assert {hit.id for hit in since.hits} == set(keys[2:4])
    assert all(hit.explain and hit.explain["keyword"] > 0 for hit in since.hits)
    assert len(chatlog.search(ada, "apple").hits) == 6
    assert 0 < len(chatlog.search(ada, "apple", max_tokens=400).hits) < 6


def test_neighbours_are_the_turns_beside(ada: Replica) -> None:
    say(ada, "user", "shall we meet?", ordinal=10)
    middle = say(ada, "assistant", "at the lighthouse", ordinal=20)
    say(ada, "user", "x" * 500, ordinal=30)
    (hit,) = search.search(ada, "lighthouse", kind="chatlog").hits
    assert hit.turn is not None
    assert (hit.id, hit.turn["ordinal"], hit.turn["role"]) == (middle, 20, "assistant")
    assert hit.turn["before"]["content"] == "shall we meet?"
    assert hit.turn["after"]["content"] == "x" * 280 + "…"
    (first,) = search.search(ada, "shall meet", kind="chatlog").hits
    assert first.turn is not None
    assert first.turn["before"] is None


def test_neighbours_that_are_hidden_are_passed_over(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    say(ada, "user", "mine before", ordinal=1)
    say(bob, "user", "hidden before", ordinal=2)
    say(ada, "user", "the lighthouse", ordinal=3)
    say(bob, "user", "hidden after", ordinal=4)
    say(ada, "user", "mine after", ordinal=5)
    (hit,) = search.search(ada, "lighthouse", kind="chatlog").hits
    assert hit.turn is not None
    assert hit.turn["before"]["content"] == "mine before"
    assert hit.turn["after"]["content"] == "mine after"


def test_hidden_rows_take_no_speaker_away(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    for number in range(names.LEADING_ROWS_MAX + 10):
        write(bob, f"Greta {number}")
    key = write(ada, "Greta: we had lunch").id
    assert parts(ada, "what did Greta say about lunch", kind="memory")[key]["speaker"] > 0


@pytest.mark.parametrize("asked", ["as_of", "known_at"])
def test_no_neighbour_was_said_after_the_moment_asked_for(ada: Replica, asked: str) -> None:
    say(ada, "user", "what is the launch code?", said_at=NOON_MS)
    say(ada, "user", "the launch code is 4711", said_at=NOON_MS + 1000)
    say(ada, "user", "a late remark on lunch", ordinal=1, said_at=NOON_MS + 3000)
    say(ada, "user", "it is 9999 now", said_at=NOON_MS + 2000)
    for at_ms, last in ((0, "question"), (1000, "answer"), (2000, "change")):
        given = {asked: NOON_MS + at_ms}
        found = search.search(ada, "launch code", kind="chatlog", **given).hits  # type: ignore[arg-type]
        beside = [
            turn["content"]
            for hit in found
            for turn in ((hit.turn or {})["before"], (hit.turn or {})["after"])
            if turn is not None
        ]
        assert "a late remark on lunch" not in beside
        assert ("the launch code is 4711" in beside) == (last != "question")
        assert ("it is 9999 now" in beside) == (last == "change")


@pytest.mark.parametrize(
    ("role", "text", "question"),
    [
        ("Caroline", "the lighthouse is white", "what did Caroline say of the lighthouse?"),
        ("Caroline Smith", "the lighthouse is white", "Caroline's lighthouse"),
        ("user", "Caroline: the lighthouse is white", "which lighthouse does Caroline like"),
    ],
)
def test_who_is_named_comes_first(ada: Replica, role: str, text: str, question: str) -> None:
    other = say(ada, "Melanie", "the lighthouse is white, Caroline", "a")
    key = say(ada, role, text, "b")
    found = parts(ada, question, kind="chatlog")
    assert found[key].get("speaker", 0) > 0
    assert "speaker" not in found[other]
    assert ids(ada, question, kind="chatlog")[0] == key


def test_a_memory_that_begins_with_a_name_is_said_by_it(ada: Replica) -> None:
    other = write(ada, "Melanie: the lighthouse is white, Caroline").id
    key = write(ada, "Caroline: the lighthouse is white").id
    found = parts(ada, "what did Caroline say of the lighthouse?", kind="memory")
    assert found[key].get("speaker", 0) > 0
    assert "speaker" not in found[other]


def test_a_capitalised_word_that_is_nobody_is_a_word(ada: Replica) -> None:
    key = say(ada, "user", "Paris is lovely")
    found = parts(ada, "Was it in Paris?", kind="chatlog")
    assert found[key]["keyword"] > 0


def test_a_name_that_only_hidden_turns_have_is_a_word(ada: Replica) -> None:
    say(seen_as(ada, "bob"), "Caroline", "secret")
    key = say(ada, "user", "Caroline is lovely")
    found = parts(ada, "Caroline lovely", kind="chatlog")
    assert found[key]["keyword"] == pytest.approx(
        parts(ada, "caroline lovely", kind="chatlog")[key]["keyword"]
    )


def test_the_session_lends_its_best(ada: Replica, clock: StillClock) -> None:
    say(ada, "user", "zookeeper election quorum", said_at=NOON_MS)
    near = say(ada, "user", "it was about the quorum size", said_at=NOON_MS + 60_000, ordinal=9)
    far = say(ada, "user", "it was about the quorum size", said_at=NOON_MS + DAY_MS, ordinal=99)
    other = say(ada, "user", "it was about the quorum size", "else", said_at=NOON_MS)
    found = parts(ada, "zookeeper election quorum", kind="chatlog")
    assert found[near]["session"] > found[far]["session"]
    assert found[far]["session"] == found[other]["session"]


@pytest.mark.parametrize(
    ("question", "given", "day"),
    [
        ("lighthouse on 8 May 2023", {}, 127),
        ("lighthouse yesterday", {"as_of_day": 128}, 127),
        ("lighthouse last week", {"as_of_day": 136}, 127),
        ("lighthouse in June 2023", {}, 165),
        ("lighthouse three days before 2023-06-18", {}, 165),
    ],
)
def test_a_date_in_the_question_decides(
    tmp_path: Path, question: str, given: dict[str, int], day: int
) -> None:
    """Turns that say the same on many days of 2023."""
    new_year_ms = 1_672_531_200_000
    with opened(tmp_path, clock=StillClock(), embedding="off") as replica:
        said = {
            n: say(replica, "user", "the lighthouse", f"c{n}", said_at=new_year_ms + n * DAY_MS)
            for n in (20, 60, 127, 165, 250, 300)
        }
        narrowed = {}
        if "as_of_day" in given:
            narrowed["as_of"] = new_year_ms + given["as_of_day"] * DAY_MS
        assert ids(replica, question, kind="chatlog", **narrowed)[0] == said[day]


def test_turns_of_a_named_day_are_candidates_whatever_they_say(tmp_path: Path) -> None:
    def pool_size(replica: Replica, question: str) -> int:
        answer = search.search(replica, question, kind="chatlog", explain=True)
        assert answer.dropped is not None
        return len(answer.hits) + int(answer.dropped["k"]) + int(answer.dropped["floor"])

    with opened(tmp_path, clock=StillClock(), embedder=TrigramEmbedder()) as replica:
        for number in range(130):
            say(replica, "user", "the red lighthouse", f"c{number}")
        say(replica, "user", "zzz", "day", said_at=NOON_MS - 400 * DAY_MS)
        without = pool_size(replica, "red lighthouse on 11 June 2024")
        assert pool_size(replica, "red lighthouse on 11 December 2025") == without + 1


def test_memories_and_turns_are_of_one_scale(hybrid: Replica) -> None:
    memory = write(hybrid, "the lighthouse is white").id
    turn = say(hybrid, "user", "the lighthouse is white")
    hits = {hit.id: hit for hit in search.search(hybrid, "white lighthouse", explain=True).hits}
    assert set(hits) == {memory, turn}
    assert hits[memory].score == pytest.approx(hits[turn].score, abs=0.05)
    for hit in hits.values():
        assert hit.explain is not None
        assert {"meaning", "keyword", "session", "neighbour", "window"} <= set(hit.explain)


def test_a_linked_memory_lends_too(hybrid: Replica) -> None:
    strong = write(hybrid, "zookeeper election quorum needs three nodes").id
    linked = write(hybrid, "quorum election notes").id
    alone = write(hybrid, "quorum election notes too").id
    edges.link(hybrid, linked, strong, "related")
    found = parts(hybrid, "zookeeper election quorum nodes", kind="memory")
    assert found[linked]["neighbour"] > found[alone]["neighbour"]


def test_a_conversation_filter_holds_neighbours_too(hybrid: Replica) -> None:
    for number in range(4):
        say(hybrid, "user", f"lighthouse {number}", "a")
        say(hybrid, "user", f"lighthouse {number}", "b")
    hits = chatlog.search(hybrid, "lighthouse", conversation_id="a").hits
    assert {hit.title for hit in hits} == {"a"}
    assert len(hits) == 4
