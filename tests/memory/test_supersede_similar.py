"""A write takes the place of what it rewords or denies and of nothing else; it can be undone."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from fix_writes import at_once, supersede_in_process, write_in_process

from satchel.errors import Conflict, Refused
from satchel.memory import change, edges, history, read
from satchel.memory.search import search
from satchel.memory.similar import TOLD_MAX
from satchel.memory.write import Written, write
from satchel.replica import Replica
from satchel.store import rows
from satchel_sync.tables import MEMORY

OLD = "The nightly backup of the shop database is written to the north archive."
REWORDED = "The nightly backup of the shop database is now written to the north archive."
DENIED = "The nightly backup of the shop database is not written to the north archive."
OTHER_NUMBER = "The nightly backup 2 of the shop database is written to the north archive."
OTHER_PLACE = "The nightly backup of the shop database is written to the south archive."


@pytest.fixture
def warm(tmp_path: Path, clock: StillClock) -> Any:
    """As the agent `ada`, with a warm embedder: of these texts all are nearer than 0.92."""
    with opened(tmp_path, "ada", clock=clock, embedder=TrigramEmbedder()) as found:
        yield found


def item(replica: Replica, key: str) -> dict[str, Any]:
    (found,) = read.get(seen_as(replica, None), [key])["items"]
    return dict(found)


def current(replica: Replica) -> list[str]:
    return sorted(one["id"] for one in read.list_memories(seen_as(replica, None))["items"])


def told(written: Written) -> dict[str, str]:
    return {one["id"]: one["differs"] for one in written.similar}


@pytest.mark.parametrize("text", [REWORDED, DENIED])
def test_it_takes_the_place_of_what_it_rewords_or_denies(
    warm: Replica, clock: StillClock, text: str
) -> None:
    start = clock.at_ms
    old = write(warm, OLD)
    assert old.outcome == "created"
    clock.at_ms += 1000
    new = write(warm, text)
    assert (new.outcome, new.superseded, new.similar) == ("superseded", [old.id], [])
    before, after = item(warm, old.id), item(warm, new.id)
    assert (before["valid_to"], before["retired_at"]) == (clock.at_ms, clock.at_ms)
    assert (before["current"], after["current"], after["supersedes"]) == (False, True, old.id)
    (edge,) = edges.graph(warm, old.id)["edges"]
    assert (edge["from_id"], edge["to_id"], edge["type"]) == (new.id, old.id, "supersedes")
    newest = history.history(warm, old.id)["items"][0]
    assert newest["event"] == "supersede"
    assert "similarity 0.9" in newest["reason"]
    assert [hit.id for hit in search.search(warm, "backup", as_of=start).hits] == [old.id]
    assert [hit.id for hit in search.search(warm, "backup").hits] == [new.id]


@pytest.mark.parametrize(
    ("text", "differs"), [(OTHER_NUMBER, "values"), (OTHER_PLACE, "words"), ("", "")]
)
def test_what_may_be_another_fact_is_told_and_stays(warm: Replica, text: str, differs: str) -> None:
    old = write(warm, OLD).id
    new = write(warm, text or "Bananas are yellow.")
    assert (new.outcome, told(new)) == ("created", {old: differs} if differs else {})
    assert current(warm) == sorted([old, new.id])


def test_restore_leaves_both_for_each_was_said_for_itself(warm: Replica) -> None:
    old, new = write(warm, OLD).id, write(warm, DENIED).id
    assert change.restore(warm, old)["current"] is True
    assert current(warm) == sorted([old, new])
    assert (item(warm, new)["supersedes"], item(warm, old)["valid_to"]) == (None, None)
    assert edges.graph(warm, old)["edges"] == []
    assert change.restore(warm, old) == read.get(warm, [old])["items"][0]
    # Pinned, it is safe from the next one.
    change.pin(warm, old)
    third = write(warm, DENIED.replace("The", "Currently the"))
    assert (third.outcome, third.superseded) == ("superseded", [new])
    assert told(third) == {old: "denial"}


def test_restore_retracts_what_was_said_instead_and_lets_go_of_what_came_by_similarity(
    warm: Replica,
) -> None:
    first = write(warm, OLD).id
    second = change.supersede(
        warm, first, "The shop database has no backup in any archive of ours."
    ).id
    third = write(warm, "The shop database now has no backup in any archive of ours.")
    assert third.superseded == [second]
    change.restore(warm, first)
    assert current(warm) == sorted([first, third.id])
    assert item(warm, second)["valid_to"] == item(warm, second)["valid_from"]
    assert item(warm, third.id)["supersedes"] is None


KEEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pinned": ({"pinned": True}, {}),
    "another type": ({"type": "fact"}, {"type": "plan"}),
    "another scope": ({"scope": "user"}, {}),
    "another space": ({"space": "lab"}, {"space": "den"}),
    "local": ({"local": True}, {}),
    "to a local one": ({}, {"local": True}),
    "the new one ends": ({}, {"expires_at": 2**42}),
    "the new one is less sure": ({"confidence": 0.9}, {"confidence": 0.5}),
    "the new one is a guess": ({"confidence": 0.1}, {"confidence": 0}),
    "the new one began before": ({"valid_from": 2000}, {"valid_from": 1000}),
    "another title": ({"title": "shop north"}, {"title": "shop south"}),
}


@pytest.mark.parametrize("given", KEEPS.values(), ids=KEEPS)
def test_what_is_kept(warm: Replica, given: tuple[dict[str, Any], dict[str, Any]]) -> None:
    old = write(warm, OLD, **given[0]).id
    new = write(warm, DENIED, **given[1])
    assert new.outcome == "created"
    assert current(warm) == sorted([old, new.id])
    assert item(warm, old)["retired_at"] is None


def test_what_lasts_no_longer_gives_way_to_what_lasts_as_long(warm: Replica) -> None:
    old = write(warm, OLD, expires_at=2**41).id
    assert write(warm, DENIED, expires_at=2**41).superseded == [old]


def test_what_ends_on_a_later_day_is_not_ended_twice(warm: Replica, clock: StillClock) -> None:
    old = write(warm, OLD).id
    later = write(warm, DENIED, valid_from=clock.at_ms + 5000)
    assert (later.outcome, later.superseded) == ("superseded", [old])
    assert (item(warm, old)["current"], item(warm, later.id)["current"]) == (True, False)
    third = write(warm, REWORDED)
    assert (third.outcome, told(third)) == ("created", {old: "wording"})
    assert item(warm, old)["valid_to"] == clock.at_ms + 5000
    clock.at_ms += 5000
    assert current(warm) == sorted([later.id, third.id])
    change.restore(warm, old)
    assert (item(warm, old)["valid_to"], item(warm, old)["current"]) == (None, True)


def test_another_agents_memory_is_told_and_not_replaced(warm: Replica) -> None:
    old = write(warm, OLD, space="lab").id
    bob = seen_as(warm, "bob")
    new = write(bob, DENIED, space="lab")
    assert (new.outcome, told(new)) == ("created", {old: "denial"})
    # An own row that another agent may not see is not even told of.
    write(warm, OLD)
    assert write(bob, DENIED).similar == []


def test_off_tells_and_replaces_nothing(warm: Replica) -> None:
    off = replace(warm, settings=replace(warm.settings, memory_supersede="off"))
    old = write(off, OLD).id
    new = write(off, DENIED)
    assert (new.outcome, told(new)) == ("created", {old: "denial"})


def test_without_a_vector_made_now_nothing_is_replaced(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as warm:
        write(warm, OLD)
    with opened(tmp_path, "ada", embedding="off") as off:
        assert write(off, DENIED).outcome == "created"
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as warm:
        from satchel.embedding.queue import drain

        drain(warm)
        assert len(current(warm)) == 2


def test_a_long_text_is_never_replaced(warm: Replica) -> None:
    lines = [f"Line {n} of the long manual of the shop says something else." for n in range(30)]
    old = write(warm, "\n".join(lines))
    new = write(warm, "\n".join([*lines, "And this is the end."]))
    assert (old.outcome, new.outcome) == ("created", "created")


def test_one_write_replaces_one_and_tells_of_a_few_more(warm: Replica) -> None:
    for number in range(TOLD_MAX + 3):
        write(warm, OTHER_NUMBER.replace("2", str(number)))
    old = write(warm, OLD).id
    new = write(warm, REWORDED)
    assert new.superseded == [old]
    assert len(new.similar) == TOLD_MAX
    assert set(told(new).values()) == {"values"}
    scores = [one["score"] for one in new.similar]
    assert scores == sorted(scores, reverse=True)


def test_what_another_thread_stored_meanwhile_is_looked_at_too(
    warm: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the scan and the write somebody else stores a memory of the same content."""
    from satchel.memory import similar

    scan, between = similar.scan, list[str]()

    def scan_then_wait(*given: Any) -> Any:
        found = scan(*given)
        if not between:
            between.append("")
            between.append(write(warm, OLD).id)
        return found

    monkeypatch.setattr(similar, "scan", scan_then_wait)
    new = write(warm, DENIED)
    assert (new.outcome, new.superseded) == ("superseded", between[1:])


