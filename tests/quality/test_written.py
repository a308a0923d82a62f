"""The sets that were written for this folder: repeatable, whole, and not to be had by keywords."""

from __future__ import annotations

import re
from collections import Counter

from quality import notes, synthetic
from quality.question import World

SMALL = re.compile(r"[a-z]{4,}")


def test_the_same_seed_gives_the_same_users() -> None:
    first, again = ([synthetic.world(one) for one in synthetic.users(7, 2)] for _ in range(2))
    assert [world.questions for world in first] == [world.questions for world in again]
    one, same, other = (synthetic.users(seed, 1)[0].sessions for seed in (7, 7, 8))
    assert one == same
    assert one != other


def test_each_question_names_turns_that_are_there() -> None:
    user = synthetic.users(3, 1)[0]
    turns = {
        f"{session.name}/{place}": text
        for session in user.sessions
        for place, text in enumerate(
            t for said in session.exchanges for t in (said.user, said.assistant)
        )
    }
    world = synthetic.world(user)
    for question in world.questions:
        assert question.relevant | question.stale <= set(turns)
        assert question.relevant or question.category == "abstention"
    update = next(one for one in world.questions if one.category == "knowledge update")
    (new,), (old,) = update.relevant, update.stale
    assert new.rpartition("/")[0] > old.rpartition("/")[0], "what is true now was said later"


def test_there_are_a_few_hundred_questions_of_each_kind() -> None:
    counts = Counter(
        q.category for one in synthetic.users() for q in synthetic.world(one).questions
    )
    assert set(counts) == {
        "knowledge update", "temporal: when", "temporal: what", "preference", "multi-session",
        "assistant", "abstention",
    }  # fmt: skip
    assert 300 <= sum(counts.values()) <= 500
    assert min(counts.values()) >= 40


def test_a_question_shares_few_words_with_its_answer() -> None:
    shared = []
    for user in synthetic.users(1, 4):
        said = {one.mark: (one.assistant if one.by_assistant else one.user)
                for session in user.sessions for one in session.exchanges if one.mark}  # fmt: skip
        for asked in user.asked:
            # An event is asked for by its own name: "when did I see Macbeth".
            if asked.marks and asked.category != "temporal: when":
                words = set(SMALL.findall(asked.text.lower()))
                texts = " ".join(said[mark] for mark in asked.marks).lower()
                shared.append(len(words & set(SMALL.findall(texts))) / max(len(words), 1))
    assert sum(shared) / len(shared) < 0.15


def test_notes_name_notes_that_are_there() -> None:
    world: World = notes.world()
    held = {name for one in world.questions for name in one.relevant}
    kinds = Counter(one.category for one in world.questions)
    assert kinds["nothing"] >= 20
    assert {"code", "german", "french", "chinese", "typos", "exact", "several"} <= set(kinds)
    assert all((one.category == "nothing") == (not one.relevant) for one in world.questions)
    assert len(held) >= 60
