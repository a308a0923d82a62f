"""Changes of a memory: nothing is lost, everything can be told later, and undone."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened

from satchel.errors import (
    AmbiguousId,
    ConfirmationNeeded,
    Conflict,
    InvalidInput,
    NotFound,
    Refused,
)
from satchel.memory import change, edges, history, read
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.stamp import INT64_MAX


def item(replica: Replica, key: str) -> dict[str, Any]:
    found: dict[str, Any] = read.get(replica, [key])["items"][0]
    return found


def test_update_changes_what_is_given_and_nothing_else(ada: Replica, clock: StillClock) -> None:
    key = write(ada, "old text", title="t", metadata={"a": 1}, importance=0.3, source="s").id
    before = item(ada, key)
    clock.at_ms += 5
    after = change.update(ada, key, text="new text", confidence=0.9)
    assert after == item(ada, key)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"content", "content_hash", "confidence"}
    newest, created = history.history(ada, key)["items"]
    assert (newest["event"], newest["actor"], newest["at"]) == ("update", "ada", clock.at_ms)
    assert newest["changes"]["content"] == ["old text", "new text"]
    assert (created["event"], created["actor"], created["at"]) == (
        "created",
        "ada",
        clock.at_ms - 5,
    )


def test_update_by_a_short_id_and_clear(ada: Replica) -> None:
    key = write(ada, "x", title="t", metadata="{}").id
    for short in (
        key[:20],
        key[-8:],
        key[-13:].replace("-", ""),
        key.upper(),
        key.replace("-", ""),
    ):
        assert change.update(ada, short, source=short)["source"] == short
    assert change.update(ada, key, clear=["title", "metadata"])["title"] is None
    with pytest.raises(InvalidInput) as refusal:
        change.update(ada, key, clear=["content"])
    assert refusal.value.field == "clear"
    with pytest.raises(InvalidInput):
        change.update(ada, key)
    with pytest.raises(InvalidInput):
        change.update(ada, key, valid_to=1)


def test_an_update_that_changes_nothing_leaves_no_history(ada: Replica) -> None:
    key = write(ada, "same", title="t").id
    change.update(ada, key, text="same", title="t")
    assert [one["event"] for one in history.history(ada, key)["items"]] == ["created"]


def test_ambiguous_ids_name_the_candidates(ada: Replica) -> None:
    one, two = write(ada, "a").id, write(ada, "b").id
    with pytest.raises(AmbiguousId) as refusal:
        change.pin(ada, one[:9])
    assert one in str(refusal.value)
    assert two in str(refusal.value)


def test_pin_and_alias(ada: Replica) -> None:
    key = write(ada, "the wide area gateway").id
    assert change.pin(ada, key)["pinned"] is True
    assert change.pin(ada, key, False)["pinned"] is False
    assert change.alias(ada, key, ["wag", "wag", "gate"])["aliases"] == '["wag","gate"]'
    assert [hit.id for hit in search.search(ada, "what is wag").hits] == [key]
    assert change.alias(ada, key, [])["aliases"] is None
    assert search.search(ada, "wag").hits == []


def test_delete_needs_a_confirmation_and_restore_brings_all_back(hybrid: Replica) -> None:
    key = write(hybrid, "to be or not", title="t", metadata='{"k":  1}', pinned=True).id
    before = item(hybrid, key)
    with pytest.raises(ConfirmationNeeded):
        change.delete(hybrid, key)
    assert change.delete(hybrid, key, confirm=True) == {"id": key, "outcome": "deleted"}
    assert read.get(hybrid, [key]) == {"items": [], "missing": [key]}
    assert search.search(hybrid, "to be or not").hits == []
    with hybrid.store.read() as db:
        assert db.execute("SELECT count(*) FROM embedding WHERE vector IS NOT NULL").get == 0
    assert change.restore(hybrid, key[-8:]) == before
    assert change.restore(hybrid, key) == before
    assert [hit.id for hit in search.search(hybrid, "to be or not").hits] == [key]
    events = [one["event"] for one in history.history(hybrid, key)["items"]]
    assert events == ["restore", "delete", "created"]


def test_a_local_memory_is_restored_as_local(ada: Replica) -> None:
    key = write(ada, "mine alone", local=True).id
    change.delete(ada, key, confirm=True)
    assert change.restore(ada, key)["local"] is True


def test_a_forgotten_memory_cannot_be_restored(replica: Replica) -> None:
    key = write(replica, "never was").id
    change.delete(replica, key, confirm=True)
    with replica.store.write() as db:
        db.execute("UPDATE control SET applying = 1")
        db.execute("UPDATE memory SET life = ?, hlc = ? WHERE id = ?", (INT64_MAX, INT64_MAX, key))
        db.execute("DELETE FROM history WHERE key = ?", (key,))
    with pytest.raises(Refused):
        change.restore(replica, key)
    with pytest.raises(NotFound):
        change.pin(replica, key)


def test_supersede_closes_the_old_and_keeps_it_for_its_time(
    ada: Replica, clock: StillClock
) -> None:
    start = clock.at_ms
    old = write(ada, "the office is in Bonn", title="office", importance=0.7, type="fact").id
    clock.at_ms += 1000
    written = change.supersede(ada, old, "the office is in Cologne", reason="moved")
    assert (written.outcome, written.superseded) == ("superseded", [old])
    before, after = item(ada, old), item(ada, written.id)
    assert (before["valid_to"], before["valid_to_was"]) == (clock.at_ms, None)
    assert (before["retired_at"], before["current"]) == (clock.at_ms, False)
    inherited = ("title", "importance", "type", "scope", "agent_id", "user_id")
    assert [after[name] for name in inherited] == [before[name] for name in inherited]
    assert (after["supersedes"], after["current"]) == (old, True)
    (edge,) = edges.graph(ada, old)["edges"]
    assert (edge["from_id"], edge["to_id"], edge["type"]) == (written.id, old, "supersedes")
    assert edge["metadata"] == '{"reason":"moved"}'

    def found(**times: int) -> list[str]:
        return [hit.id for hit in search.search(ada, "office", **times).hits]  # type: ignore[arg-type]

    assert found() == [written.id]
    assert found(as_of=start) == [old]
    assert found(known_at=start) == [old]
    assert found(as_of=start - 1) == []
    assert found(as_of=clock.at_ms, known_at=start) == [old]


def test_history_says_that_and_why_a_memory_was_superseded(ada: Replica) -> None:
    old = write(ada, "the office is in Bonn").id
    change.update(ada, old, title="office")
    new = change.supersede(ada, old, "the office is in Cologne", reason="moved").id
    newest, *rest = history.history(ada, old)["items"]
    assert (newest["event"], newest["reason"]) == ("supersede", "moved")
    assert [one["event"] for one in rest] == ["update", "created"]
    assert not any("reason" in one for one in rest)
    change.restore(ada, old)
    assert [one["event"] for one in history.history(ada, old)["items"]] == [
        "reopen",
        "supersede",
        "update",
        "created",
    ]
    assert "supersede" not in [one["event"] for one in history.history(ada, new)["items"]]


@pytest.mark.parametrize("first", ["delete", "restore"])
def test_a_request_lives_on_after_what_it_made_was_deleted(ada: Replica, first: str) -> None:
    old = write(ada, "v1").id
    new = change.supersede(ada, old, "v2", request_id="r").id
    undo = [lambda: change.delete(ada, new, confirm=True), lambda: change.restore(ada, old)]
    for step in undo if first == "delete" else reversed(undo):
        step()
    assert item(ada, old)["current"] is True
    again = change.supersede(ada, old, "v3", request_id="r")
    assert (again.id, again.outcome) == (new, "superseded")
    assert (item(ada, old)["current"], item(ada, new)["content"]) == (False, "v3")
    assert [one["type"] for one in edges.graph(ada, old)["edges"]] == ["supersedes"]


def test_supersede_from_another_day(ada: Replica, clock: StillClock) -> None:
    old = write(ada, "price is 5", valid_from=1000).id
    new = change.supersede(ada, old, "price is 6", valid_from=2000).id
    assert item(ada, old)["valid_to"] == 2000
    assert [hit.id for hit in search.search(ada, "price", as_of=1999).hits] == [old]
    assert [hit.id for hit in search.search(ada, "price", as_of=2000).hits] == [new]
    # Before the old one began: it was never so.
    retracted = change.supersede(ada, new, "price is 7", valid_from=1)
    assert item(ada, new)["valid_to"] == 2000
    assert [hit.id for hit in search.search(ada, "price", as_of=2000).hits] == [retracted.id]


def test_supersede_twice_is_a_conflict_that_names_the_winner(ada: Replica) -> None:
    old = write(ada, "v1").id
    new = change.supersede(ada, old, "v2").id
    with pytest.raises(Conflict, match=new):
        change.supersede(ada, old, "v3")
    assert change.supersede(ada, new, "v2 ").outcome == "exists"


def test_the_same_request_is_done_once(ada: Replica) -> None:
    old = write(ada, "v1").id
    one = change.supersede(ada, old, "v2", request_id="r1")
    two = change.supersede(ada, old, "v2", request_id="r1")
    assert (one.id, one.superseded) == (two.id, two.superseded)
    with pytest.raises(Conflict):
        change.supersede(ada, old, "v2", request_id="r2")


def test_restore_undoes_a_chain_of_supersessions(ada: Replica, clock: StillClock) -> None:
    chain = [write(ada, "v1", expires_at=clock.at_ms + 10**9).id]
    for text in ("v2", "v3"):
        clock.at_ms += 10
        chain.append(change.supersede(ada, chain[-1], text).id)
    clock.at_ms += 10
    restored = change.restore(ada, chain[0])
    assert (restored["current"], restored["valid_to"], restored["retired_at"]) == (True, None, None)
    assert [item(ada, key)["current"] for key in chain] == [True, False, False]
    assert [one["id"] for one in read.list_memories(ada)["items"]] == [chain[0]]
    assert edges.graph(ada, chain[0], depth=3)["edges"] == []
    # And it can be superseded again.
    assert change.supersede(ada, chain[0], "v4").outcome == "superseded"


def test_one_of_many_superseders_wins_and_nothing_is_lost(tmp_path: Path) -> None:
    with opened(tmp_path, embedding="off") as first:
        old = write(first, "v0").id
        barrier, answers = threading.Barrier(4), list[str]()

        def race(number: int) -> None:
            barrier.wait()
            try:
                answers.append(change.supersede(first, old, f"v{number}").id)
            except Conflict:
                answers.append("conflict")

        threads = [threading.Thread(target=race, args=(n + 1,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers)[1:] == ["conflict"] * 3
        winner = sorted(answers)[0]
        current = [one["id"] for one in read.list_memories(first)["items"]]
        assert current == [winner]
        assert read.stats(first)["memories"] == 2


def test_changed_text_gets_a_new_vector(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=TrigramEmbedder()) as warm:
        key = write(warm, "zebra stripes").id
        change.update(warm, key, text="banana bread")
        (hit,) = search.search(warm, "banana", explain=True).hits
        assert hit.explain is not None
        assert hit.explain["meaning"] > 0.4
        change.update(warm, key, title="penguin parade")
        (hit,) = search.search(warm, "penguin", explain=True).hits
        assert hit.explain is not None
        assert hit.explain["meaning"] > 0.3
        with warm.store.read() as db:
            assert db.execute("SELECT count(*) FROM embed_queue").get == 0
