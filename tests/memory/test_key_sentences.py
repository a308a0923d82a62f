"""Key sentences: where a sentence ends, which are chosen, in what order, in any language."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.memory.search.tokens import Tokenizer
from satchel.memory.sessions.key_sentences import Sentence, choose, sentences
from satchel.ranking import pure


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(apsw.Connection(":memory:"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n ", []),
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Dr. Lee met Mr. X. Y, e.g. at 1. Then", ["Dr. Lee met Mr. X. Y, e.g. at 1.", "Then"]),
        ("So do I. No. Then", ["So do I.", "No.", "Then"]),
        ("It costs 3.50 or 1. 5 in all.", ["It costs 3.50 or 1. 5 in all."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("- one\n- two\n\nthree", ["- one", "- two", "three"]),
        ("run `a.b.c` now. ok", ["run `a.b.c` now.", "ok"]),
        ("天気がいい。散歩に行く！", ["天気がいい。", "散歩に行く！"]),
        ("Wirklich… Ja.", ["Wirklich…", "Ja."]),
    ],
)  # fmt: skip
def test_where_a_sentence_ends(text: str, found: list[str]) -> None:
    assert sentences(text) == found


def test_what_tells_something_is_chosen(tokenizer: Tokenizer) -> None:
    told = [
        "Okay.",
        "How are you today?",
        "We decided to move the archive to Lisbon.",
        "Sounds good, thanks!",
        "I found the leak in the cache of the parser.",
        "You are right.",
        "See you later then.",
    ]
    given = [Sentence(n, 0, one) for n, one in enumerate(told)]
    assert [one.source for one in choose(pure, tokenizer, given, 2)] == [2, 4]
    pinned = [one._replace(lifted=2.0) if one.source == 3 else one for one in given]
    assert 3 in [one.source for one in choose(pure, tokenizer, pinned, 2)]


def test_no_two_say_the_same(tokenizer: Tokenizer) -> None:
    told = ["We must move the Lisbon archive in March.", "The Lisbon archive must move in March."]
    told += ["My sister paints boats.", "Yes.", "No.", "Maybe."]
    given = [Sentence(n, 0, one) for n, one in enumerate(told)]
    chosen = {one.source for one in choose(pure, tokenizer, given, 2)}
    assert 2 in chosen
    assert len(chosen & {0, 1}) == 1


def test_scripts_without_spaces(tokenizer: Tokenizer) -> None:
    told = ["はい。", "そうですね。", "来月リスボンに書庫を移すことに決めました。", "はい。"]
    given = [Sentence(n, 0, one) for n, one in enumerate(told)]
    (chosen,) = choose(pure, tokenizer, given, 1)
    assert chosen.source == 2


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(st.text(max_size=40) | st.text('ab.?!。" )\n1', max_size=40), max_size=12),
    count=st.integers(1, 6),
)
def test_any_text_gives_some_of_it_in_order(texts: list[str], count: int) -> None:
    tokenizer = Tokenizer(apsw.Connection(":memory:"))
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    given = [
        Sentence(n, place, one)
        for n, text in enumerate(texts)
        for place, one in enumerate(sentences(text))
    ]
    chosen = choose(pure, tokenizer, given, count)
    assert len(chosen) == min(count, len(given))
    assert chosen == sorted(chosen, key=given.index)
    assert chosen == choose(pure, tokenizer, given, count)
    for text in texts:  # nothing but white space lies between sentences
        assert "".join("".join(sentences(text)).split()) == "".join(text.split())
