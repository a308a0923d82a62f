"""Attacks 7, 16, 17, 23: long absence, lost answers, pages before a push, killed first pulls."""

from __future__ import annotations

from contextlib import suppress

import pytest
from fix_machines import DAY_MS, Fleet

from satchel.store import rows
from satchel.store.endpoint import SqliteReplica
from satchel_sync import limits
from satchel_sync.errors import HubUnreachable
from satchel_sync.tables import MEMORY
from satchel_warehouse import endpoint


def test_7_400_days_away_resurrect_nothing_and_lose_no_text(fleet: Fleet) -> None:
    a, b = fleet.pair()
    with a.store.write() as db:
        db.executemany(
            "INSERT INTO memory(id, content, scope) VALUES(?, 'first', 'org')",
            ((f"old-{number}",) for number in range(700)),
        )
    fleet.quiet()
    for hundred in range(0, 600, 100):
        with a.store.write() as db:
            for number in range(hundred, hundred + 100):
                assert rows.delete(db, MEMORY, f"old-{number}")
        a.clock.at_ms += 60 * DAY_MS
        a.sync()
    b.clock.at_ms += 400 * DAY_MS
    edited = [f"old-{number}" for number in range(5)]
    for key in edited:
        b.put(key, f"{key}, edited without having seen the delete")
    for number in range(3):
        b.put(f"new-{number}", "new")
    with pytest.raises(HubUnreachable):
        b.sync(b.lossy(2, answer_lost=True))
    fleet.quiet()
    for machine in (a, b):
        ((alive,),) = machine.sql("SELECT count(*) FROM memory WHERE content IS NOT NULL")
        assert alive == 103
        assert all(machine.text(f"old-{number}") is None for number in range(600))
        assert all(machine.text(f"new-{number}") == "new" for number in range(3))
    assert sorted(fleet.journal()) == [("memory", key) for key in edited]


@pytest.mark.parametrize("edited_on_top", [False, True])
def test_16_a_push_repeated_after_a_lost_reply_and_an_edit_is_no_conflict(
    fleet: Fleet, edited_on_top: bool
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("x", "two")
    with pytest.raises(HubUnreachable):
        a.sync(a.lossy(2, answer_lost=True))
    if edited_on_top:
        b.sync()
        assert b.text("x") == "two"
        b.clock.at_ms += 5_000
        b.put("x", "three, by b on top of it")
        b.sync()
        a.sync()
    else:
        a.put("x", "three, by a on top of it")
    fleet.quiet()
    assert a.text("x") == b.text("x")
    assert (a.text("x") or "").startswith("three")
    assert fleet.journal() == []
    assert [machine.sql("SELECT * FROM conflict") for machine in (a, b)] == [[], []]


def test_16_both_edits_on_top_of_a_lost_reply_are_one_conflict(fleet: Fleet) -> None:
    """Here the two really are concurrent: the plain retry in between adds nothing."""
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    a.put("x", "two")
    for _ in range(2):
        with pytest.raises(HubUnreachable):
            a.sync(a.lossy(2, answer_lost=True))
    b.sync()
    b.clock.at_ms += 5_000
    b.put("x", "three, by b")
    b.sync()
    a.put("x", "three, by a")
    fleet.quiet()
    assert a.text("x") == b.text("x") == "three, by b"
    assert fleet.journal() == [("memory", "x")]


@pytest.mark.parametrize("a_wins", [True, False])
@pytest.mark.parametrize("pushed_first", ["a", "b"])
def test_17_a_page_seen_before_the_push_hides_no_conflict(
    fleet: Fleet, a_wins: bool, pushed_first: str
) -> None:
    a, b = fleet.pair()
    a.put("x", "one")
    fleet.quiet()
    winner, loser = (a, b) if a_wins else (b, a)
    winner.clock.at_ms += 10_000
    for machine, name in ((a, "a"), (b, "b")):
        machine.put("x", f"by {name}")
    first, second = (a, b) if pushed_first == "a" else (b, a)
    first.sync()
    # The second one sees the page and its push does not arrive, so the two meet here first.
    replica = SqliteReplica(second.store)
    replica.welcome(second.hub.hello(replica.hello()))
    after = replica.cursor(MEMORY)
    page = second.hub.pull(MEMORY, after, second.hub.bound()["memory"])
    replica.apply(MEMORY, page.rows, page.cursor)
    for machine in (second, first, second):
        machine.sync()
    fleet.quiet()
    assert a.text("x") == b.text("x") == ("by a" if a_wins else "by b")
    assert fleet.journal() == [("memory", "x")], "once, whichever path found it"
    lost = "by b" if a_wins else "by a"
    ((content,),) = fleet.world.psql().execute("SELECT content FROM satchel.conflict").fetchall()
    assert lost in str(content)
    assert loser.text("x") != lost


@pytest.mark.parametrize("answer_lost", [False, True])
def test_23_a_first_sync_killed_after_page_1_learns_of_deletes_when_it_is_resumed(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, answer_lost: bool
) -> None:
    monkeypatch.setattr(endpoint, "PULL_ROWS_MAX", 10)
    assert limits.PULL_ROWS_MAX > 10
    a, b = fleet.pair()
    for number in range(35):
        a.put(f"x-{number:02}", "text")
    a.sync()
    with suppress(HubUnreachable):
        b.sync(b.lossy(4, answer_lost=answer_lost))
    ((held,),) = b.sql("SELECT count(*) FROM memory")
    assert 0 < held < 35
    for number in (0, 1, 2, 33, 34):
        a.delete(MEMORY, f"x-{number:02}")
    a.sync()
    report = b.sync()
    assert report["exit"] == 0
    assert report["identity"] == []
    fleet.quiet()
    assert [b.text(f"x-{number:02}") for number in (0, 1, 2, 33, 34)] == [None] * 5
    ((alive,),) = b.sql("SELECT count(*) FROM memory WHERE content IS NOT NULL")
    assert alive == 30
