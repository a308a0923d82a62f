"""Words, names and phrases of a question, by tables and against slow, plain rules."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory.search import names
from satchel.memory.search.query import parse
from satchel.memory.search.spelling import likeness, one_edit_apart, stands_in
from satchel.memory.search.talk import has_number, reacts, tells_time
from satchel.memory.search.tokens import Tokenizer

TOKENIZER = Tokenizer(apsw.Connection(":memory:"))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The cats are running", [("cat", "word"), ("run", "word")]),
        ("kern*", [("kern", "prefix")]),
        ("Élan ÉLAN elan", [("elan", "word")]),
        ("Что сказал Иван", [("что", "word"), ("сказал", "word"), ("иван", "word")]),
        ("東京 タワー", [("東京", "literal"), ("タワー", "literal")]),
        ("🚀", [("🚀", "literal")]),
        ('"🚀" launch', [("launch", "word"), ("🚀", "literal")]),
        ("to be or not", [("to", "word"), ("be", "word"), ("or", "word"), ("not", "word")]),
        ("foo.bar_baz()", [("foo", "word"), ("bar", "word"), ("baz", "word")]),
    ],
)
def test_terms(text: str, terms: list[tuple[str, str]]) -> None:
    found = [(term.stem, term.kind) for term in parse(text, TOKENIZER).terms]
    assert found == terms


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('say "kernel panic" now', [("kernel", "panic")]),
        ("say “kernel panics” now", [("kernel", "panic")]),
        ("«одна фраза»", [("одна", "фраза")]),
        ("„ein Satz“", [("ein", "satz")]),
        ('"two"', [("two",)]),
        ('an "" empty " " one', []),
        ('an "open one', []),
    ],
)
def test_phrases(text: str, phrases: list[tuple[str, ...]]) -> None:
    assert [phrase.stems for phrase in parse(text, TOKENIZER).phrases] == phrases


def plain_one_edit(one: str, other: str) -> bool:
    """By making every word that is one edit away."""
    letters = set(other)
    places = range(len(one) + 1)
    made = {one[:n] + one[n + 1 :] for n in places}
    made |= {one[:n] + c + one[n:] for n in places for c in letters}
    made |= {one[:n] + c + one[n + 1 :] for n in range(len(one)) for c in letters}
    made |= {one[:n] + one[n + 1] + one[n] + one[n + 2 :] for n in range(len(one) - 1)}
    return other in made and one != other


SHORT = st.text(st.sampled_from("abc"), max_size=7)


@given(SHORT, SHORT)
def test_one_edit_is_what_one_edit_makes(one: str, other: str) -> None:
    assert one_edit_apart(one, other) == plain_one_edit(one, other)
    assert one_edit_apart(one, other) == one_edit_apart(other, one)
    assert 0 <= likeness(one, other) == likeness(other, one) <= 1
    assert likeness(one, one) == 1


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [
        ("what about the borealis then", "borealis", True),
        ("what about the boraelis then", "borealis", True),
        ("deploy the api gateway now", "api gateway", True),
        ("deploy the api gatewya now", "api gateway", True),
        ("deploying APIs: gateways", "api gateway", True),
        ("tell me of the aurora boraelis", "aurora borealis", True),
        ("deploy the apo gatewya now", "api gateway", False),  # two typos
        ("deploy the gateway api", "api gateway", False),  # another order
        ("the cat", "car", False),  # too short for a typo
        ("gateway", "api gateway", False),
        ("anything", "", False),
    ],
)
def test_a_name_stands_in_a_question(words: str, name: str, expected: bool) -> None:
    assert stands_in(TOKENIZER.words(words), TOKENIZER.words(name)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Caroline's sister tell Mel?", ["Caroline", "Mel"]),
        ("when did ada call", []),
        ("Анна и Борис", ["Анна", "Борис"]),
        ("Mary-Jane O", ["Mary-Jane", "O"]),
        ("API and Ada", ["API", "Ada"]),
    ],
)
def test_capitalised_words(text: str, expected: list[str]) -> None:
    assert names.capitalised(text) == expected


def test_names_are_left_out_of_what_is_embedded() -> None:
    text = "What did Caroline’s sister tell Mel about Caroline?"
    assert names.without(text, ("caroline", "mel")) == "What did sister tell about ?"
    assert names.without("Caroline", ("caroline",)) == "Caroline"
    assert names.without(text, ()) == text


@pytest.mark.parametrize(
    ("role", "text", "agent", "expected"),
    [
        ("Caroline", "hi", "claude", "Caroline"),
        ("user", "hi", "claude", "claude"),
        ("user", "Ann: hello", None, "Ann"),
        ("assistant", "Mary Jane: hello", None, "Mary Jane"),
        (None, "note: hello", None, None),
        (None, "http://x: hello", "claude", "claude"),
        ("system", None, None, None),
    ],
)
def test_who_speaks(
    role: str | None, text: str | None, agent: str | None, expected: str | None
) -> None:
    assert names.speaker(role, text, agent) == expected


def test_a_first_name_is_enough() -> None:
    assert names.is_named("Caroline Smith", ("caroline",))
    assert not names.is_named("Caroline Smith", ("smith",))
    assert not names.is_named(None, ("caroline",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we met last week", True),
        ("at 10:30", True),
        ("since 2021", True),
        ("in January", True),
        ("a fine lighthouse", False),
        ("12345", False),
        ("lasting impressions", False),
    ],
)
def test_words_of_time(text: str, expected: bool) -> None:
    assert tells_time(text) == expected


@pytest.mark.parametrize(
    ("text", "number", "reaction"),
    [
        ("Wow, that is great", False, True),
        ("That's 3 more", True, True),
        ("- thanks a lot", False, True),
        ("twice a week", True, False),
        ("a cool drink", False, False),
        ("ohm's law", False, False),
        ("", False, False),
    ],
)
def test_numbers_and_reactions(text: str, number: bool, reaction: bool) -> None:
    assert (has_number(text), reacts(text)) == (number, reaction)
