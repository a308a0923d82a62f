"""What holds of any store and any question: both engines, explain, order, monotony, secrecy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from fix_memory import NOON_MS, StillClock, TrigramEmbedder, opened, seen_as
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from satchel.embedding.queue import drain
from satchel.memory.search import search
from satchel.memory.search.search import SearchAnswer
from satchel.memory.text import content_hash
from satchel.ranking import native_refusal, pure
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import Chatlog, Memory

quickly = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
TRIGRAMS = TrigramEmbedder(dims=64)
WORDS = [
    *("fox", "dog", "kernel", "panic", "lighthouse", "photosynthesis", "quorum", "Caroline"),
    *("wow", "two", "last", "week", "東京", "élan", "the", "when", "?"),
]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
questions = st.lists(
    st.sampled_from([*WORDS, "foks", "photosyn", '"kernel panic"', "yesterday", "2027-01-14"]),
    min_size=1,
    max_size=5,
).map(" ".join)


@st.composite
def memories(draw: st.DrawFn, number: int, agent: str | None) -> Memory:
    text = draw(texts)
    return Memory(
        id=f"01900000-0000-7000-8000-{number:012x}",
        type="note",
        title=draw(st.none() | texts),
        content=text,
        scope="agent" if agent else "org",
        agent_id=agent,
        user_id="una",
        importance=draw(st.none() | st.sampled_from([0.0, 0.5, 1.0])),
        valid_from=NOON_MS - number * 60_000,
        recorded_at=NOON_MS - number * 60_000,
        content_hash=content_hash(text),
    )


@st.composite
def turns(draw: st.DrawFn, number: int, agent: str | None) -> Chatlog:
    return Chatlog(
        id=f"01900000-0000-7000-9000-{number:012x}",
        conversation_id=draw(st.sampled_from(["a", "b"])),
        ordinal=number,
        role=draw(st.sampled_from(["user", "Caroline"])),
        content=draw(texts),
        scope="agent" if agent else "org",
        agent_id=agent,
        user_id="una",
        said_at=NOON_MS - number * 3_600_000,
    )


@st.composite
def stores(draw: st.DrawFn, agent: str | None = None) -> list[Memory | Chatlog]:
    """Up to 14 rows; `agent` owns them, or they are everyone's."""
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=14))
    return [draw((memories if one else turns)(number, agent)) for number, one in enumerate(kinds)]


@contextmanager
def filled(
    factory: pytest.TempPathFactory,
    held: Sequence[Memory | Chatlog],
    agent: str | None = None,
    embedder: TrigramEmbedder | None = TRIGRAMS,
) -> Iterator[Replica]:
    """A store of these rows, with their vectors where there is an embedder."""
    engine = "auto" if embedder else "off"
    home = factory.mktemp("home")
    with opened(home, agent, clock=StillClock(), embedder=embedder, embedding=engine) as replica:
        with replica.store.write() as db:
            for row in held:
                rows.insert(db, row)
        if embedder:
            drain(replica)
        yield replica


def ask(replica: Replica, question: str, **given: Any) -> SearchAnswer:
    return replace(search.search(replica, question, **given), took_ms=0.0)


def plain(answer: SearchAnswer) -> list[Any]:
    return [replace(hit, explain=None) for hit in answer.hits]


@pytest.mark.skipif(native_refusal() is not None, reason=str(native_refusal()))
@quickly
@given(held=stores(), question=questions, k=st.integers(1, 12))
def test_one_answer_by_either_engine_with_and_without_explain(
    tmp_path_factory: pytest.TempPathFactory,
    held: list[Memory | Chatlog],
    question: str,
    k: int,
) -> None:
    with filled(tmp_path_factory, held) as replica:
        native = ask(replica, question, k=k, explain=True)
        assert ask(replica, question, k=k, explain=True) == native
        assert plain(ask(replica, question, k=k)) == plain(native)
        other = seen_as(replica, None)
        other.ranking = pure
        assert ask(other, question, k=k, explain=True) == native
    for hit in native.hits:
        assert hit.explain is not None
        assert sum(hit.explain.values()) == pytest.approx(hit.score, abs=1e-6)


