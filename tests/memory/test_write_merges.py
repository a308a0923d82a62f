"""The same text again: `exists`, or `merged` where it brings what was missing, or another voice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory import change, history, read
from satchel.memory.merging import VOICES_MAX, corroborated
from satchel.memory.search import search
from satchel.memory.write import Written, write
from satchel.replica import Replica

FACT = "The office is in Bonn."


def item(replica: Replica, key: str) -> dict[str, Any]:
    (found,) = read.get(replica, [key])["items"]
    return dict(found)


def again(replica: Replica, **columns: Any) -> Written:
    return write(replica, f" {FACT}\n", space="lab", **columns)


def test_what_was_missing_is_filled_and_what_differs_is_told(ada: Replica) -> None:
    key = again(ada, metadata='{"a":1,  "b":[]}', aliases=["bureau"]).id
    given = {
        "title": "office",
        "source": "the door",
        "importance": 0.5,
        "confidence": 0.9,
        "metadata": {"a": 2, "c": 3},
        "aliases": ["seat"],
        "pinned": True,
        "type": "fact",
    }
    second = again(ada, **given)
    assert (second.id, second.outcome, second.superseded) == (key, "merged", [])
    found = item(ada, key)
    expected = {
        "title": "office",
        "source": "the door",
        "importance": 0.5,
        "confidence": 0.9,
        "metadata": '{"a":1,"b":[],"c":3}',
        "aliases": '["bureau","seat"]',
        "pinned": True,
        "type": "note",
    }
    assert {name: found[name] for name in expected} == expected
    update = f"`memory update {key}` changes it"
    assert second.warnings == [f"it keeps its {one}: {update}" for one in ("type", "metadata 'a'")]
    # And once more it brings nothing.
    assert again(ada, **given).outcome == "exists"
    assert item(ada, key) == found
    assert len(history.history(ada, key)["items"]) == 2


def test_metadata_stays_to_the_byte_where_nothing_is_added(ada: Replica) -> None:
    key = again(ada, metadata='{ "a":1 }').id
    assert again(ada, metadata={"a": 1}).outcome == "exists"
    assert again(ada, title="office").outcome == "merged"
    assert item(ada, key)["metadata"] == '{ "a":1 }'


def test_an_end_is_put_off_and_never_set(ada: Replica, clock: StillClock) -> None:
    key = again(ada).id
    assert again(ada, expires_at=clock.at_ms + 10).outcome == "exists"
    assert item(ada, key)["expires_at"] is None
    other = write(ada, "a day's note", expires_at=clock.at_ms + 10).id
    for later, outcome in ((20, "merged"), (15, "exists")):
        assert write(ada, "a day's note", expires_at=clock.at_ms + later).outcome == outcome
    assert item(ada, other)["expires_at"] == clock.at_ms + 20


def test_another_agent_corroborates_what_is_shared_once(ada: Replica) -> None:
    key = again(ada).id
    bob, una = seen_as(ada, "bob"), seen_as(ada, None)
    assert again(bob).outcome == "merged"
    assert item(una, key)["confidence"] == 0.75
    assert again(bob).outcome == "exists"
    assert again(seen_as(ada, "cleo"), confidence=0.9).outcome == "merged"
    found = item(una, key)
    assert found["confidence"] == 0.975
    assert found["agent_id"] == "ada"
    assert json.loads(found["metadata"]) == {
        "corroborated_by": [{"agent": "bob"}, {"agent": "cleo"}]
    }
    actors = [one["actor"] for one in history.history(una, key)["items"]]
    assert actors == ["cleo", "bob", "ada"]


def test_another_source_corroborates_too(ada: Replica) -> None:
    key = again(ada, source="the lease").id
    assert again(ada, source="the lease").outcome == "exists"
    assert again(ada).outcome == "exists"
    assert again(ada, source="the landlord").outcome == "merged"
    found = item(ada, key)
    assert (found["source"], found["confidence"]) == ("the lease", 0.75)
    assert json.loads(found["metadata"])["corroborated_by"] == [
        {"agent": "ada", "source": "the landlord"}
    ]


def test_who_was_just_given_it_is_no_second_voice(ada: Replica, clock: StillClock) -> None:
    key = again(ada).id
    bob = seen_as(ada, "bob")
    assert [hit.id for hit in search.search(bob, "office").hits] == [key]
    assert again(bob).outcome == "exists"
    assert item(seen_as(ada, None), key)["confidence"] is None
    clock.at_ms += 24 * 60 * 60 * 1000 + 1
    assert again(bob).outcome == "merged"


def test_own_rows_of_two_agents_do_not_know_of_each_other(ada: Replica) -> None:
    mine = write(ada, FACT)
    theirs = write(seen_as(ada, "bob"), FACT)
    assert (theirs.outcome, theirs.id == mine.id) == ("created", False)
    assert item(ada, mine.id)["metadata"] is None
    # Nor are they one to the operator, who sees both.
    operator = seen_as(ada, None)
    assert write(operator, FACT, agent="bob").id == theirs.id
    assert write(operator, FACT, agent="cleo").outcome == "created"


@pytest.mark.parametrize("scope", ["space", "user", "org", "session"])
def test_a_shared_text_is_kept_once(ada: Replica, scope: str) -> None:
    from satchel.memory.sessions import sessions

    where: dict[str, Any] = {"scope": scope}
    bob = seen_as(ada, "bob")
    if scope == "space":
        where["space"] = "lab"
    if scope == "session":
        where["session"] = sessions.start(ada, agents=["bob"])["id"]
    first, second = write(ada, FACT, **where), write(bob, FACT, **where)
    assert (second.id, second.outcome) == (first.id, "merged")


def test_a_space_that_may_only_be_read_takes_no_corroboration(ada: Replica) -> None:
    from satchel.errors import NotFound
    from satchel.store import rows
    from satchel_sync.tables import Space

    with ada.store.write() as db:
        rows.insert(db, Space(name="lab", grants='{"read":["bob"],"write":["ada"]}'))
    key = again(ada).id
    with pytest.raises(NotFound):
        again(seen_as(ada, "bob"))
    assert item(ada, key)["confidence"] is None


def test_what_is_corroborated_comes_first(ada: Replica) -> None:
    texts = [f"The door code is written on card {name}." for name in ("red", "blue")]
    keys = [write(ada, text, space="lab", valid_from=1).id for text in texts]
    write(seen_as(ada, "bob"), texts[0], space="lab")
    write(seen_as(ada, "cleo"), texts[1], space="lab")
    write(seen_as(ada, "dora"), texts[1], space="lab")
    hits = search.search(ada, "door code card", explain=True).hits
    assert [hit.id for hit in hits] == keys[::-1]
    parts = [(hit.explain or {})["confidence"] for hit in hits]
    assert parts[0] > parts[1] > 0


def test_a_new_title_gets_the_vectors_of_the_text_with_it(hybrid: Replica) -> None:
    key = write(hybrid, FACT).id
    second = write(hybrid, FACT, title="zebra stripes")
    assert (second.id, second.outcome, second.embedding) == (key, "merged", "done")
    (hit,) = search.search(hybrid, "zebra stripes", explain=True).hits
    assert (hit.explain or {})["meaning"] > 0.3
    # With an alias of its own the draft's text is not the memory's: that waits for the queue.
    change.alias(hybrid, key, ["bureau"])
    assert write(hybrid, FACT, aliases=["seat"]).embedding == "queued"
    with hybrid.store.read() as db:
        assert db.execute("SELECT memory_id FROM embed_queue").get == key


def test_metadata_that_a_hand_broke_stays(ada: Replica) -> None:
    key = again(ada).id
    with ada.store.write() as db:
        db.execute("UPDATE memory SET metadata = '{broken' WHERE id = ?", (key,))
    second = again(ada, metadata={"a": 1}, title="office")
    assert second.outcome == "merged"
    assert item(ada, key)["metadata"] == "{broken"
    assert any("metadata" in one for one in second.warnings)


def test_voices_are_counted_up_to_a_limit(ada: Replica) -> None:
    key = again(ada).id
    for number in range(VOICES_MAX + 2):
        again(seen_as(ada, f"agent-{number}"))
    voices = json.loads(item(ada, key)["metadata"])["corroborated_by"]
    assert len(voices) == VOICES_MAX


SHARES = st.one_of(st.none(), st.floats(0, 1))


@given(SHARES, SHARES)
def test_a_voice_never_lowers_confidence_and_the_order_does_not_matter(
    held: float | None, said: float | None
) -> None:
    found = corroborated(held, said)
    assert 0 <= found <= 1
    assert found >= (0.5 if held is None else held) - 1e-4
    assert found == corroborated(said, held)


def test_no_embedder_is_asked_twice(tmp_path: Any) -> None:
    class Counting(TrigramEmbedder):
        made = 0

        def embed_query(self, text: str) -> bytes:
            self.made += 1
            return super().embed_query(text)

    embedder = Counting()
    with opened(tmp_path, embedder=embedder) as replica:
        write(replica, FACT)
        assert embedder.made == 1
        write(replica, FACT, title="office")
        assert embedder.made == 2


def test_said_again_without_an_end_it_is_to_last(ada: Replica, clock: StillClock) -> None:
    key = again(ada, expires_at=clock.at_ms + 1000).id
    assert (again(ada).outcome, item(ada, key)["expires_at"]) == ("merged", None)


def test_what_happened_on_another_day_is_another_memory(ada: Replica) -> None:
    first = again(ada, valid_from=1_000)
    second = again(ada, valid_from=2_000)
    assert [first.outcome, second.outcome] == ["created", "created"]
    assert again(ada, valid_from=2_000).id == second.id
    assert again(ada).outcome == "exists"


def test_the_same_words_in_other_lines_are_other_code(ada: Replica) -> None:
    inside = write(ada, "if x:\n    a()\n    b()")
    behind = write(ada, "if x:\n    a()\nb()")
    assert [inside.outcome, behind.outcome] == ["created", "created"]
    assert write(ada, "if x:\n    a()\nb()\n").id == behind.id
