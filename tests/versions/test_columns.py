"""Attacks 12 and 24: old and new programs beside each other never lose a column."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from fix_held import hub_holds, text
from fix_mixed import Machine, World, moved


@pytest.fixture(params=["present", "future"])
def hub(request: pytest.FixtureRequest, mixed: World) -> World:
    """A hub of the old version, or of the new one."""
    if request.param == "future":
        mixed.migrate(mixed.versions.future)
    return mixed


@pytest.fixture
def pair(hub: World) -> tuple[Machine, Machine]:
    """A machine with the new program and one with the old."""
    return hub.machine(hub.versions.future), hub.machine(hub.versions.present)


def orders(new: tuple[str, ...], old: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every order of two machines' steps that keeps each machine's own order."""
    total = len(new) + len(old)
    for places in itertools.combinations(range(total), len(new)):
        mine, theirs = iter(new), iter(old)
        yield tuple(next(mine) if at in places else next(theirs) for at in range(total))


STEPS = ("new writes", "new syncs", "new syncs"), ("old syncs", "old edits", "old syncs")
PARTS = 5
"""Tests that share the orders, as each order takes a second."""


@pytest.mark.parametrize("part", range(PARTS))
def test_attack_12_a_new_column_survives_every_order_of_syncs(
    hub: World, pair: tuple[Machine, Machine], part: int
) -> None:
    new, old = pair
    for number, order in enumerate(list(orders(*STEPS))[part::PARTS]):
        key = f"row-{number:02}"
        old.put("memory", key, content="before", scope="org")
        old.sync()
        new.sync()
        for step in order:
            match step:
                case "new writes":
                    new.put("memory", key, mood="glad", energy=0.5)
                case "old edits":
                    had_seen = "mood" in old.holds()["memory", key].content
                    old.put("memory", key, content="after")
                case "new syncs":
                    new.sync()
                case "old syncs":
                    old.sync()
        for machine in (old, new, old):
            machine.sync()
        held = new.holds()["memory", key]
        if had_seen:
            assert held.content["mood"] == text("glad"), order
            assert held.content["content"] == text("after")
            assert new.get("memory", key)["mood"] == "glad"
        else:
            # Neither had seen the other: the later one wins whole, and what lost is kept.
            journal = hub.hub.psql().execute(
                "SELECT content::jsonb FROM satchel.conflict WHERE key = %s", (key,)
            )
            ((lost,),) = journal.fetchall()
            by_name = {name: value for name, (_, value) in held.content.items()}
            assert {by_name["content"].decode(), lost["content"]} == {"before", "after"}
            assert ("mood" in held.content) != ("mood" in str(lost))
    hub.settle()


def test_attack_24_a_row_that_a_new_program_gave_a_column_has_one_content(
    hub: World, pair: tuple[Machine, Machine]
) -> None:
    new, old = pair
    new.put("memory", "m1", content="one", mood="glad", energy=-0.25, scope="org")
    new.put("task", "t1", title="paint", status="pending", effort=-(2**63))
    new.sync()
    old.sync()
    old.put("memory", "m1", content="two")
    old.put("task", "t1", status="completed")
    old.sync()
    new.sync()
    hub.settle()
    assert new.get("memory", "m1")["mood"] == "glad"
    assert new.get("memory", "m1")["energy"] == -0.25
    assert (new.get("task", "t1")["effort"], new.get("task", "t1")["status"]) == (
        -(2**63), "completed",
    )  # fmt: skip
    assert old.holds()["memory", "m1"].extra is not None
    assert new.holds()["memory", "m1"].extra is None


def test_a_column_that_the_new_program_empties_is_empty_everywhere(
    hub: World, pair: tuple[Machine, Machine]
) -> None:
    new, old = pair
    new.put("memory", "m1", content="one", mood="glad")
    new.sync()
    old.sync()
    new.put("memory", "m1", mood=None)
    new.sync()
    old.sync()
    assert old.holds()["memory", "m1"].extra is None
    hub.settle()


def test_adding_a_column_sends_nothing_again(mixed: World) -> None:
    old, other = (mixed.machine(mixed.versions.present) for _ in range(2))
    for number in range(200):
        old.put("memory", f"m{number}", content=f"text {number}", scope="org")
    mixed.settle()
    query = "SELECT array_agg((id, change_seq, received_at) ORDER BY id)::text FROM satchel.memory"
    before, held = mixed.hub.psql().execute(query).fetchone(), hub_holds(mixed.hub.dsn)
    mixed.migrate(mixed.versions.future)
    assert mixed.hub.psql().execute(query).fetchone() == before
    old.upgrade(mixed.versions.future)
    for machine in (old, other, old, mixed.machine(mixed.versions.future)):
        report = machine.sync()
        assert report["bytes_out"] == 0
        if machine is not mixed.machines[-1]:
            assert (moved(report), report["bytes_in"], report["noop"]) == ((0, 0), 0, True)
    assert mixed.hub.psql().execute(query).fetchone() == before
    assert hub_holds(mixed.hub.dsn) == held
    mixed.settle()


@pytest.mark.parametrize("deleter", ["new", "old"])
@pytest.mark.parametrize("restorer", ["new", "old"])
def test_a_restored_row_has_its_new_column_whoever_deleted_and_whoever_restores(
    hub: World, pair: tuple[Machine, Machine], deleter: str, restorer: str
) -> None:
    by_name = dict(zip(("new", "old"), pair, strict=True))
    new, old = pair
    new.put("memory", "m1", content="one", mood="glad", energy=0.5, scope="org")
    new.sync()
    old.sync()
    by_name[deleter].process.do("delete", kind="memory", key="m1")
    hub.settle()
    assert new.get("memory", "m1") is None
    by_name[restorer].process.do("restore", key="m1")
    hub.settle()
    assert new.get("memory", "m1")["content"] == "one"
    assert (new.get("memory", "m1")["mood"], new.get("memory", "m1")["energy"]) == ("glad", 0.5)
