"""Promotion: who sees a version, where it says it comes from, and that a demotion undoes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as

from satchel.errors import Conflict, InvalidInput, NotFound, Refused
from satchel.memory import change, chatlog, edges, forget, history, read
from satchel.memory.messages import messages
from satchel.memory.promotion import demote, promote, promote_turn
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.write import write
from satchel.replica import Replica


def item(replica: Replica, key: str) -> dict[str, Any]:
    (found,) = read.get(replica, [key])["items"]
    return found


def provenance(row: dict[str, Any]) -> dict[str, Any]:
    found = json.loads(row["metadata"])["promoted"]
    assert isinstance(found, dict)
    return found


def found(replica: Replica, query: str) -> list[str]:
    return [hit.id for hit in search.search(replica, query).hits]


def test_memory_promote_and_demote_there_and_back(ada: Replica, clock: StillClock) -> None:
    bob = seen_as(ada, "bob")
    source = write(
        ada,
        "The gate opens at nine.",
        title="gate",
        type="fact",
        importance=0.5,
        source="ada's walk",
        metadata={"ticket": 7},
        aliases=["portal"],
        pinned=True,
    ).id
    before = item(ada, source)
    assert found(bob, "when does the gate open") == []
    clock.at_ms += 1000

    made = promote(ada, source, reason="all of us need it")

    assert (made.outcome, made.from_id, made.scope) == ("created", source, "org")
    seen = item(bob, made.id)
    same = ("type", "title", "content", "aliases", "importance", "source", "agent_id", "valid_from")
    assert {name: seen[name] for name in same} == {name: before[name] for name in same}
    assert seen["recorded_at"] == clock.at_ms
    told = provenance(seen)
    assert (told["id"], told["scope"], told["by"], told["reason"]) == (
        source, "agent", "ada", "all of us need it",
    )  # fmt: skip
    assert json.loads(seen["metadata"])["ticket"] == 7
    assert found(bob, "when does the gate open") == [made.id]
    for end in (source, made.id):
        (link,) = edges.graph(ada, end)["edges"]
        assert (link["from_id"], link["type"], link["to_id"]) == (made.id, "promoted_from", source)
    assert edges.graph(bob, made.id)["edges"] == []
    assert item(ada, source) == before

    taken = demote(ada, made.id)

    assert (taken.id, taken.from_id, taken.outcome) == (made.id, source, "retracted")
    assert found(bob, "when does the gate open") == []
    assert read.get(bob, [made.id])["items"] == []
    assert read.list_memories(bob, superseded=True)["items"] == []
    assert search.search(bob, "gate open", known_at=clock.at_ms).hits == []
    with pytest.raises(NotFound):
        history.history(bob, made.id)
    assert found(ada, "when does the gate open") == [source]
    assert item(ada, source) == before


def test_twice_is_once_and_again_is_back(ada: Replica) -> None:
    bob = seen_as(ada, "bob")
    source = write(ada, "The gate opens at nine.").id
    first = promote(ada, source)
    again = promote(ada, source)
    assert (again.id, again.outcome) == (first.id, "exists")
    assert demote(ada, source) == demote(ada, source) == demote(ada, first.id)
    change.update(ada, source, text="The gate opens at ten.")
    back = promote(ada, source)
    assert (back.id, back.outcome) == (first.id, "restored")
    assert item(bob, back.id)["content"] == "The gate opens at ten."
    assert item(bob, back.id)["current"]
    change.update(bob, back.id, text="The gate opens at ten, says bob.")
    told = promote(ada, source)
    assert (told.id, told.outcome) == (back.id, "exists")
    assert "differs" in told.warnings[0]


def test_each_group_of_readers_has_a_version_of_its_own(ada: Replica) -> None:
    source = write(ada, "The gate opens at nine.").id
    session = sessions.start(ada, agents=["cleo"])["id"]
    made = {
        "org": promote(ada, source, scope="org"),
        "user": promote(ada, source, scope="user"),
        "space": promote(ada, source, space="lab"),
        "session": promote(ada, source, session=session[-8:]),
    }
    assert len({one.id for one in made.values()}) == 4
    assert made["session"].session_id == session
    zoe = seen_as(ada, "zoe", user="zoe")
    cleo = seen_as(ada, "cleo", user="zoe")
    seen = {
        name: [len(read.get(who, [one.id])["items"]) for who in (zoe, cleo)]
        for name, one in made.items()
    }
    assert seen == {"org": [1, 1], "user": [0, 0], "space": [1, 1], "session": [0, 1]}
    with pytest.raises(Conflict, match=made["space"].id):
        demote(ada, source)
    for name in ("org", "user", "session"):
        demote(ada, made[name].id)
    assert demote(ada, source).id == made["space"].id
    assert item(ada, source)["current"]


def test_what_the_readers_have_already_is_not_promoted(ada: Replica) -> None:
    theirs = write(seen_as(ada, "bob"), "The gate opens at nine.", scope="org").id
    made = promote(ada, write(ada, "The gate opens at nine.").id)
    assert (made.id, made.outcome) == (theirs, "exists")
    with pytest.raises(NotFound, match="no promoted version"):
        demote(ada, theirs)


def test_promotions_that_are_refused(ada: Replica, clock: StillClock) -> None:
    bob = seen_as(ada, "bob")
    source = write(ada, "The gate opens at nine.").id
    ours = write(ada, "for all", scope="org").id
    lab = write(ada, "for the lab", space="lab").id
    old = write(ada, "old", expires_at=clock.at_ms + 5).id
    clock.at_ms += 10
    cases: list[tuple[type[Exception], str, Any]] = [
        (NotFound, "no memory", lambda: promote(bob, source)),
        (InvalidInput, "scope", lambda: promote(ada, source, scope="agent")),
        (InvalidInput, "scope", lambda: promote(ada, source, scope="all")),
        (InvalidInput, "needs a space", lambda: promote(ada, source, scope="space")),
        (InvalidInput, "seen by all", lambda: promote(ada, ours)),
        (InvalidInput, "seen by all", lambda: promote(ada, lab, space="lab")),
        (Conflict, "no longer current", lambda: promote(ada, old)),
        (NotFound, "no session", lambda: promote(ada, source, session="deadbeef")),
        (NotFound, "no promoted version", lambda: demote(ada, source)),
        (NotFound, "no memory", lambda: demote(bob, source)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words):
            call()
    # What was handed over may be read, and not given on.
    messages.send(ada, "bob", "look", kind="handoff", context_ids=[source])
    assert read.get(bob, [source])["items"]
    with pytest.raises(Refused):
        promote(bob, source)
    assert len(read.list_memories(seen_as(ada, None), superseded=True)["items"]) == 4


def test_a_version_that_was_superseded_is_anothers_word(ada: Replica) -> None:
    source = write(ada, "The gate opens at nine.").id
    made = promote(ada, source)
    newer = change.supersede(seen_as(ada, "bob"), made.id, "The gate opens at ten.").id
    for call in (lambda: demote(ada, made.id), lambda: promote(ada, source)):
        with pytest.raises(Conflict, match="superseded"):
            call()
    change.restore(ada, made.id)
    assert demote(ada, made.id).outcome == "retracted"
    assert not item(ada, newer)["current"]


def test_the_original_goes_and_the_version_stays_until_it_is_demoted(ada: Replica) -> None:
    source = write(ada, "The gate opens at nine.").id
    made = promote(ada, source)
    change.delete(ada, source, confirm=True)
    assert item(seen_as(ada, "bob"), made.id)["current"]
    assert demote(ada, made.id).outcome == "deleted"
    assert read.get(ada, [made.id])["items"] == []


def test_forgetting_tells_of_versions_and_nothing_brings_them_back(ada: Replica) -> None:
    source = write(ada, "The gate opens at nine.").id
    made = promote(ada, source)
    change.update(ada, made.id, text="It opens at nine.")
    told = forget.forget(ada, [source], confirm=True)
    assert told["linked"] == [made.id]
    turn = chatlog.write(ada, "talk", "The well is deep.")["id"]
    kept = promote_turn(ada, turn)
    forget.forget(ada, [kept.id], confirm=True)
    with pytest.raises(Refused, match="forgotten"):
        promote_turn(ada, turn)


def test_a_local_memory_is_promoted_on_this_machine_only(ada: Replica) -> None:
    made = promote(ada, write(ada, "The key is here.", local=True).id)
    assert item(seen_as(ada, "bob"), made.id)["local"]
    with ada.store.read() as db:
        travelling = {str(key) for (key,) in db.execute("SELECT key FROM outbox")}
    assert not travelling & {made.id, made.from_id}
    assert travelling == set()


def test_chatlog_promote_remembers_what_was_said(ada: Replica, clock: StillClock) -> None:
    said_at = clock.at_ms - 1000
    turn = chatlog.write(ada, "talk", "I prefer tabs.", said_at=said_at)["id"]
    made = promote_turn(ada, turn[-8:], type="preference", reason="asked twice")
    row = item(ada, made.id)
    assert (row["content"], row["type"], row["scope"]) == ("I prefer tabs.", "preference", "agent")
    assert (row["valid_from"], row["source"]) == (said_at, "chatlog talk #0")
    told = provenance(row)
    assert (told["kind"], told["id"], told["role"], told["by"]) == ("chatlog", turn, "user", "ada")
    assert promote_turn(ada, turn).outcome == "exists"
    worded = promote_turn(ada, turn, content="Una prefers tabs to spaces.", space="lab")
    assert item(seen_as(ada, "bob"), worded.id)["content"] == "Una prefers tabs to spaces."
    assert (
        promote_turn(ada, turn, content="Una prefers tabs to spaces.", space="lab").id == worded.id
    )
    with pytest.raises(NotFound):
        promote_turn(seen_as(ada, "bob"), turn)
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert promote_turn(ada, turn, content=f"the key {key}").warnings
    with pytest.raises(InvalidInput, match="text"):
        promote_turn(ada, turn, content=" ")


def test_a_version_has_a_vector_at_once_where_the_model_is_warm(tmp_path: Any) -> None:
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as ada:
        made = promote(ada, write(ada, "The gate opens at nine.").id)
        with ada.store.read() as db:
            waiting = db.execute("SELECT count(*) FROM embed_queue").get
            vectors = db.execute(
                "SELECT count(*) FROM embedding WHERE memory_id = ?", (made.id,)
            ).get
        assert (waiting, vectors) == (0, 1)
