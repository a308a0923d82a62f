"""How two texts differ: what a write may replace is told from what is only near."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.memory.difference import (
    COMPARED_CHARS_MAX,
    REPLACING,
    Difference,
    difference,
    same_words,
)

CASES: list[tuple[Difference, str, str]] = [
    ("wording", "The café opens at 9.", "the  cafe\u0301 opens at 9"),
    ("wording", "Ada prefers tabs over spaces.", "Ada prefers tabs rather than spaces."),
    ("wording", "Every night the deploy runs.", "The deploy runs every night."),
    ("wording", "It isn't done.", "It is not done"),
    ("words", "The user edits in dark mode.", "The user edits in their dark mode."),
    ("words", "The sister lives in Bonn.", "His sister lives in Bonn."),
    ("words", "The task runs in three days.", "The task runs within three days."),
    ("words", "A number of ports are open.", "The number of ports are open."),
    ("words", "Few ports are used here.", "A few ports are used here."),
    (
        "order",
        "If the left sensor fails, the right sensor starts.",
        "If the right sensor starts, the left sensor fails.",
    ),
    (
        "order",
        "After the migration ends the deploy starts.",
        "After the deploy starts the migration ends.",
    ),
    (
        "order",
        "Order: run the migrations, restart the workers.",
        "Order: restart the workers, run the migrations.",
    ),
    ("words", "One door of the lab is open.", "One door of the lab is closed."),
    ("negation", "Guests may see the plan.", "Guests may not see the plan."),
    ("negation", "We use Redis.", "We no longer use Redis."),
    ("negation", "The job runs at night.", "The job doesn't run at night."),
    ("negation", "We have a cache.", "We have no cache."),
    ("values", "The handler class is named User.", "The handler class is named user."),
    ("values", "It reads arr[i] once.", "It reads arr(i) once."),
    ("denial", "The cache is enabled.", "The cache is not enabled."),
    ("denial", "The cache is enabled.", "The cache is disabled."),
    ("denial", "The site is reachable.", "The site is no longer reachable."),
    ("denial", "Always restart the worker.", "Never restart the worker."),
    ("denial", "Tests can run in parallel.", "Tests can't run in parallel."),
    ("addition", "The script needs a key.", "The script needs a key and a region."),
    ("addition", "The build uses the cache", "The build uses the cache. It lies in /tmp."),
    ("values", "The port is 8080.", "The port is 9090."),
    ("values", "There are three of them.", "There are four of them."),
    ("values", "It ends on 5 May 2026.", "It ends on 7 June 2027."),
    ("values", 'The table is "users".', 'The table is "accounts".'),
    ("values", "The flag `-V` is new.", "The flag `-v` is new."),
    ("values", "Use -V here.", "Use -v here."),
    ("values", "Read src/a.py first.", "Read src/b.py first."),
    ("values", "We met Alice there.", "We met Bob there."),
    ("values", "Alert when load > 5.", "Alert when load < 5."),
    ("values", "It is -5 outside.", "It is 5 outside."),
    ("values", "👍 for the plan", "👎 for the plan"),
    ("order", "Ada manages Bob.", "Bob manages Ada."),
    ("order", "Convert miles to metres.", "Convert metres to miles."),
    ("words", "The left sensor is new.", "The right sensor is new."),
    ("words", "Copy rows from the bucket.", "Copy rows to the bucket."),
    ("words", "The node has a leader.", "The node is a leader."),
    ("words", "She is learning Czech.", "She was learning Czech."),
    ("words", "Is the cache enabled?", "The cache is enabled."),
    ("negation", "Files that are tracked are kept.", "Files that are not tracked are kept."),
    ("words", "Rows with an owner are kept.", "Rows without an owner are kept."),
    ("words", "Our server is old.", "Their server is old."),
    ("words", "The API is stable.", "The beta API is stable."),
    ("words", "The script needs a key and a region.", "The script needs a key."),
    ("words", "The user likes green tea", "The user likes green tea mugs"),
    ("words", "Der Server läuft.", "Der Server läuft nicht."),
    ("words", "猫が好きです", "犬が好きです"),
]


@pytest.mark.parametrize(("expected", "old", "new"), CASES)
def test_what_differs(expected: Difference, old: str, new: str) -> None:
    assert difference(old, new) == expected
    if expected not in ("addition", "words"):
        assert difference(new, old) == expected


def test_long_texts_and_hostile_ones_are_told_apart_at_once() -> None:
    for text in ("-" * 500_000, "a-" * 250_000, "'" * 500_000, "word " * 100_000):
        assert difference(text, text + "x") == "words"
        assert not same_words(text, text)
    for one in ("-", "a-", "'", '"', "`", "x.", "not "):
        text = one * (COMPARED_CHARS_MAX // len(one) - 1)
        difference(text, text + "x")


LETTERS = "".join(sorted({*string.ascii_lowercase} - {*"aeiouy"}))
"""Without vowels: no word of them is one that the rules know."""
WORDS = st.lists(st.text(LETTERS, min_size=3, max_size=7), min_size=4, max_size=9)


@given(st.text(max_size=80))
@settings(max_examples=100, deadline=None)
def test_a_text_is_its_own_wording(text: str) -> None:
    assert difference(text, text) == "wording"
    assert difference(text, f" {text}\n") == "wording"


@given(WORDS, st.integers(0, 10**6), st.integers(0, 10**6), st.data())
@settings(max_examples=100, deadline=None)
def test_another_number_never_replaces(
    words: list[str], one: int, other: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words)))
    texts = [" ".join([*words[:place], str(n), *words[place:]]) for n in (one, other)]
    expected = "wording" if one == other else "values"
    assert difference(*texts) == expected


@given(WORDS, st.text(string.ascii_lowercase, min_size=8, max_size=12), st.data())
@settings(max_examples=100, deadline=None)
def test_another_word_never_replaces(words: list[str], word: str, data: st.DataObject) -> None:
    """Nor does one that is added in the middle or left out at the end."""
    place = data.draw(st.integers(0, len(words) - 1))
    old = " ".join(words)
    assert difference(old, " ".join([*words[:place], word, *words[place + 1 :]])) not in REPLACING
    assert difference(old, " ".join([*words[:place], word, *words[place:]])) not in REPLACING
    assert difference(f"{old} {word}", old) not in REPLACING


@given(WORDS)
@settings(max_examples=50, deadline=None)
def test_a_denial_is_one_both_ways(words: list[str]) -> None:
    head, tail = " ".join(words[:2]), " ".join(words[2:])
    assert difference(f"{head} is {tail}", f"{head} is not {tail}") == "denial"
    assert difference(f"{head} is not {tail}", f"{head} is {tail}") == "denial"
