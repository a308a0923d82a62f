"""Recall over layers, agents and spaces: one ranking, each hit with its source, refusals said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as, settings

from satchel.memory import change, promotion, read
from satchel.memory.messages import messages
from satchel.memory.search import search
from satchel.memory.sessions import sessions
from satchel.memory.write import write
from satchel.replica import Replica, open_replica
from satchel.store import rows
from satchel_sync.tables import Space

TEXT = "deploys go out on thursdays after the review"


@pytest.fixture
def layers(ada: Replica) -> dict[str, str]:
    """The same text by every layer, the widest written last (so that newness does not help)."""
    session = sessions.start(ada, agents=["bob"])["id"]
    with ada.store.write() as db:
        rows.insert(db, Space(name="team", members='["ada", "bob"]'))
    return {
        "agent": write(ada, TEXT).id,
        "session": write(ada, TEXT, session=session).id,
        "space": write(ada, TEXT, space="team").id,
        "user": write(ada, TEXT, scope="user").id,
        "org": write(ada, TEXT, scope="org").id,
    }


def test_private_over_shared_over_everyones(ada: Replica, layers: dict[str, str]) -> None:
    hits = search.search(ada, "when do deploys go out?", explain=True).hits
    assert [hit.scope for hit in hits] == ["agent", "session", "space", "user", "org"]
    assert [hit.id for hit in hits] == list(layers.values())
    nearness = [(hit.explain or {})["layer"] for hit in hits[:4]]
    assert nearness == sorted(nearness, reverse=True)
    # For bob nothing of it is private, and a scope only narrows.
    bob = seen_as(ada, "bob")
    assert [hit.scope for hit in search.search(bob, "deploys").hits] == [
        "session",
        "space",
        "user",
        "org",
    ]
    assert [hit.id for hit in search.search(bob, "deploys", scope="space").hits] == [
        layers["space"]
    ]


def test_of_a_memory_and_its_promoted_versions_the_nearest_is_a_hit(ada: Replica) -> None:
    """Ada sees all three, bob the two that were given to him, dan the one for everyone."""
    bob, dan = seen_as(ada, "bob"), seen_as(ada, "dan")
    with ada.store.write() as db:
        rows.insert(db, Space(name="team", members='["ada", "bob"]'))
    mine = write(ada, TEXT).id
    team = promotion.promote(ada, mine, space="team").id
    everyones = promotion.promote(bob, team, scope="org").id
    said = write(bob, TEXT, scope="agent").id  # his own words, whatever ada says
    answer = search.search(ada, "deploys", explain=True)
    assert [hit.id for hit in answer.hits] == [mine]
    dropped = answer.dropped or {}
    assert (dropped["layer"], dropped["k"]) == (2, 0)
    assert {(one["id"], one["reason"]) for one in dropped["rows"]} == {
        (team, "layer"),
        (everyones, "layer"),
    }
    assert [hit.id for hit in search.search(bob, "deploys").hits] == [said, team]
    assert [hit.id for hit in search.search(dan, "deploys").hits] == [everyones]
    # A filter asks for a layer; a version that says something else is a hit of its own.
    assert [hit.id for hit in search.search(ada, "deploys", scope="org").hits] == [everyones]
    change.update(bob, everyones, text=f"{TEXT} on fridays")
    assert {hit.id for hit in search.search(ada, "deploys").hits} == {mine, everyones}


def test_a_better_answer_of_a_wider_layer_stays_first(ada: Replica) -> None:
    write(ada, "reviews are on wednesdays")
    shared = write(ada, TEXT, scope="org").id
    assert search.search(ada, "deploys after the review").hits[0].id == shared


def test_many_agents_and_spaces_are_one_ranking_with_the_source_in_each_hit(
    tmp_path: Path, clock: StillClock
) -> None:
    with opened(tmp_path, "ada", clock=clock, embedder=TrigramEmbedder()) as ada:
        bob, cleo, dan = (seen_as(ada, name) for name in ("bob", "cleo", "dan"))
        with ada.store.write() as db:
            rows.insert(db, Space(name="red", members='["ada", "bob"]'))
            rows.insert(db, Space(name="blue", members='["ada", "cleo"]'))
        write(bob, "the parser of dates is slow", space="red")
        write(cleo, "the parser of dates is slow on leap days", space="blue")
        write(dan, "the parser of dates is slow in winter", scope="org")
        write(dan, "the parser of dates is mine")
        query = "which parser is slow?"

        def sources(caller: Replica, **given: list[str]) -> list[tuple[str | None, str | None]]:
            hits = search.search(caller, query, **given).hits  # type: ignore[arg-type]
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            return sorted((hit.agent_id, hit.space) for hit in hits)

        assert sources(ada, agents=["bob", "cleo"]) == [("bob", "red"), ("cleo", "blue")]
        assert sources(ada, agents=["bob", "dan"]) == [("bob", "red"), ("dan", None)]
        assert sources(ada, spaces=["red", "blue"]) == [("bob", "red"), ("cleo", "blue")]
        assert sources(ada, spaces=["red", "blue"], agents=["cleo"]) == [("cleo", "blue")]
        assert sources(bob, spaces=["red", "blue"]) == [("bob", "red")]
        boss = seen_as(ada, "boss", role="supervisor")
        assert len(sources(boss, agents=["dan"])) == 2
        # The listing narrows in the same way.
        listed = read.list_memories(ada, agents=["bob"], spaces=["red"])["items"]
        assert [one["agent_id"] for one in listed] == ["bob"]


def test_what_is_refused_is_said_in_the_same_words_whether_or_not_it_is_there(
    ada: Replica,
) -> None:
    dan = seen_as(ada, "dan")
    with ada.store.write() as db:
        rows.insert(db, Space(name="closed", members='["dan"]'))
    write(dan, "the parser is mine")
    write(dan, "the parser is here", space="closed")
    write(dan, "dan was here", scope="org")

    def told(caller: Replica, **given: list[str]) -> list[str]:
        notices = search.search(caller, "parser", kind="memory", **given).notices  # type: ignore[arg-type]
        listed = read.list_memories(caller, **given).get("notices", [])  # type: ignore[arg-type]
        assert set(listed) <= set(notices)
        return list(listed)

    assert ["supervisor" in one for one in told(ada, agents=["dan"])] == [True]
    closed, absent = told(ada, spaces=["closed"]), told(ada, spaces=["absent"])
    assert [one.replace("closed", "absent") for one in closed] == absent != []
    unknown = told(ada, agents=["nobody"])
    assert ["'nobody'" in one for one in unknown] == [False, True]
    # Who may see it is told nothing.
    boss = seen_as(ada, "boss", role="supervisor")
    assert told(boss, agents=["dan"]) == told(boss, spaces=["closed"]) == []
    assert told(dan, spaces=["closed"], agents=["dan"]) == []


def test_a_hand_off_opens_what_it_names_to_the_one_ranking(ada: Replica) -> None:
    dan = seen_as(ada, "dan")
    handed = write(dan, "the parser of dates is slow").id
    write(dan, "the parser of times is slow")
    assert search.search(ada, "parser", agents=["dan"]).hits == []
    messages.send(dan, "ada", "yours now", kind="handoff", context_ids=[handed])
    assert [hit.id for hit in search.search(ada, "parser", agents=["dan"]).hits] == [handed]
    assert [hit.id for hit in search.search(ada, "parser").hits] == [handed]


def test_advisory_isolation_shows_all_and_says_whose_it_is(tmp_path: Path) -> None:
    base = replace(settings(tmp_path, embedding="off"), agent_id="dan", role="agent")
    with open_replica(base) as dan:
        key = write(dan, "the parser is mine").id
    ada = replace(base, agent_id="ada")
    with open_replica(ada) as enforced:
        assert search.search(enforced, "parser").hits == []
        assert read.get(enforced, [key])["missing"] == [key]
    with open_replica(replace(ada, isolation="advisory")) as advisory:
        (hit,) = search.search(advisory, "parser", agents=["dan"]).hits
        assert (hit.id, hit.agent_id, hit.scope) == (key, "dan", "agent")
        assert write(advisory, "what ada writes is ada's").outcome == "created"
        assert read.list_memories(advisory, agents=["ada"])["items"][0]["scope"] == "agent"