@quickly
@given(held=stores(), question=questions, data=st.data())
def test_the_order_of_writing_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory,
    held: list[Memory | Chatlog],
    question: str,
    data: st.DataObject,
) -> None:
    other = data.draw(st.permutations(held))
    with filled(tmp_path_factory, held) as one, filled(tmp_path_factory, other) as two:
        assert ask(one, question, k=20, explain=True) == ask(two, question, k=20, explain=True)


@quickly
@given(held=stores("ada"), hidden=stores("bob"), question=questions)
def test_hidden_rows_change_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    held: list[Memory | Chatlog],
    hidden: list[Memory | Chatlog],
    question: str,
) -> None:
    """Not a hit, a neighbour, a number of what was dropped, a notice, a corrected word, a score."""
    secret = [replace(row, id=row.id.replace("01900000", "01800000")) for row in hidden]
    mixed = [row for pair in zip(held, secret, strict=False) for row in pair]
    mixed += [*held[len(secret) :], *secret[len(held) :]]
    with filled(tmp_path_factory, held, "ada") as alone, filled(tmp_path_factory, mixed) as both:
        expected = ask(alone, question, k=20, explain=True)
        assert ask(seen_as(both, "ada"), question, k=20, explain=True) == expected


def notes(agent: str, texts: Sequence[str]) -> list[Memory]:
    """One note of the agent for each text."""
    return [
        Memory(
            id=f"01900000-0000-7000-8000-{number:04x}{agent.encode().hex():>08}",
            type="note",
            content=text,
            scope="agent",
            agent_id=agent,
            user_id="una",
            valid_from=NOON_MS,
            recorded_at=NOON_MS,
            content_hash=str(number),
        )
        for number, text in enumerate(texts)
    ]


BEGINNINGS = ["", "Caroline: ", "Caroline ", "fox "]
ENDINGS = ["", " and then a tail of so many words that others rank higher" * 2]
crowd_texts = st.builds(
    "{}{}{}".format,
    st.sampled_from(BEGINNINGS),
    st.lists(st.sampled_from(["fox", "alpha", "carbon", "carton", "cartons"]), max_size=3).map(
        " ".join
    ),
    st.sampled_from(ENDINGS),
).filter(str.strip)


def crowds(*sizes: int) -> st.SearchStrategy[list[str]]:
    """Texts, the first of them so often."""
    return st.builds(
        lambda text, size, others: [text] * size + others,
        crowd_texts,
        st.sampled_from(sizes),
        st.lists(crowd_texts, max_size=4),
    )


@quickly
@given(
    held=crowds(1, 3, 36),
    hidden=crowds(3, 15, 45, 211, 300),
    question=st.sampled_from(
        ["alpha", "fox", "fox alpha", "carxon", "cartin", "what did Caroline say of a fox", "alph"]
    ),
    k=st.sampled_from([3, 20]),
)
@example(held=["alpha" + ENDINGS[1]] * 36, hidden=["alpha"] * 15, question="alpha", k=3)
@example(held=["carbon", "carton"], hidden=["carton"] * 15, question="carxon", k=3)
@example(
    held=["Caroline: fox", "fox"],
    hidden=["Caroline fox"] * 211,
    question="what did Caroline say of a fox",
    k=3,
)
def test_a_hidden_crowd_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    held: list[str],
    hidden: list[str],
    question: str,
    k: int,
) -> None:
    """By keyword, where every row that the caller sees fits among the candidates."""
    mine, theirs = notes("ada", held), notes("bob", hidden)
    with filled(tmp_path_factory, [*theirs, *mine], "ada", embedder=None) as both:
        found = ask(both, question, k=k, explain=True)
    with filled(tmp_path_factory, mine, "ada", embedder=None) as alone:
        assert ask(alone, question, k=k, explain=True) == found


