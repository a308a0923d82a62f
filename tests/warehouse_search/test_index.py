"""What is in the indexes of search: words of living rows, as a replica cuts them; nothing else."""

from __future__ import annotations

import json
import random
from array import array
from typing import Any

import apsw
import psycopg
import pytest
from fix_hub import HubWorld
from fix_searched import Machines, machines
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.memory import chatlog, write
from satchel.memory.change import delete
from satchel.memory.forget import forget
from satchel.memory.search.tokens import DOCUMENT, TOKENIZER
from satchel.ranking import choose
from satchel.warehouse import indexing
from satchel.warehouse.gathering import most_alike
from satchel_warehouse.search import nearest
from satchel_warehouse.search.desk import opened

TEXTS = (
    "The deploy-key of host.example.org lies in ops/staging; ask anna@x.org",
    "see https://e.org/a_b?c=d&e=f <b>bold</b> &amp; 3.14 -5 1.2.3 v2.4",
    "Jörg moved the ÉLAN project to Göteborg, naïve façade Ångström",
    "running runs ran conditional rationalization possibilities generalizations",
    "“quoted” – dashes — and … dots, «so» ‘it’s’ done•now",
    "snake_case camelCase kebab-case a.b.c C++ C# main.py",
    "Привет мир ΑΒΓΔ",
    "",
    "''' \\ :* & | ! ( ) <-> 'quoted'",
)
WORD_OF_ITS_OWN = "zanzibar"


@pytest.fixture(scope="module")
def pair(world: HubWorld, tmp_path_factory: pytest.TempPathFactory) -> Machines:
    return machines(world, tmp_path_factory.mktemp("pair"))


def stems(text: str) -> set[str]:
    db = apsw.Connection(":memory:")
    tokenize = db.fts5_tokenizer(TOKENIZER[0], list(TOKENIZER[1]))
    encoded = text.encode()
    return set(tokenize(encoded, DOCUMENT, None, include_offsets=False, include_colocated=False))


def words(pair: Machines, text: str) -> set[str]:
    found = pair.rows("SELECT tsvector_to_array(satchel.words_of(%s))", text)
    return set(found[0][0])


@pytest.mark.parametrize("text", TEXTS)
def test_words_are_those_of_the_replicas_tokenizer(pair: Machines, text: str) -> None:
    assert words(pair, text) == stems(text)


def test_text_that_no_index_holds_as_a_whole_is_found_by_its_beginning(pair: Machines) -> None:
    many = " ".join(f"wörd{n}x{n * n}" for n in range(200_000))
    found = words(pair, many)
    assert {"word0x0", "word7x49"} <= found
    assert len(found) > 5_000


def held(pair: Machines, word: str) -> int:
    """Rows of the index of words that hold one."""
    query = """SELECT count(*) FROM satchel.search_text
        WHERE words @@ plainto_tsquery('satchel.words', %s)"""
    return int(pair.rows(query, word)[0][0])


def found(pair: Machines, word: str) -> set[str]:
    """Ids that the warehouse finds by a word; a typo of another one may find that."""
    return {key for key, _ in pair.there(word, mode="keyword")}


def vectors(pair: Machines, key: str) -> int:
    """Vectors in any index that were made of a row."""
    names = [
        name
        for (name,) in pair.rows(
            "SELECT relname FROM pg_class WHERE relname ~ '^nearest_' AND relkind = 'r'"
        )
    ]
    tables = [f"SELECT of_id FROM satchel.{name} WHERE of_id = %s" for name in names]
    turns = "SELECT turn FROM satchel.turn_vector WHERE %s IN (turn, before)"
    query = " UNION ALL ".join([*tables, turns])
    return len(pair.rows(query, *[key] * (len(tables) + 1)))


@pytest.mark.parametrize("way", ["delete", "forget", "edit", "by hand"])
def test_what_goes_or_changes_leaves_every_index_at_once(pair: Machines, way: str) -> None:
    word = f"{WORD_OF_ITS_OWN}{way.replace(' ', '')}"
    with pair.on(0) as replica:
        key = write.write(replica, f"The {word} hides behind the vault.", scope="org").id
    pair.embed(0)
    pair.sync(0)
    pair.index()
    assert held(pair, word) == 1
    assert vectors(pair, key) == 1
    assert pair.there(word)[0][0] == key
    with pair.on(0) as replica:
        if way == "delete":
            delete(replica, key, confirm=True)
        elif way == "forget":
            forget(replica, [key], confirm=True)
        elif way == "edit":
            with replica.store.write() as db:
                db.execute("UPDATE memory SET content = 'Another word.' WHERE id = ?", (key,))
    if way == "by hand":
        with psycopg.connect(pair.world.dsn, autocommit=True) as db:
            db.execute("DELETE FROM satchel.memory WHERE id = %s", (key,))
    else:
        pair.embed(0)
        pair.sync(0)
    assert held(pair, word) == 0
    if way != "by hand":  # that leaves the vectors that it does not name
        assert vectors(pair, key) == 0
    assert key not in found(pair, word)
    pair.index()
    assert held(pair, word) == 0
    assert vectors(pair, key) == (way in ("edit", "by hand"))
    assert key not in found(pair, word)


