"""Rules of docs/SYNC.md, each with a way to switch it off: then some story must end badly.

A mutation that no story catches is a hole in the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from simulation import stories
from simulation.play import failure
from simulation.scenes import staged

from satchel_sync import (
    session,
)
from satchel_sync.changes import Page, Row, Version
from satchel_sync.in_memory import (
    applying,
    hub_merge,
    settling,
    writing,
)
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.merge import Verdict, decide
from satchel_sync.phases import pull, verify
from satchel_sync.stamp import SCRUBBED

Patch = Callable[[pytest.MonkeyPatch], None]
PLAIN, CLOCKS, RESTORES, CLONES, REWINDS, ALL, COPIES, REVOKED, DAMAGE, STICKS, ALL_STICKS = (
    (theme,) for theme in stories.THEMES
)
Themes = tuple[dict[type, int], ...]


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that is off, and what stories show it."""

    name: str
    themes: Themes
    patch: Patch

    @property
    def rare(self) -> bool:
        """Whether chance brings its stories seldom: the staged ones are played first."""
        return self.name in RARE


RARE = {
    "a beaten row is not lifted": 553,
    "a version may be replaced by one of its own lineage": 216,
    "what is about the forgotten is taken as it comes": 288,
    "a forget here sends only what was waiting": 236,
    "the cursor moves before the rows": 216,
    "a version that was received is a base even where it was not kept": 315,
    "a lane goes once each way": 216,
    "a write between two digests is not seen": 176,
    "tokens prove nothing": 5,
    "neither tokens nor cursors prove anything": 5,
    "a predecessor is no origin": 316,
    "a reconcile counts as done when it begins": 110,
    "a reconcile ends at the bound of its end": 92,
    "an ack bundle clears whatever waits, and no page queues what is newer here": 213,
    "an ack bundle clears by local sequence, and no page queues what is newer here": 213,
    "a bundle moves a cursor over a gap": 214,
}
"""Mutations that few stories show: the number of one that was seen to, which is played first."""
MUTATIONS: list[Mutation] = []


def caught(mutation: Mutation, stories_max: int) -> tuple[int, str]:
    """(how many stories it took, how the last one ended; "" where all of them ended well)."""
    scenes = staged() if mutation.rare else []
    numbers = range(1, len(scenes) + stories_max + 1)
    with pytest.MonkeyPatch.context() as monkeypatch:
        mutation.patch(monkeypatch)
        for number in [*filter(None, [RARE.get(mutation.name)]), *numbers]:
            seed = number - 1 - len(scenes)
            story = scenes[seed] if seed < 0 else stories.story_of(seed, mutation.themes)
            if why := failure(story):
                return number, why
    return stories_max, ""


def off(name: str, themes: Themes) -> Callable[[Patch], Patch]:
    """Add a mutation to the list."""

    def add(patch: Patch) -> Patch:
        MUTATIONS.append(Mutation(name, themes, patch))
        return patch

    return add


def swap(name: str, themes: Themes, place: object, attribute: str, instead: object) -> None:
    """Add a mutation that is one other value."""
    MUTATIONS.append(Mutation(name, themes, lambda m: m.setattr(place, attribute, instead)))


# ---- push ---------------------------------------------------------------------------------------


def nothing_requeued(m: pytest.MonkeyPatch) -> None:
    """Leave out the second net under a lost outbox entry: what a page shows to be newer here."""
    real = applying.apply_row

    def other(file: Any, table: Any, row: Row, now_ms: int) -> Any:
        waiting = row.key in file.kinds[table.name].outbox
        done = real(file, table, row, now_ms)
        held = file.kinds[table.name].rows[row.key]
        if not waiting and held.stamp > row.stamp:
            file.kinds[table.name].outbox.pop(row.key, None)
        return done

    m.setattr(applying, "apply_row", other)