@pytest.mark.parametrize("first", ["mine", "theirs"])
def test_words_that_are_common_in_other_rows_only_are_looked_for(
    tmp_path_factory: pytest.TempPathFactory, first: str
) -> None:
    """Beyond what is counted row by row scores may differ, but not what is found."""
    mine = notes("ada", ["beta pancake recipe", "gamma"])
    theirs = notes("bob", ["alpha"] * 2100 + ["beta"] * 2200 + ["delta"] * 10)
    held = [*mine, *theirs] if first == "mine" else [*theirs, *mine]
    with filled(tmp_path_factory, held, embedder=None) as replica:
        for question in ("beta", "alpha beta", "beta alpha", "delta beta", "alpha beta delta"):
            for caller, given_ in ((seen_as(replica, "ada"), {}), (replica, {"agents": ["ada"]})):
                assert [hit.id for hit in ask(caller, question, **given_).hits] == [mine[0].id]
        everyone = ask(replica, "delta beta", k=20, agents=["ada", "bob"]).hits
        assert {hit.snippet for hit in everyone} >= {"delta", "beta"}


@pytest.mark.parametrize("embedder", [None, TRIGRAMS], ids=["keyword", "hybrid"])
@quickly
@given(text=texts, title=st.none() | texts, word=st.sampled_from(["fox", "quorum", "kernel"]))
def test_a_better_keyword_match_never_scores_lower(
    tmp_path_factory: pytest.TempPathFactory,
    embedder: TrigramEmbedder | None,
    text: str,
    title: str | None,
    word: str,
) -> None:
    """Of two notes that differ in nothing but how often they have the word; meaning set aside."""
    once, twice, other = f"{text} {word} filler", f"{text} {word} {word}", f"{text} filler again"
    held = [
        Memory(
            id=f"01900000-0000-7000-8000-{number:012x}",
            type="note",
            title=title,
            content=one,
            scope="org",
            user_id="una",
            valid_from=NOON_MS,
            recorded_at=NOON_MS,
            content_hash=content_hash(one),
        )
        for number, one in enumerate((once, twice, other))
    ]
    with filled(tmp_path_factory, held, embedder=embedder) as replica:
        answer = ask(replica, word, explain=True)
    assert answer.mode == ("hybrid" if embedder else "keyword")
    found = {hit.id: hit for hit in answer.hits}
    worse, better = found[held[0].id], found[held[1].id]
    assert worse.explain is not None
    assert better.explain is not None
    assert better.explain["keyword"] >= worse.explain["keyword"] > 0
    assert without_meaning(better.explain) >= without_meaning(worse.explain) - 1e-9


def without_meaning(parts: dict[str, float]) -> float:
    return sum(part for name, part in parts.items() if name not in ("meaning", "alone"))


def test_a_pool_of_sources_finds_what_scoring_every_row_finds(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The best ten of 400 memories, by the usual pool and by one that holds every row."""
    held = [
        Memory(
            id=f"01900000-0000-7000-8000-{n:012x}",
            type="note",
            content=f"note {n} of {WORDS[n % 7]} and {WORDS[n % 11]} in {n % 13}{n % 17} words",
            scope="org",
            user_id="una",
            valid_from=NOON_MS,
            recorded_at=NOON_MS,
            content_hash=str(n),
        )
        for n in range(400)
    ]
    with filled(tmp_path_factory, held) as replica:
        kept = total = 0
        for question in ("fox kernel words", "photosynthesis note 77", "quorum dog 312", "panic"):
            usual = [hit.id for hit in ask(replica, question, k=10).hits]
            every = [hit.id for hit in ask(replica, question, k=400).hits][:10]
            kept += len(set(usual) & set(every))
            total += len(every)
    assert total >= 20
    assert kept / total >= 0.95
