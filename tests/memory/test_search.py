"""Search: what is found, in which order and why; hostile questions; the same answer every time."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.errors import InvalidInput
from satchel.memory import change, chatlog
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.digest import text_hash
from satchel_sync.tables import EMBEDDING


def ids(replica: Replica, query: str, **given: object) -> list[str]:
    return [hit.id for hit in search.search(replica, query, **given).hits]  # type: ignore[arg-type]


def test_keywords_are_stemmed_and_folded(ada: Replica) -> None:
    key = write(ada, "The Élan cats were running").id
    for query in ("run", "elan CAT", "ÉLAN", "what cats ran? running!"):
        assert ids(ada, query) == [key]


def test_the_answer_says_that_meaning_is_off(ada: Replica) -> None:
    write(ada, "x marks")
    answer = search.search(ada, "x")
    assert answer.mode == "keyword"
    assert answer.notices == [
        "meaning is off, keywords only: embedding is off in the configuration"
    ]


def test_a_hit_says_all_that_a_reader_needs(ada: Replica, clock: StillClock) -> None:
    key = write(ada, "the well is deep", title="well", type="fact", space="lab", source="s").id
    (hit,) = search.search(ada, "deep well").hits
    assert (hit.id, hit.kind, hit.title, hit.type) == (key, "memory", "well", "fact")
    assert (hit.scope, hit.space, hit.agent_id, hit.source) == ("space", "lab", "ada", "s")
    assert (hit.valid_from, hit.valid_to, hit.recorded_at) == (clock.at_ms, None, clock.at_ms)
    assert (hit.snippet, hit.current, hit.explain) == ("the well is deep", True, None)


def test_title_and_alias_weigh_more_than_text(ada: Replica) -> None:
    in_text = write(ada, "somewhere the borealis is mentioned").id
    in_title = write(ada, "lights in the north", title="borealis").id
    in_alias = write(ada, "lights in the south", aliases=["australis"]).id
    assert ids(ada, "borealis") == [in_title, in_text]
    assert ids(ada, "about australis") == [in_alias]


def test_rare_words_outweigh_common_ones(ada: Replica) -> None:
    for number in range(20):
        write(ada, f"the server restarted at night number {number}")
    rare = write(ada, "the zookeeper restarted").id
    assert ids(ada, "server restarted zookeeper")[0] == rare


def test_explain_adds_up_and_never_changes_the_order(hybrid: Replica) -> None:
    for number in range(30):
        write(hybrid, f"fox number {number} jumps over dog {number * 7}", importance=number / 30)
    query = 'fox "number 7" jumps'
    plain, explained = search.search(hybrid, query), search.search(hybrid, query, explain=True)
    assert [(h.id, h.score) for h in plain.hits] == [(h.id, h.score) for h in explained.hits]
    for hit in explained.hits:
        assert hit.explain is not None
        assert math.isclose(math.fsum(hit.explain.values()), hit.score, abs_tol=1e-6)
    assert explained.hits[0].explain is not None
    assert "phrase" in explained.hits[0].explain
    assert [h.score for h in plain.hits] == sorted((h.score for h in plain.hits), reverse=True)
    assert explained.dropped is not None
    assert explained.dropped["k"] == 20


def test_the_same_answer_every_time_and_with_either_ranking(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        for number in range(60):
            write(replica, f"note {number % 7} about topic {number % 5} and thing {number}")
        first = search.search(replica, "thing about topic 3", k=50)
        for _ in range(3):
            assert search.search(replica, "thing about topic 3", k=50).hits == first.hits
    with opened(tmp_path, embedder=TrigramEmbedder()) as again:
        from satchel.ranking import pure

        again.ranking = pure
        now = first.hits[0].recorded_at
        assert now is not None
        found = search.search(again, "thing about topic 3", k=50)
        assert [hit.id for hit in found.hits] == [hit.id for hit in first.hits]


def test_meaning_finds_what_no_keyword_does(hybrid: Replica) -> None:
    key = write(hybrid, "photosynthesis").id
    write(hybrid, "qqq www zzz")
    answer = search.search(hybrid, "photosynthetic", explain=True)
    assert answer.mode == "hybrid"
    assert [hit.id for hit in answer.hits] == [key]


def test_noise_is_not_returned(hybrid: Replica) -> None:
    for text in ("apple pie", "river bank", "old castle"):
        write(hybrid, text)
    answer = search.search(hybrid, "xylophone", explain=True)
    assert answer.hits == []
    assert answer.dropped is not None
    assert answer.dropped["floor"] == 3


def test_a_long_memory_is_found_by_its_best_chunk(tmp_path: Path) -> None:
    filler = " ".join(text_hash(str(n))[:6] for n in range(60))
    with opened(tmp_path, embedder=TrigramEmbedder(window=8)) as replica:
        key = write(replica, f"{filler} supercalifragilistic {filler}").id
        other = write(replica, filler).id
        (hit,) = search.search(replica, "supercalifragilistics", explain=True).hits
        assert hit.id == key
        assert hit.explain is not None
        assert hit.explain["meaning"] + hit.explain["alone"] > 0.5
        with replica.store.read() as db:
            chunks = db.execute("SELECT count(*) FROM embedding WHERE memory_id = ?", (key,)).get
        assert chunks > 15
        assert other not in [hit.id for hit in search.search(replica, "supercalifragilistic").hits]


def test_vectors_of_another_model_or_an_older_text_are_not_used(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        write(replica, "photosynthesis")
        assert any_meaning(replica, "photosynthesis")
    with opened(tmp_path, embedder=TrigramEmbedder(name="other")) as replica:
        assert not any_meaning(replica, "photosynthesis")
    with opened(tmp_path, embedding="off") as replica, replica.store.write() as db:
        db.execute("UPDATE memory SET content = 'chlorophyll', content_hash = 'changed'")
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        assert not any_meaning(replica, "photosynthesis")


def any_meaning(replica: Replica, query: str) -> bool:
    answer = search.search(replica, query, explain=True)
    assert answer.dropped is not None
    explained = [hit.explain or {} for hit in answer.hits]
    explained += [row["explain"] for row in answer.dropped["rows"]]
    return any("meaning" in parts for parts in explained)


def test_a_broken_vector_breaks_no_search(hybrid: Replica) -> None:
    good = write(hybrid, "photosynthesis").id
    bad = write(hybrid, "photosynthetics").id
    vector = b"\x00\x00\xc0\x7f" * 256  # NaN
    with hybrid.store.write() as db:
        db.execute(f"UPDATE {EMBEDDING.name} SET vector = ? WHERE memory_id = ?", (vector, bad))
    assert ids(hybrid, "photosynthesising") == [good]


def test_a_write_by_another_process_is_seen(tmp_path: Path) -> None:
    embedder = TrigramEmbedder()
    with opened(tmp_path, embedder=embedder) as one, opened(tmp_path, embedder=embedder) as two:
        assert ids(one, "photosynthetic") == []
        key = write(two, "photosynthesis").id
        assert ids(one, "photosynthetic") == [key]
        change.delete(one, key, confirm=True)
        assert ids(two, "photosynthetic") == []


def test_exact_ids_are_found(ada: Replica) -> None:
    write(ada, "noise")
    key = write(ada, "signal").id
    assert ids(ada, f"what was {key}?") == [key]
    assert ids(ada, key[-12:])[0] == key


HOSTILE = [
    '"',
    '""',
    '"""',
    "*",
    "a*",
    "^",
    "NEAR(",
    "NEAR(a b, 5)",
    "a AND",
    "OR",
    "NOT NOT",
    "title:",
    "content : x",
    "{title content} : x",
    "-a",
    "+",
    "(((",
    "a OR b) AND (c",
    "'; DROP TABLE memory; --",
    "%_\\",
    "🎒",
    "👩‍👩‍👧‍👦 family",
    "\u202eabc",
    "\u0301",
    "a\u0000b",
    "…",
    "the of and",
    "what is it?",
    "日本語の質問",
    "\n\t ",
    "x" * 5000,
    "word " * 10_000,
    " ".join(f"w{n}" for n in range(10_000)),
]