@off("the outbox is cleared blindly, and no page queues what is newer here", PLAIN)
def _cleared_blindly(m: pytest.MonkeyPatch) -> None:
    nothing_requeued(m)
    m.setattr(
        settling,
        "clear",
        lambda file, table, row: file.kinds[table.name].outbox.pop(row.key, None),
    )


swap(
    *("a row from the future is not stamped anew", CLOCKS, settling, "bring_back"),
    lambda *_: None,
)
swap(
    *("a beaten row is not lifted", COPIES, settling, "lift"),
    lambda *_: False,
)


@off("a stamp of the future is judged by the clock alone", CLOCKS)
def _base_ignored(m: pytest.MonkeyPatch) -> None:
    def future(row: Row, held_hlc: int, now_ms: int) -> bool:
        return row.stamp != SCRUBBED and row.stamp.hlc > (now_ms + 300_000) << 16

    m.setattr(hub_merge.restamp, "future", future)


# ---- merge --------------------------------------------------------------------------------------


def _everywhere(m: pytest.MonkeyPatch, other: Callable[[Version | None, Version], Verdict]) -> None:
    for module in (hub_merge, applying, settling):
        m.setattr(module, "decide", other)


@off("a version may be replaced by one of its own lineage", COPIES)
def _no_lineage(m: pytest.MonkeyPatch) -> None:
    def other(held: Version | None, incoming: Version) -> Verdict:
        found = decide(held, incoming)
        if held is None or found not in (Verdict.KEEP, Verdict.KEEP_BEATEN):
            return found
        return Verdict.REPLACE if incoming.stamp > held.stamp else Verdict.KEEP

    _everywhere(m, other)


@off("every overwrite is a conflict", PLAIN)
def _all_concurrent(m: pytest.MonkeyPatch) -> None:
    def other(held: Version | None, incoming: Version) -> Verdict:
        found = decide(held, incoming)
        return Verdict.REPLACE_CONCURRENT if found is Verdict.REPLACE else found

    _everywhere(m, other)


@off("no overwrite is a conflict", PLAIN)
def _none_concurrent(m: pytest.MonkeyPatch) -> None:
    def other(held: Version | None, incoming: Version) -> Verdict:
        found = decide(held, incoming)
        plain = {
            Verdict.REPLACE_CONCURRENT: Verdict.REPLACE,
            Verdict.KEEP_CONCURRENT: Verdict.KEEP,
        }
        return plain.get(found, found)

    _everywhere(m, other)


@off("the later clock wins whatever the lives are", CLOCKS)
def _life_ignored(m: pytest.MonkeyPatch) -> None:
    def other(held: Version | None, incoming: Version) -> Verdict:
        found = decide(held, incoming)
        if held is None or not found.concurrent or SCRUBBED in (held.stamp, incoming.stamp):
            return found
        later = incoming.stamp[1:] > held.stamp[1:]
        return Verdict.REPLACE_CONCURRENT if later else Verdict.KEEP_CONCURRENT

    _everywhere(m, other)


@off("what is about the forgotten is taken as it comes", PLAIN)
def _dependants_stay(m: pytest.MonkeyPatch) -> None:
    for module in (hub_merge, applying, writing):
        m.setattr(module, "is_about_forgotten", lambda *_: False)


@off("what is about the forgotten stays when it is forgotten", PLAIN)
def _no_cascade(m: pytest.MonkeyPatch) -> None:
    for module in (hub_merge, writing):
        m.setattr(module, "about", lambda *_: [])


@off("a forget here sends only what was waiting", PLAIN)
def _forget_quietly(m: pytest.MonkeyPatch) -> None:
    scrub = writing.scrub
    m.setattr(writing, "scrub", lambda f, t, k, mine=False: scrub(f, t, k))


# ---- pull ---------------------------------------------------------------------------------------


