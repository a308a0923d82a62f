"""Scores of an answer, against examples worked out by hand."""

from __future__ import annotations

from math import log2

import pytest
from quality.metrics import (
    KEPT_OUT,
    LEFT_EMPTY,
    MRR,
    NDCG,
    NEWEST_FIRST,
    PRECISION,
    RECALL,
    STRICT_PRECISION,
    Metric,
    all_at,
    any_at,
    by_session,
    mean,
    rows,
)
from quality.question import Found, Question


def found(keys: str, relevant: str = "", category: str = "one", **sets: str) -> Found:
    """An answer; keys are words."""
    given = {name: frozenset(words.split()) for name, words in sets.items()}
    question = Question(
        id="q", text="?", category=category, relevant=frozenset(relevant.split()),
        **given,  # type: ignore[arg-type]
    )  # fmt: skip
    return Found(question=question, keys=tuple(keys.split()))


@pytest.mark.parametrize(
    ("metric", "answer", "expected"),
    [
        (any_at(1), found("a b c", "a"), 1),
        (any_at(1), found("b a c", "a"), 0),
        (any_at(2), found("b a c", "a x"), 1),
        (any_at(5), found("", "a"), 0),
        (any_at(5), found("a", ""), None),
        (all_at(2), found("a b c", "a c"), 0),
        (all_at(3), found("a b c", "a c"), 1),
        (all_at(3), found("a", ""), None),
        (MRR, found("x y a b", "a b"), 1 / 3),
        (MRR, found("x y", "a"), 0),
        (MRR, found("x y", ""), None),
        (PRECISION, found("a b c d", "a x"), 1 / 4),
        (PRECISION, found("", "a"), 0),
        (PRECISION, found("", ""), 1),
        (PRECISION, found("b", ""), 0),
        (RECALL, found("a b c d", "a x"), 1 / 2),
        (RECALL, found("a", ""), None),
        (LEFT_EMPTY, found("", ""), 1),
        (LEFT_EMPTY, found("a", ""), 0),
        (LEFT_EMPTY, found("", "a"), None),
        # What is aside counts neither way, whatever its rank.
        (any_at(1), found("s a", "a", aside="s"), 1),
        (PRECISION, found("s a", "a", aside="s"), 1),
        (STRICT_PRECISION, found("s a", "a", aside="s"), 1 / 2),
        (LEFT_EMPTY, found("s", "", aside="s"), 1),
        (KEPT_OUT, found("a b", "a", forbidden="c"), 1),
        (KEPT_OUT, found("a c", "a", forbidden="c"), 0),
        (KEPT_OUT, found("a c", "a"), None),
        (NEWEST_FIRST, found("x new old", "new", stale="old"), 1),
        (NEWEST_FIRST, found("old new", "new", stale="old"), 0),
        (NEWEST_FIRST, found("x new", "new", stale="old"), 1),
        (NEWEST_FIRST, found("x", "new", stale="old"), 0),
        (NEWEST_FIRST, found("new", "new"), None),
        (NDCG, found("a x b", "a b"), (1 + 1 / log2(4)) / (1 + 1 / log2(3))),
        (NDCG, found("a b", "a b"), 1),
        (NDCG, found("x", ""), None),
    ],
)
def test_a_score_is_what_a_hand_works_out(
    metric: Metric, answer: Found, expected: float | None
) -> None:
    score = metric.of(answer)
    assert score == (expected if expected is None else pytest.approx(expected)), metric.name


def test_a_session_is_found_when_one_of_its_turns_is() -> None:
    answer = found("s1/4 s1/5 s2/1 s3/0", "s2/7 s3/0")
    assert by_session(any_at(1)).of(answer) == 0
    assert by_session(any_at(2)).of(answer) == 1
    assert by_session(all_at(3)).of(answer) == 1
    assert by_session(MRR).of(answer) == 1 / 2


def test_a_mean_leaves_out_what_says_nothing() -> None:
    answers = [found("a", "a"), found("b", "a"), found("b", "")]
    assert mean(any_at(1), answers) == 1 / 2
    assert mean(KEPT_OUT, answers) is None


def test_rows_are_all_and_each_category() -> None:
    answers = [found("a", "a", "two"), found("b", "a", "one"), found("a", "a", "one")]
    assert rows([any_at(1)], answers) == [
        ("all", 3, [2 / 3]),
        ("one", 2, [1 / 2]),
        ("two", 1, [1.0]),
    ]
    assert rows([any_at(1)], answers[1:]) == [("all", 2, [1 / 2])]
