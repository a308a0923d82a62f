"""Writing: outcomes, default scopes, and input that is refused and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import InvalidInput, NotFound, Refused, SatchelError
from satchel.memory import read
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import MEMORY, SPACE, Space


def rows_of(replica: Replica) -> int:
    with replica.store.read() as db:
        return int(db.execute("SELECT count(*) FROM memory").get)


def test_a_write_keeps_every_column(ada: Replica) -> None:
    written = write(
        ada,
        "Ünïcode 漢字 🎒\ntwo lines",
        title="bag",
        type="fact",
        importance=0.5,
        confidence=1,
        pinned=True,
        valid_from=5,
        expires_at=2**41,
        source="a test",
        metadata='{"b": 1,  "a": [2]}',
        aliases=["sack", "tote", "sack"],
        local=True,
    )
    assert written.outcome == "created"
    assert written.superseded == []
    assert written.similar == []
    (item,) = read.get(ada, [written.id])["items"]
    expected = {
        "content": "Ünïcode 漢字 🎒\ntwo lines",
        "title": "bag",
        "type": "fact",
        "importance": 0.5,
        "confidence": 1.0,
        "pinned": True,
        "valid_from": 5,
        "expires_at": 2**41,
        "source": "a test",
        "metadata": '{"b": 1,  "a": [2]}',
        "aliases": '["sack","tote"]',
        "local": True,
        "scope": "agent",
        "agent_id": "ada",
        "user_id": "una",
        "recorded_at": ada.now_ms(),
    }
    assert expected == {name: item[name] for name in expected}


def test_the_same_normalised_text_is_kept_once(ada: Replica) -> None:
    first = write(ada, "The  cafe\u0301 opens\n at 9", title="hours")
    second = write(ada, " The caf\u00e9 opens at 9 ", title="opening")
    assert second.outcome == "exists"
    assert second.id == first.id
    assert second.warnings == [f"it keeps its title: `memory update {first.id}` changes it"]
    assert rows_of(ada) == 1


@pytest.mark.parametrize(
    ("one", "other"), [("2\u00b2 is 4", "22 is 4"), ("use -V", "use -v"), ("a", "b")]
)
def test_texts_that_differ_are_both_kept(ada: Replica, one: str, other: str) -> None:
    assert write(ada, one).outcome == "created"
    assert write(ada, other).outcome == "created"


def test_another_owner_keeps_its_own(ada: Replica) -> None:
    first = write(ada, "shared truth")
    second = write(seen_as(ada, "bob"), "shared truth")
    assert (second.outcome, second.id == first.id) == ("created", False)
    assert write(ada, "shared truth", local=True).outcome == "created"


def test_a_memory_that_ended_is_no_twin(ada: Replica, clock: StillClock) -> None:
    first = write(ada, "raining", expires_at=clock.at_ms + 10)
    clock.at_ms += 10
    assert write(ada, "raining").id != first.id


@pytest.mark.parametrize(
    ("agent", "given", "scope"),
    [
        ("ada", {}, "agent"),
        (None, {}, "user"),
        ("ada", {"space": "lab"}, "space"),
        (None, {"space": "lab"}, "space"),
        ("ada", {"space": "lab", "scope": "org"}, "org"),
        ("ada", {"scope": "user"}, "user"),
    ],
)
def test_default_scope(ada: Replica, agent: str | None, given: dict[str, str], scope: str) -> None:
    caller = seen_as(ada, agent)
    (item,) = read.get(caller, [write(caller, "x", **given).id])["items"]  # type: ignore[arg-type]
    assert item["scope"] == scope


def test_a_session_is_the_scope_and_its_short_id_is_stored_whole(ada: Replica) -> None:
    session = sessions.start(ada)["id"]
    (item,) = read.get(ada, [write(ada, "x", session=session[-10:]).id])["items"]
    assert (item["scope"], item["session_id"]) == ("session", session)
    with pytest.raises(NotFound):
        write(seen_as(ada, "bob"), "y", session=session)


def test_an_unknown_space_is_made_and_a_closed_one_is_not_found(ada: Replica) -> None:
    write(ada, "x", space="lab")
    with ada.store.write() as db:
        assert rows.get(db, SPACE, "lab") == Space(name="lab")
        rows.insert(db, Space(name="vault", members='["bob"]'))
    with pytest.raises(NotFound):
        write(ada, "x", space="vault")
    assert write(seen_as(ada, "bob"), "x", space="vault").outcome == "created"
    assert rows_of(ada) == 2


def test_embedding_is_done_when_warm_else_queued(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        written = write(warm, "quick brown fox")
        assert written.embedding == "done"
        assert write(warm, "quick brown fox").embedding == "done"
        with warm.store.read() as db:
            assert db.execute("SELECT count(*) FROM embedding").get == 1
            assert db.execute("SELECT count(*) FROM embed_queue").get == 0
    with opened(tmp_path, embedding="off") as off:
        written = write(off, "lazy dog")
        assert written.embedding == "off"
        # Found by keyword at once, vector or not.
        assert [hit.id for hit in search.search(off, "lazy").hits] == [written.id]
        with off.store.read() as db:
            queued = db.execute("SELECT memory_id FROM embed_queue").get
        assert queued == written.id


def test_a_secret_is_told(ada: Replica) -> None:
    warnings = write(ada, "the key is AKIAABCDEFGHIJKLMNOP").warnings
    assert len(warnings) == 1
    assert "AWS key" in warnings[0]


BAD: list[tuple[dict[str, Any], str, type[SatchelError]]] = [
    ({"content": ""}, "text", InvalidInput),
    ({"content": " \n"}, "text", InvalidInput),
    ({"content": "a\0b"}, "text", InvalidInput),
    ({"content": "a\ud800"}, "text", InvalidInput),
    ({"content": 7}, "text", InvalidInput),
    ({"content": b"x"}, "text", InvalidInput),
    ({"content": "é" * 600_000}, "text", InvalidInput),
    ({"title": "t\0"}, "title", InvalidInput),
    ({"title": "t" * 1001}, "title", InvalidInput),
    ({"type": ""}, "type", InvalidInput),
    ({"type": "two\nlines"}, "type", InvalidInput),
    ({"scope": "galaxy"}, "scope", InvalidInput),
    ({"scope": "space"}, "space", InvalidInput),
    ({"importance": 1.5}, "importance", InvalidInput),
    ({"importance": float("nan")}, "importance", InvalidInput),
    ({"importance": True}, "importance", InvalidInput),
    ({"confidence": "high"}, "confidence", InvalidInput),
    ({"pinned": 1}, "pin", InvalidInput),
    ({"local": "yes"}, "local", InvalidInput),
    ({"valid_from": "2026"}, "valid_from", InvalidInput),
    ({"valid_from": 2**62}, "valid_from", InvalidInput),
    ({"expires_at": 1.5}, "expires_at", InvalidInput),
    ({"metadata": "{"}, "metadata", InvalidInput),
    ({"metadata": "[1]"}, "metadata", InvalidInput),
    ({"metadata": '{"a": NaN}'}, "metadata", InvalidInput),
    ({"metadata": '{"a": "\\u0000"}'}, "metadata", InvalidInput),
    ({"metadata": '{"a": "\\ud800"}'}, "metadata", InvalidInput),
    ({"metadata": {"a": object()}}, "metadata", InvalidInput),
    ({"aliases": "one"}, "aliases", InvalidInput),
    ({"aliases": ["a", 3]}, "aliases[1]", InvalidInput),
    ({"session": "beef"}, "id", InvalidInput),
    ({"session": "deadbeef"}, "id", NotFound),
    ({"agent": "bob"}, "agent", Refused),
]


@pytest.mark.parametrize(("given", "field", "error"), BAD)
def test_bad_input_names_its_field_and_changes_nothing(
    ada: Replica, given: dict[str, Any], field: str, error: type[SatchelError]
) -> None:
    with pytest.raises(error) as refusal:
        write(ada, **{"content": "fine", **given})
    assert refusal.value.field == field
    assert rows_of(ada) == 0


def test_the_place_of_an_unstorable_character_is_told(ada: Replica) -> None:
    with pytest.raises(InvalidInput, match="NUL at position 3"):
        write(ada, "abc\0")
    with pytest.raises(InvalidInput, match=r"lone surrogate \(U\+DC80\) at position 2"):
        write(ada, "ab\udc80")


def test_a_megabyte_goes_in_and_comes_out(ada: Replica) -> None:
    text = ("wörd " * 170_000)[: 1024 * 1024 - 200_000]
    found = read.get(ada, [write(ada, text).id])["items"][0]["content"]
    assert found == text


def test_a_local_memory_stays_out_of_the_outbox(ada: Replica) -> None:
    kept = write(ada, "at home", local=True)
    sent = write(ada, "abroad")
    with ada.store.read() as db:
        keys = {key for (key,) in db.execute("SELECT key FROM outbox WHERE kind = 'memory'")}
    assert (kept.id in keys, sent.id in keys) == (False, True)
    with ada.store.read() as db:
        assert rows.get(db, MEMORY, kept.id).local == 1