def test_a_deleted_turn_takes_the_vectors_with_it_that_it_is_in(pair: Machines) -> None:
    with pair.on(0) as replica:
        first = chatlog.write(replica, "thursday", f"Say {WORD_OF_ITS_OWN}one.", scope="org")["id"]
        last = chatlog.write(replica, "thursday", "It was said twice.", scope="org")["id"]
    pair.sync(0)
    pair.index()
    assert vectors(pair, first) >= 3
    with psycopg.connect(pair.world.dsn, autocommit=True) as db:
        db.execute("DELETE FROM satchel.chatlog WHERE id = %s", (first,))
    assert vectors(pair, first) == 0
    pair.index()
    assert vectors(pair, last) >= 2
    assert held(pair, f"{WORD_OF_ITS_OWN}one") == 0


def test_a_local_memory_is_in_no_index(pair: Machines) -> None:
    with pair.on(0) as replica:
        text = f"{WORD_OF_ITS_OWN}local stays here"
        key = write.write(replica, text, scope="org", local=True).id
    pair.sync(0)
    pair.index()
    assert held(pair, f"{WORD_OF_ITS_OWN}local") == 0
    assert key not in found(pair, f"{WORD_OF_ITS_OWN}local")


def test_a_vector_of_an_older_text_says_nothing(pair: Machines) -> None:
    with pair.on(0) as replica:
        key = write.write(replica, "The submarine surfaces at dawn.", scope="org").id
    pair.embed(0)
    pair.sync(0)
    with psycopg.connect(pair.world.dsn, autocommit=True) as db:
        db.execute("UPDATE satchel.memory SET content = 'Nothing of it.' WHERE id = %s", (key,))
    pair.index()
    assert key not in [found for found, _ in pair.there("submarine surfaces at dawn")]


def test_rows_that_are_not_indexed_are_told(pair: Machines) -> None:
    with psycopg.connect(pair.world.dsn, autocommit=True) as db:
        db.execute("UPDATE satchel.search_reached SET upto = 0 WHERE source = 'memory'")
    with psycopg.connect(pair.world.dsn) as db:
        # Whoever indexes holds this; a search does not wait for it.
        db.execute("SELECT FROM satchel.search_reached WHERE source = 'memory' FOR UPDATE")
        answer = pair.search("vault", kind="memory")
    assert any("not indexed yet" in notice for notice in answer["notices"])
    assert not any("not indexed" in one for one in pair.search("vault", kind="memory")["notices"])


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_passes_at_the_warehouse_is_what_passes_in_a_replica(
    pair: Machines, data: st.DataObject
) -> None:
    """The filter is told twice, in the SQL of both: any row and filter, the same verdict."""
    from satchel.memory.search.filters import Filter
    from satchel.memory.visibility import Caller
    from satchel.warehouse.gathering import as_json

    times = st.none() | st.integers(990, 1_010)
    row = {
        name: data.draw(times)
        for name in ("valid_from", "valid_to", "recorded_at", "retired_at", "expires_at")
    } | {
        "valid_to_was": None,
        "type": data.draw(st.sampled_from([None, "fact", "note"])),
        "scope": data.draw(st.sampled_from(["org", "agent"])),
        "space": data.draw(st.sampled_from([None, "a", "b"])),
        "agent_id": data.draw(st.sampled_from([None, "x", "y"])),
        "content": "text",
    }
    wanted = Filter.of(
        1_000,
        type=data.draw(st.sampled_from([None, "fact"])),
        scope=data.draw(st.sampled_from([None, "org"])),
        spaces=data.draw(st.sampled_from([None, ["a"], ["a", "b"]])),
        agents=data.draw(st.sampled_from([None, ["x"]])),
        as_of=data.draw(times),
        since=data.draw(times),
        until=data.draw(times),
    )
    told = json.dumps(row | {"life": 65_536, "id": "i", "tenant": "default"})
    there = pair.rows(
        "SELECT satchel.passes_memory(jsonb_populate_record(NULL::satchel.memory, %s), %s)",
        told,
        as_json(wanted),
    )
    assert there == [(_passes_here(row, wanted, Caller()),)]


def _passes_here(row: dict[str, Any], wanted: Any, caller: Any) -> bool:
    db = apsw.Connection(":memory:")
    columns = ", ".join((*row, "session_id", "life"))
    db.execute(f"CREATE TABLE memory({columns})")
    db.execute(
        f"INSERT INTO memory VALUES({', '.join('?' * (len(row) + 2))})",
        (*row.values(), None, 65_536),
    )
    query = f"SELECT count(*) FROM memory AS t WHERE {wanted.memory_sql(caller)}"
    return bool(db.execute(query, {**wanted.params, **caller.params}).get)


