"""What the words of a question find: typos, beginnings, phrases, scripts, code, long texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from satchel.memory import limits
from satchel.memory.lookup import can_see
from satchel.memory.search import counting, search
from satchel.memory.search.candidates import read
from satchel.memory.search.query import parse
from satchel.memory.search.sources import Source
from satchel.memory.search.tokens import Tokenizer
from satchel.memory.write import write
from satchel.replica import Replica


def ids(replica: Replica, query: str, **given: object) -> list[str]:
    return [hit.id for hit in search.search(replica, query, **given).hits]  # type: ignore[arg-type]


TEXTS = {
    "kernel": "the kernel panics on boot",
    "kube": "Kubernetes clusters are upgraded on Fridays",
    "zookeeper": "zookeeper holds the election",
    "cyrillic": "Встреча с Иваном прошла в Москве",
    "german": "Die Straße nach Köln ist gesperrt",
    "french": "L'été dernier à la plage",
    "cjk": "昨日は東京で会議がありました",
    "korean": "내일 서울에서 만나요",
    "code": "def parse_config(path): return tomllib.loads(path.read_text())",
    "symbols": "use the operator |> to pipe",
    "emoji": "shipped it 🚀 today",
    "path": "edit src/net/http2.rs line 120",
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("kernal", "kernel"),  # another letter
        ("kernl", "kernel"),  # one missing
        ("kenrel", "kernel"),  # two swapped
        ("kernnel", "kernel"),  # one more
        ("kubernets", "kube"),
        ("zookeper election", "zookeeper"),
        ("zook", "zookeeper"),  # a beginning
        ("kube", "kube"),
        ("иваном", "cyrillic"),
        ("москве ВСТРЕЧА", "cyrillic"),
        ("Москва", "cyrillic"),  # another ending: one letter
        ("strasse köln", "german"),
        ("koln", "german"),
        ("ete plage", "french"),
        ("東京", "cjk"),
        ("会議", "cjk"),
        ("서울에서", "korean"),
        ("parse_config", "code"),
        ("tomllib.loads", "code"),
        ('"path.read_text()"', "code"),
        ('"|>"', "symbols"),
        ("|>", "symbols"),
        ("🚀", "emoji"),
        ("http2.rs", "path"),
        ("src/net", "path"),
    ],
)
def test_the_text_that_is_meant_comes_first(ada: Replica, query: str, found: str) -> None:
    keys = {name: write(ada, text).id for name, text in TEXTS.items()}
    assert ids(ada, query)[:1] == [keys[found]]


@pytest.mark.parametrize("query", ["xylophone", "qq", "zzzz", "кошка", "大阪", "0123456", "ab"])
def test_what_nothing_is_like_finds_nothing(ada: Replica, query: str) -> None:
    for text in TEXTS.values():
        write(ada, text)
    assert ids(ada, query) == []


def test_the_answer_says_what_was_looked_for_instead(ada: Replica) -> None:
    write(ada, TEXTS["kernel"])
    notices = search.search(ada, "kernal boot").notices
    assert "no row has the word 'kernal': looked for 'kernel'" in notices
    notices = search.search(ada, "kern").notices
    assert "no row has the word 'kern': looked for words that begin with 'kern'" in notices
    assert not any("no row" in one for one in search.search(ada, "kernel boot").notices)


@pytest.mark.parametrize("typo", ["databse", "relaese", "licens"])
def test_a_stem_that_would_be_cut_once_more_is_found_with_a_typo(ada: Replica, typo: str) -> None:
    key = write(ada, "the database of the last release has a license").id
    assert ids(ada, typo) == [key]


def test_no_meaning_runs_where_nothing_is_searched(ada: Replica) -> None:
    answer = search.search(ada, "what is it", kind="chatlog")
    assert (answer.hits, answer.mode) == ([], "hybrid" if ada.embedder else "keyword")


def test_a_word_that_is_there_is_never_corrected(ada: Replica) -> None:
    kernal = write(ada, "the KERNAL of the C64").id
    kernel = write(ada, TEXTS["kernel"]).id
    assert ids(ada, "kernal") == [kernal]
    assert ids(ada, "kernel") == [kernel]


def test_a_typo_is_not_corrected_to_a_hidden_word(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    write(bob, "project bluebird is secret")
    answer = search.search(ada, "bluebrid")
    assert answer.hits == []
    assert not any("bluebird" in notice for notice in answer.notices)
    mine = write(ada, "bluebell").id
    assert ids(ada, "bluebel") == [mine]


def test_hidden_rows_have_no_say_in_which_word_is_meant(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    write(ada, "carton carbon")
    write(ada, "the databases of old")
    asked = {typo: search.search(ada, typo).notices for typo in ("carxon", "databse", "dotab")}
    for number in range(3):
        write(bob, f"carton {number} of dotabases")
    for number in range(120):  # as alike as can be, and first by the alphabet
        write(bob, f"carxo{chr(97 + number // 26)}{chr(97 + number % 26)} dotab{number}")
    assert asked["carxon"][-1].endswith("looked for 'carbon'")
    for typo, notices in asked.items():
        assert search.search(ada, typo).notices == notices


def test_a_quoted_phrase_beats_scattered_words(ada: Replica) -> None:
    scattered = write(ada, "panic? no: the kernel is fine and so is the panic button").id
    exact = write(ada, "then a kernel panic came").id
    assert ids(ada, '"kernel panic"') == [exact, scattered]
    (first, second) = search.search(ada, "“kernel panic”", explain=True).hits
    assert first.explain is not None
    assert second.explain is not None
    assert "phrase" in first.explain
    assert "phrase" not in second.explain


def test_titles_and_aliases_are_found_with_a_typo(ada: Replica) -> None:
    key = write(ada, "lights in the north", title="aurora borealis", aliases=["polar glow"]).id
    for query in ("tell me of the aurora boraelis", "what is a polar glwo"):
        (hit,) = search.search(ada, query, explain=True).hits
        assert hit.id == key
        assert hit.explain is not None
        assert hit.explain["title"] > 0


def test_ids_are_found_by_either_end(ada: Replica, clock: StillClock) -> None:
    clock.at_ms += 10**11  # ids never go back in time, whatever the clock of an earlier test was
    other = write(ada, "noise").id
    clock.at_ms += 10**9
    key = write(ada, "signal").id
    for short in (key, key.replace("-", ""), key[:13], key[:8], key[-12:], key[-8:].upper()):
        found = search.search(ada, f"what is {short}?", explain=True)
        assert [hit.id for hit in found.hits] == [key]
        assert found.hits[0].explain is not None
        assert found.hits[0].explain["id"] >= 1
        assert other not in [hit.id for hit in found.hits]


# ---- long texts ---------------------------------------------------------------------------------

LONG = limits.SHORT_TEXT_BYTES


def test_a_long_text_is_found_and_shown_where_it_matters(ada: Replica) -> None:
    filler = "lorem ipsum dolor sit amet " * (LONG // 20)
    key = write(ada, f"{filler} the zookeeper election {filler}").id
    short = write(ada, "an election").id
    answer = search.search(ada, "zookeeper election")
    assert [hit.id for hit in answer.hits] == [key, short]
    assert "zookeeper" in answer.hits[0].snippet
    assert ids(ada, '"zookeeper election"', explain=True)[0] == key


WORDS = st.sampled_from(
    ["apple", "Apples", "kernel", "panic", "the", "東京", "🚀", "élan", "foo_bar", "x"]
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    words=st.lists(WORDS, min_size=1, max_size=20),
    title=st.lists(WORDS, max_size=3),
    alias=st.lists(WORDS, max_size=3),
    asked=st.lists(WORDS | st.just("app*") | st.just('"kernel panic"'), min_size=1, max_size=5),
)
def test_the_index_counts_as_cutting_does(
    tmp_path_factory: pytest.TempPathFactory,
    words: list[str],
    title: list[str],
    alias: list[str],
    asked: list[str],
) -> None:
    with opened(tmp_path_factory.mktemp("home"), embedding="off") as replica:
        write(
            replica,
            " ".join(words),
            title=" ".join(title) or None,
            aliases=[" ".join(alias)] if alias else None,
        )
        with replica.store.read() as db:
            query = parse(" ".join(asked), Tokenizer(db))
            source = Source(db, "memory", can_see(replica.caller, "memory"), {})
            (candidate,) = read(source, [1])
            long = candidate._replace(text=None)
            cut, indexed = (
                counting.count(source, query.terms, query, [one])[0] for one in (candidate, long)
            )
    assert cut[:3] == indexed[:3]


def test_long_memories_are_judged_by_their_best_chunk(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder(window=12)) as replica:
        filler = " ".join(f"w{n:05}" for n in range(3 * LONG // 7))
        key = write(replica, f"{filler} supercalifragilistic").id
        (hit,) = search.search(replica, "supercalifragilistics", explain=True).hits
        assert hit.id == key
        assert hit.explain is not None
        assert hit.explain["meaning"] + hit.explain["alone"] > 0.5