def test_writers_of_threads_leave_one_truth(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as replica:
        write(replica, OLD)
        barrier, answers = threading.Barrier(4), list[Written]()

        def race(number: int) -> None:
            barrier.wait()
            answers.append(write(replica, [DENIED, REWORDED][number % 2]))

        threads = [threading.Thread(target=race, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 4
        assert len(current(replica)) == 1
        assert read.stats(replica)["memories"] == 1 + sum(
            one.outcome == "superseded" for one in answers
        )


def test_writers_of_processes_leave_one_truth(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as replica:
        write(replica, OLD, space="lab")
    calls = [("ada", DENIED), ("ada", DENIED), ("bob", DENIED), ("ada", REWORDED)]
    found = at_once(tmp_path, write_in_process, calls)
    with opened(tmp_path, embedding="off") as replica:
        outcomes = [outcome for outcome, _ in found]
        stored = [key for outcome, key in found if outcome in ("created", "superseded")]
        assert read.stats(replica)["memories"] == 1 + len(set(stored)) == 1 + len(stored)
        # Whoever came first: the same text is held once at a time, and all are held somewhere.
        texts = [one["content"] for one in read.list_memories(replica)["items"]]
        assert len(texts) == len(set(texts)) <= 2
        assert set(outcomes) <= {"created", "superseded", "exists", "merged"}


def test_a_request_is_done_once_by_whichever_process(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedding="off") as replica:
        key = write(replica, "v1").id
    found = at_once(tmp_path, supersede_in_process, [(f"{key} r1", "v2")] * 4)
    assert len(set(found)) == 1
    assert found[0][0] == "superseded"
    with opened(tmp_path, "ada", embedding="off") as replica:
        assert current(replica) == [found[0][1]]
        with pytest.raises(Conflict) as refusal:
            change.supersede(replica, key, "v3", request_id="r1")
        assert refusal.value.field == "request_id"
        assert found[0][1] in str(refusal.value)


def test_the_new_one_is_known_when_the_old_one_ends(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedder=TrigramEmbedder()) as replica:  # a clock that runs
        old = write(replica, OLD, confidence=0.9).id
        new = write(replica, DENIED, confidence=0.95)
        assert new.superseded == [old]
        last = change.supersede(replica, new.id, "The shop has no database.").id
        first, second, third = (item(replica, key) for key in (old, new.id, last))
        for ended, begun in ((first, second), (second, third)):
            moments = {ended["valid_to"], ended["retired_at"]}
            assert moments == {begun["recorded_at"], begun["valid_from"]}
        # How sure one was of what is over says nothing of what came after.
        assert (first["confidence"], third["confidence"]) == (0.9, None)


def test_of_many_corrections_by_processes_one_wins_and_all_are_answered(tmp_path: Path) -> None:
    with opened(tmp_path, "ada", embedding="off") as replica:
        key = write(replica, "v1").id
    calls = [(key, f"v{number}") for number in range(2, 6)]
    found = at_once(tmp_path, supersede_in_process, calls)
    assert [outcome for outcome, _ in found] == ["conflict"] * 3 + ["superseded"]
    winner = found[-1][1]
    assert all(winner in message for _, message in found[:3])
    with opened(tmp_path, "ada", embedding="off") as replica:
        assert current(replica) == [winner]


@pytest.fixture
def followed(ada: Replica) -> tuple[str, str]:
    """A memory of ada's, and what came after it, which is Bob's own since somebody's import."""
    old = write(ada, "v1", space="lab").id
    new = change.supersede(ada, old, "v2").id
    with ada.store.write() as db:
        rows.update(db, MEMORY, new, scope="agent", agent_id="bob")
    return old, new


def test_a_successor_that_is_hidden_is_not_named(ada: Replica, followed: tuple[str, str]) -> None:
    old, new = followed
    with pytest.raises(Conflict) as refusal:
        change.supersede(ada, old, "v3")
    assert new not in f"{refusal.value} {refusal.value.hint}"
    with pytest.raises(Conflict, match=new):
        change.supersede(seen_as(ada, "bob"), old, "v3")


def test_who_may_not_change_what_came_after_undoes_nothing(
    ada: Replica, followed: tuple[str, str]
) -> None:
    old, new = followed
    with pytest.raises(Refused) as refusal:
        change.restore(ada, old)
    assert new not in f"{refusal.value} {refusal.value.hint}"
    assert (item(ada, old)["current"], item(ada, new)["current"]) == (False, True)
    assert len(edges.graph(seen_as(ada, None), old)["edges"]) == 1
    change.restore(seen_as(ada, None), old)
    assert (item(ada, old)["current"], item(ada, new)["current"]) == (True, False)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"metadata": {"host": "web-1"}}, {"metadata": {"host": "web-2"}}),
        ({"source": "repo-a"}, {"source": "repo-b"}),
        ({"source": "repo-a"}, {}),
    ],
)
def test_what_is_about_another_thing_is_told_only(
    warm: Replica, first: dict[str, Any], second: dict[str, Any]
) -> None:
    old = write(warm, OLD, **first)
    new = write(warm, REWORDED, **second)
    assert (new.outcome, told(new)) == ("created", {old.id: "wording"})


def test_it_inherits_what_it_does_not_say(warm: Replica) -> None:
    rest = " It takes two hours, and each morning somebody looks whether all of it is there."
    write(warm, OLD + rest, title="shop", importance=0.9, aliases=["night"])
    new = write(warm, REWORDED + rest, aliases=["north"])
    assert new.outcome == "superseded"
    heir = item(warm, new.id)
    assert (heir["title"], heir["importance"]) == ("shop", 0.9)
    assert json.loads(heir["aliases"]) == ["north", "night"]
    assert new.embedding == "queued", "its vector is of the title and the aliases too"