def test_hnsw_finds_what_comparing_all_finds(pair: Machines) -> None:
    """Of vectors around a few centres, as those of texts are, nearly all of the ten nearest."""
    model, dims, count = "drawn@000000000000", 32, 1_200
    drawn = random.Random(7)
    centres = [[drawn.gauss(0, 1) for _ in range(dims)] for _ in range(20)]

    def vector() -> list[float]:
        return [x + drawn.gauss(0, 0.7) for x in drawn.choice(centres)]

    stored = [array("f", vector()).tobytes() for _ in range(count)]
    with psycopg.connect(pair.world.dsn) as db:
        db.execute(
            "INSERT INTO satchel.memory (id, content, scope) SELECT 'drawn-' || n, 'x', 'org'"
            " FROM generate_series(1, %s) AS n",
            (count,),
        )
        db.execute(
            "INSERT INTO satchel.embedding (id, memory_id, model, chunk, dims, dtype, vector)"
            " SELECT 'drawn-' || n, 'drawn-' || n, %s, 0, %s, 'f32', v"
            " FROM unnest(%s::bytea[]) WITH ORDINALITY AS u (v, n)",
            (model, dims, stored),
        )
    pair.index()
    wanted = json.dumps({"now": 1})
    same, engine = 0, choose("auto")
    with opened(pair.world.dsn, tenant=None, machine=None, kinds=["memory"]) as desk:
        for _ in range(20):
            asked = array("f", vector())
            quick, whole = (
                desk.nearest("memory", wanted, model, asked.tolist(), 10, exact=exact)[:10]
                for exact in (False, True)
            )
            batches = desk.vectors("memory", model, dims, 0)
            here = list(most_alike(engine, asked.tobytes(), batches, 10))
            assert whole == here
            same += len(set(quick) & set(whole))
    assert same / 200 >= 0.97


def test_nobody_forgets_while_vectors_are_copied(
    pair: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a row leaves behind in a step that is not committed yet, no trigger could take out."""
    with pair.on(0) as replica:
        key = write.write(replica, "The xylophone is buried in the garden.", scope="org").id
    pair.embed(0)
    pair.sync(0)
    insert, refused = nearest._insert, []

    def slow(db: Any, index: Any, rows: Any) -> None:
        insert(db, index, rows)
        with psycopg.connect(pair.world.dsn, autocommit=True) as other:
            other.execute("SET lock_timeout = '200ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute("DELETE FROM satchel.embedding WHERE memory_id = %s", (key,))
            refused.append(key)

    monkeypatch.setattr(nearest, "_insert", slow)
    pair.index()
    assert refused
    monkeypatch.undo()
    assert vectors(pair, key) == 1
    with pair.on(0) as replica:
        forget(replica, [key], confirm=True)
    pair.sync(0)
    assert vectors(pair, key) == 0


def test_a_turn_that_goes_while_vectors_are_made_is_in_none_of_them(
    pair: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pair.on(0) as replica:
        before = chatlog.write(replica, "friday", "The treasure lies in a well.", scope="org")["id"]
        last = chatlog.write(replica, "friday", "Well, well.", scope="org")["id"]
    pair.sync(0)
    embed = indexing.TurnMaker.embed

    def slow(maker: Any, turns: Any) -> Any:
        made = embed(maker, turns)
        with psycopg.connect(pair.world.dsn, autocommit=True) as other:
            other.execute("DELETE FROM satchel.chatlog WHERE id = %s", (before,))
        return made

    monkeypatch.setattr(indexing.TurnMaker, "embed", slow)
    pair.index()
    assert vectors(pair, before) == 0
    assert vectors(pair, last) >= 2
    assert pair.rows("SELECT count(*) FROM satchel.turn_waiting") == [(0,)]


def test_strays_of_whatever_happened_are_taken_out_by_the_next_run(pair: Machines) -> None:
    pair.index()
    tables = pair.rows("SELECT relname FROM pg_class WHERE relname ~ '^nearest_' AND relkind = 'r'")
    (one,) = pair.rows("SELECT turn, before FROM satchel.turn_vector WHERE before <> '' LIMIT 1")
    with psycopg.connect(pair.world.dsn, autocommit=True) as db:
        for (name,) in tables:
            db.execute(f"UPDATE satchel.{name} SET of_id = 'gone'".encode())
        db.execute("UPDATE satchel.turn_vector SET before = 'gone' WHERE turn = %s", (one[0],))
    assert vectors(pair, "gone") > len(tables)
    pair.index()
    assert vectors(pair, "gone") == 0
    assert vectors(pair, one[0]) >= 2