@off("the cursor moves before the rows", PLAIN)
def _cursor_first(m: pytest.MonkeyPatch) -> None:
    def other(replica: Any, hub: Any, table: Any, upto: int, *_: Any) -> None:
        after = replica.cursor(table)
        while after < upto:
            page = hub.pull(table, after, upto)
            after = page.cursor
            replica.apply(table, (), after)
            replica.apply(table, page.rows, None)

    m.setattr(pull, "pull_table", other)


@off("a page counts as delivered when the sync ends", REWINDS + RESTORES)
def _delivered_late(m: pytest.MonkeyPatch) -> None:
    real_pull, real_bye = MemoryHub.pull, MemoryHub.bye

    def page(hub: MemoryHub, *given: Any) -> Page:
        delivered = hub.state.register(hub.said.replica_id if hub.said else b"").delivered
        before = dict(delivered)
        found = real_pull(hub, *given)
        hub.late = {**getattr(hub, "late", {}), **delivered}  # type: ignore[attr-defined]
        delivered.clear()
        delivered.update(before)
        return found

    def bye(hub: MemoryHub, *given: Any) -> Any:
        for kind, seq in getattr(hub, "late", {}).items():
            hub._delivered(kind, seq)
        return real_bye(hub, *given)

    m.setattr(MemoryHub, "pull", page)
    m.setattr(MemoryHub, "bye", bye)


def _pages(keep: Callable[[MemoryHub, int, Row], bool]) -> Patch:
    def patch(m: pytest.MonkeyPatch) -> None:
        real = MemoryHub.pull

        def page(hub: MemoryHub, table: Any, after: int, upto: int) -> Page:
            found = real(hub, table, after, upto)
            rows = tuple(row for row in found.rows if keep(hub, after, row))
            return replace(found, rows=rows)

        m.setattr(MemoryHub, "pull", page)

    return patch


off("tombstones are left out of a first sync", PLAIN)(
    _pages(lambda _, after, row: after > 0 or not row.stamp.dead)
)
off("what I pushed is left out of my pages", RESTORES)(
    _pages(
        lambda hub, _, row: (
            hub.said is None
            or row.stamp.origin not in (hub.said.replica_id, *hub.said.predecessors)
        )
    )
)


@off("a version that was received is a base even where it was not kept", STICKS)
def _base_of_all(m: pytest.MonkeyPatch) -> None:
    real = applying.apply_row

    def other(file: Any, table: Any, row: Row, now_ms: int) -> Any:
        done = real(file, table, row, now_ms)
        file.kinds[table.name].bases[row.key] = row.stamp
        return done

    m.setattr(applying, "apply_row", other)


swap("a lane goes once each way", CLONES, session, "EXCHANGES_MAX", 1)

# ---- digest -------------------------------------------------------------------------------------


@off("digests are compared while rows wait", PLAIN)
def _digest_at_once(m: pytest.MonkeyPatch) -> None:
    real = MemoryReplica.digest
    m.setattr(
        MemoryReplica, "digest", lambda self, table, settled=True: real(self, table, settled=False)
    )


@off("digests are compared whatever the hub's sequence is", PLAIN)
def _seq_ignored(m: pytest.MonkeyPatch) -> None:
    real = MemoryReplica.digest

    def other(self: MemoryReplica, table: Any, *, settled: bool = True) -> Any:
        found = real(self, table, settled=settled)
        return found and replace(found, seq=2**62)

    m.setattr(MemoryReplica, "digest", other)


swap(
    *("rows that stay here are counted at the hub", PLAIN, MemoryReplica, "held_back"),
    lambda self, table: (),
)


@off("a write between two digests is not seen", PLAIN)
def _race_ignored(m: pytest.MonkeyPatch) -> None:
    def other(replica: Any, hub: Any, tables: Any) -> Any:
        class Still:
            def __getattr__(self, name: str) -> Any:
                return (lambda: 0) if name == "outbox_end" else getattr(replica, name)

        return real(Still(), hub, tables)  # type: ignore[arg-type]

    real = verify.compare
    m.setattr(verify, "compare", other)
