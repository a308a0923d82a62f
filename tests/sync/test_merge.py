"""The merge rule: total order, lineage, scrubbed rows."""

from __future__ import annotations

import functools
import itertools

from fix_sync import memory_row, memory_values, stamps
from hypothesis import given
from hypothesis import strategies as st

from satchel_sync.changes import Version
from satchel_sync.merge import Verdict, decide, journaled, newest
from satchel_sync.stamp import SCRUBBED, Stamp, extend
from satchel_sync.tables import BY_NAME, MEMORY


def held_after(held: Version | None, incoming: Version) -> Version:
    """What is stored after `incoming` met `held`."""
    if held is None or decide(held, incoming).replaces:
        return incoming
    return held


@given(st.lists(stamps, min_size=1, max_size=4))
def test_any_order_of_arrival_leaves_the_maximum(drawn: list[Stamp]) -> None:
    versions = [Version(stamp) for stamp in drawn]
    for order in itertools.permutations(versions):
        final = functools.reduce(held_after, order, None)
        assert final is not None
        assert max(drawn) == final.stamp


@given(stamps, stamps)
def test_concurrent_is_seen_from_both_sides(one: Stamp, other: Stamp) -> None:
    forth, back = decide(Version(one), Version(other)), decide(Version(other), Version(one))
    assert forth.concurrent == back.concurrent
    if one != other:
        assert forth.replaces != back.replaces


@given(stamps, stamps)
def test_an_ancestor_never_replaces_and_is_no_conflict(old: Stamp, new: Stamp) -> None:
    if old == new:
        return
    child = Version(new, extend("", old))
    assert decide(child, Version(old)) is Verdict.KEEP
    onto = decide(Version(old), child)
    assert onto is (Verdict.REPLACE if new > old else Verdict.KEEP_BEATEN)


@given(stamps)
def test_scrubbed_is_final_and_silent(stamp: Stamp) -> None:
    assert decide(Version(SCRUBBED), Version(stamp)) is Verdict.KEEP
    assert decide(Version(stamp), Version(SCRUBBED)) is Verdict.REPLACE


def test_a_delete_beats_every_edit_that_had_not_seen_it() -> None:
    deleted = Stamp(2 << 16, 5, b"\1" * 16, b"\0" * 8)
    edited_later = Stamp(1 << 16, 2**40, b"\2" * 16, b"\1" * 8)
    assert decide(Version(deleted), Version(edited_later)) is Verdict.KEEP_CONCURRENT


def test_newest_keeps_the_highest_version_of_each_key() -> None:
    low = Stamp(1, 1, b"\1" * 16, b"\0" * 8)
    rows = [memory_row("a", "x", low), memory_row("b", "y", low)]
    higher = memory_row("a", "z", low._replace(hlc=2))
    assert [higher, rows[1]] == newest([*rows, higher, rows[0]])


def test_what_the_journal_leaves_out() -> None:
    agent = BY_NAME["agent"]
    seen = {name: "x" if agent.column(name).tag == "t" else 1 for name in agent.names}  # type: ignore[union-attr]
    old = (*seen.values(), None)
    new = (*(seen | {"last_seen": 2}).values(), None)
    renamed = (*(seen | {"description": "y"}).values(), None)
    assert not journaled(agent, old, new)
    assert journaled(agent, old, renamed)
    assert not journaled(MEMORY, memory_values(None), memory_values("x"))
    assert not journaled(BY_NAME["embedding"], (1,) * 8, (2,) * 8)