@pytest.mark.parametrize("kind", ["memory", "chatlog", "all"])
@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: repr(query)[:20])
def test_no_question_is_a_syntax_error(ada: Replica, query: str, kind: str) -> None:
    write(ada, "a title: x word 🎒 the of and w9999 日本語の質問です", title='the "title"')
    chatlog.write(ada, "c", "a title: x word 🎒")
    if "\0" in query or not query.strip():
        with pytest.raises(InvalidInput) as refusal:
            search.search(ada, query, kind=kind)  # type: ignore[arg-type]
        assert refusal.value.field == "query"
        return
    answer = search.search(ada, query, kind=kind)  # type: ignore[arg-type]
    assert len(answer.hits) <= 2


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(query=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1))
def test_any_text_is_a_question(hybrid: Replica, query: str) -> None:
    if query.strip():
        search.search(hybrid, query)


def test_what_the_tokenizer_cannot_cut_is_found_too(ada: Replica) -> None:
    cjk = write(ada, "昨日は東京で会議がありました").id
    emoji = write(ada, "shipped it 🚀 today").id
    assert ids(ada, "東京") == [cjk]
    assert ids(ada, "🚀") == [emoji]
    assert ids(ada, "東京 タワー") == [cjk]


def test_prefixes_and_phrases(ada: Replica) -> None:
    loose = write(ada, "kernel and panic are words").id
    exact = write(ada, "a kernel panic happened").id
    assert set(ids(ada, "kern*")) == {loose, exact}
    assert set(ids(ada, "kern")) == {loose, exact}  # no row has the word: it may be a beginning
    assert ids(ada, '"kernel panic"')[0] == exact


