"""Writes in any order against plain rules: what is kept once, and that no fact ever gets lost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fix_memory import StillClock, TrigramEmbedder, opened, seen_as
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.memory import change, read
from satchel.memory.write import write
from satchel.replica import Replica

AGENTS = ("ada", "bob", "cleo")
PLACES: tuple[dict[str, str], ...] = (
    {},
    {"space": "lab"},
    {"space": "den"},
    {"scope": "user"},
    {"scope": "org"},
)
TEXTS = ("The sky is blue.", "Tea is hot.", "Ice is cold.")
SPELLINGS = ("{}", "  {}\n", "{} ")

Call = tuple[str, dict[str, str], str, str]
CALLS = st.tuples(
    st.sampled_from(AGENTS),
    st.sampled_from(PLACES),
    st.sampled_from(TEXTS),
    st.sampled_from(SPELLINGS),
)


@contextmanager
def fresh(embedder: TrigramEmbedder | None = None) -> Iterator[tuple[Replica, StillClock]]:
    clock = StillClock()
    state = "auto" if embedder else "off"
    with (
        tempfile.TemporaryDirectory() as home,
        opened(Path(home), clock=clock, embedder=embedder, embedding=state) as replica,
    ):
        yield replica, clock


@given(st.lists(CALLS, min_size=1, max_size=12))
@settings(max_examples=15, deadline=None)
def test_a_text_is_kept_once_a_place_and_each_voice_counts_once(calls: list[Call]) -> None:
    held: dict[tuple[str, ...], str] = {}
    voices: dict[str, set[str]] = {}
    with fresh() as (replica, clock):
        for agent, place, text, spelling in calls:
            clock.at_ms += 1
            where = (*place.values(), *(() if place else (agent,)), text)
            written = write(seen_as(replica, agent), spelling.format(text), **place)
            if where not in held:
                held[where] = written.id
                expected = "created"
            else:
                expected = "exists" if agent in voices[written.id] else "merged"
            voices.setdefault(written.id, set()).add(agent)
            assert (written.outcome, written.id) == (expected, held[where])
        items = {one["id"]: one for one in read.list_memories(replica)["items"]}
    assert items.keys() == set(held.values())
    for key, said in voices.items():
        sure = None if len(said) == 1 else round(1 - 0.5 ** len(said), 4)
        assert items[key]["confidence"] == sure


FAMILY = (
    "The nightly backup of the shop database is written to the north archive.",
    "The nightly backup of the shop database is now written to the north archive.",
    "The nightly backup of the shop database is not written to the north archive.",
    "The nightly backup 2 of the shop database is written to the north archive.",
    "The nightly backup of the shop database is written to the south archive.",
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("write", "write", "write", "pin", "restore")),
        st.integers(0, len(FAMILY) - 1),
        st.sampled_from(AGENTS[:2]),
    ),
    min_size=2,
    max_size=12,
)


@given(STEPS)
@settings(max_examples=15, deadline=None)
def test_no_fact_is_lost_without_being_named_and_all_can_be_had_back(
    steps: list[tuple[str, int, str]],
) -> None:
    """Every memory is current, or the one that took its place said so; a pinned one is current."""
    with fresh(TrigramEmbedder()) as (replica, clock):
        order: list[str] = []
        gone: dict[str, str] = {}
        pinned: set[str] = set()
        for what, number, agent in steps:
            clock.at_ms += 1000
            if what == "write":
                written = write(seen_as(replica, agent), FAMILY[number], space="lab")
                if written.outcome in ("created", "superseded"):
                    order.append(written.id)
                gone |= dict.fromkeys(written.superseded, written.id)
                assert not pinned & set(written.superseded)
            elif order and what == "pin":
                key = order[number % len(order)]
                change.pin(replica, key)
                pinned |= {key} - gone.keys()
            elif order:
                key = order[number % len(order)]
                change.restore(replica, key)
                gone.pop(key, None)
            assert current(replica) == set(order) - gone.keys()
        for key in list(gone):
            change.restore(replica, key)
        assert current(replica) == set(order)


def current(replica: Replica) -> set[str]:
    return {one["id"] for one in read.list_memories(replica)["items"]}