def test_stop_words_alone_are_still_searched(ada: Replica) -> None:
    key = write(ada, "to be or not to be").id
    write(ada, "completely different")
    assert ids(ada, "to be or not to be") == [key]


def test_filters_narrow(ada: Replica, clock: StillClock) -> None:
    fact = write(ada, "green apple", type="fact").id
    clock.at_ms += 1000
    pool = write(ada, "red apple", space="lab").id
    user = write(seen_as(ada, "bob"), "sour apple", scope="user").id
    assert set(ids(ada, "apple")) == {fact, pool, user}
    assert ids(ada, "apple", type="fact") == [fact]
    assert ids(ada, "apple", spaces=["lab"]) == [pool]
    assert ids(ada, "apple", scope="agent") == [fact]
    assert ids(ada, "apple", agents=["bob"]) == [user]
    assert set(ids(ada, "apple", agents=["bob", "ada"])) == {fact, pool, user}
    assert set(ids(ada, "apple", since=clock.at_ms)) == {pool, user}
    assert ids(ada, "apple", until=clock.at_ms) == [fact]
    notices = search.search(ada, "apple", agents=["bob"], spaces=["nowhere"]).notices
    assert any("bob" in notice for notice in notices)
    assert any("nowhere" in notice for notice in notices)


def test_what_others_hide_never_starves_a_caller(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    for number in range(450):
        write(bob, f"apple apple {number}")
    key = write(ada, "one apple in a much longer sentence about other things entirely").id
    assert ids(ada, "apple") == [key]


def test_chat_turns_come_with_their_neighbours(ada: Replica) -> None:
    chatlog.write(ada, "c1", "shall we meet?", role="user")
    middle = chatlog.write(ada, "c1", "at the lighthouse", role="assistant")["id"]
    chatlog.write(ada, "c1", "fine", role="user")
    chatlog.write(ada, "c2", "another lighthouse keeper")
    answer = chatlog.search(ada, "lighthouse", conversation_id="c1")
    (hit,) = answer.hits
    assert (hit.id, hit.kind, hit.title, hit.type) == (middle, "chatlog", "c1", "assistant")
    assert hit.turn is not None
    assert hit.turn["before"]["content"] == "shall we meet?"
    assert hit.turn["after"]["content"] == "fine"
    assert len(chatlog.search(ada, "lighthouse").hits) == 2


def test_memories_and_turns_share_one_ranking(ada: Replica) -> None:
    memory = write(ada, "the lighthouse is white").id
    turn = chatlog.write(ada, "c1", "the lighthouse and the pier")["id"]
    assert set(ids(ada, "lighthouse")) == {memory, turn}
    assert ids(ada, "lighthouse", kind="memory") == [memory]
    assert ids(ada, "lighthouse", kind="chatlog") == [turn]


def test_max_tokens_bounds_the_answer(ada: Replica) -> None:
    for number in range(20):
        write(ada, f"apple {number} " + "filler words " * 30)
    full = search.search(ada, "apple", k=20)
    answer = search.search(ada, "apple", k=20, max_tokens=600)
    assert 0 < len(answer.hits) < 20
    assert answer.hits == full.hits[: len(answer.hits)]
    assert sum(len(hit.snippet) for hit in answer.hits) / 4 <= 600
    assert answer.dropped is not None
    assert answer.dropped["max_tokens"] == 20 - len(answer.hits)
    assert any("max_tokens" in notice for notice in answer.notices)
    assert search.search(ada, "apple", max_tokens=1).hits == []


def test_snippets_show_the_term_and_stay_short(ada: Replica) -> None:
    write(ada, "é" * 3000 + " needle " + "filler words " * 300)
    (hit,) = search.search(ada, "needle").hits
    assert "needle" in hit.snippet
    assert len(hit.snippet) <= 290


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": 5}, "query"),
        ({"query": "x" * 200_001}, "query"),
        ({"k": 0}, "k"),
        ({"k": "10"}, "k"),
        ({"k": True}, "k"),
        ({"kind": "memories"}, "kind"),
        ({"scope": "all"}, "scope"),
        ({"spaces": "lab"}, "spaces"),
        ({"agents": [1]}, "agents[0]"),
        ({"as_of": "now"}, "as_of"),
        ({"known_at": 1.5}, "known_at"),
        ({"since": 2**63}, "since"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"session": "x"}, "id"),
        ({"conversation_id": ""}, "conversation_id"),
    ],
)
def test_bad_arguments_are_named(ada: Replica, given: dict[str, object], field: str) -> None:
    from satchel.errors import SatchelError

    with pytest.raises(SatchelError) as refusal:
        search.search(ada, **{"query": "x", **given})  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_a_search_writes_nothing(hybrid: Replica) -> None:
    write(hybrid, "apple")
    with hybrid.store.read() as db:
        before = db.execute("SELECT seq, last FROM clock").get
    search.search(hybrid, "apple")
    with hybrid.store.read() as db:
        assert db.execute("SELECT seq, last FROM clock").get == before


def test_a_read_works_where_its_trace_cannot_be_kept(ada: Replica) -> None:
    key = write(ada, "apple").id
    (ada.store.home / "activity.db").mkdir()
    assert ids(ada, "apple") == [key]
    assert ada.activity.failures == 2  # the days on which it was given, and the trace


def test_a_process_that_can_start_no_thread_answers_all_the_same(
    hybrid: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = write(hybrid, "the lantern by the door").id

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    answer = search.search(hybrid, "lanterns")
    assert ([hit.id for hit in answer.hits], answer.mode) == ([key], "hybrid")
    assert hybrid.activity.access_counts([key]) == {key: (1, hybrid.now_ms())}
