"""Two times: what any history of changes leaves, asked at any two times, is what the oracle says.

The oracle (`fix_bitemporal`) is plain Python; the histories write, supersede, correct, delete and
restore in any order, on one machine and on two that sync in between.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from fix_bitemporal import Oracle, Refusal
from fix_memory import NOON_MS, StillClock, opened
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from satchel.errors import SatchelError
from satchel.memory import change, read
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.endpoint import SqliteReplica
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.session import sync

VERBS = ("write", "supersede", "supersede", "update", "delete", "restore", "restore")
SPAN_MS = 6
QUESTIONS = 24
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


@dataclass(frozen=True)
class Step:
    """One change: which memory, what times (from now on, None = not given), how much later."""

    verb: str
    which: int
    starts: int | None
    ends: int | None
    expires: int | None
    later: int
    where: int = 0
    """The machine that does it; -1 = they sync first."""


def steps(machines: int) -> st.SearchStrategy[list[Step]]:
    """Histories of up to a dozen changes."""
    offsets = st.none() | st.integers(-SPAN_MS, SPAN_MS)
    one = st.builds(
        Step,
        verb=st.sampled_from(VERBS),
        which=st.integers(0, 5),
        starts=offsets | st.just(-NOON_MS),  # the beginning of 1970: 0, and still a time
        ends=offsets,
        expires=st.none() | st.none() | st.integers(1, 2 * SPAN_MS),
        later=st.integers(0, 2),
        where=st.integers(-1 if machines > 1 else 0, machines - 1),
    )
    return st.lists(one, min_size=2, max_size=12)


@dataclass
class Machine:
    """A replica beside what the oracle makes of the same changes."""

    replica: Replica
    clock: StillClock
    hub: MemoryHub
    oracle: Oracle = field(default_factory=Oracle)

    def take(self, step: Step, number: int) -> None:
        """Do a step in both; refused by one, it must be refused by the other in the same way."""
        self.clock.at_ms += step.later
        keys = sorted(self.oracle.facts)
        key = keys[step.which % len(keys)] if keys else None
        said = foreseen = ""
        try:
            self._change(step, key, f"fact number {number}")
        except SatchelError as refusal:
            said = refusal.code
        try:
            self._foresee(step, key)
        except Refusal as refusal:
            foreseen = str(refusal)
        assert said == foreseen, step
        self._stamp()

    def _change(self, step: Step, key: str | None, text: str) -> None:
        starts, ends, expires = self._times(step)
        self.made: str | None = None
        if key is None or step.verb == "write":
            self.made = write(self.replica, text, valid_from=starts, expires_at=expires).id
        elif step.verb == "supersede":
            self.made = change.supersede(self.replica, key, text, valid_from=starts).id
        elif step.verb == "update":
            change.update(
                self.replica, key, title=text, valid_from=starts, valid_to=ends, expires_at=expires
            )
        elif step.verb == "delete":
            change.delete(self.replica, key, confirm=True)
        else:
            change.restore(self.replica, key)

    def _foresee(self, step: Step, key: str | None) -> None:
        starts, ends, expires = self._times(step)
        now = self.clock.at_ms
        if key is None or step.verb == "write":
            self.oracle.write(self.made or "", now, starts, expires)
        elif step.verb == "supersede":
            self.oracle.can_supersede(key)
            self.oracle.supersede(key, self.made or "", now, starts)
        elif step.verb == "update":
            self.oracle.update(key, starts=starts, ends=ends, expires_at=expires)
        elif step.verb == "delete":
            self.oracle.delete(key)
        else:
            self.oracle.restore(key, now)

    def _times(self, step: Step) -> tuple[int | None, int | None, int | None]:
        now = self.clock.at_ms
        given = (step.starts, step.ends, step.expires)
        starts, ends, expires = (None if one is None else now + one for one in given)
        return starts if starts is None or starts > 1000 + SPAN_MS else 0, ends, expires

    def _stamp(self) -> None:
        """Read the versions, by which a merge is decided."""
        with self.replica.store.read() as db:
            for key, *stamp in db.execute("SELECT id, life, hlc, origin, digest FROM memory"):
                self.oracle.facts[str(key)].stamp = (stamp[0], stamp[1], stamp[2], stamp[3] or b"")

    def sync(self) -> None:
        """One sync with the hub."""
        report = sync(SqliteReplica(self.replica.store), self.hub, self.clock)
        assert (report["exit"], report["digest"]) == (0, "equal")

    def check(self, questions: random.Random) -> None:
        """Ask by every door at many times what both say."""
        now = self.clock.at_ms
        times = [None, 0, *range(now - 2 * SPAN_MS, now + 2 * SPAN_MS)]
        for number in range(QUESTIONS):
            true_at = None if number == 0 else questions.choice(times)
            known_at = None if number == 0 else questions.choice(times)
            wanted = self.oracle.found(now, true_at, known_at)
            asked = {"as_of": true_at, "known_at": known_at}
            note(f"{asked} at {now}")
            listed = read.list_memories(self.replica, **asked)["items"]  # type: ignore[arg-type]
            assert {one["id"] for one in listed} == wanted
            if number % 6 == 0:
                hits = search.search(self.replica, "fact", k=100, **asked).hits  # type: ignore[arg-type]
                assert {hit.id for hit in hits} == wanted
        held = [key for key, one in self.oracle.facts.items() if not one.deleted]
        items = read.get(self.replica, held)["items"] if held else []
        current = self.oracle.found(now, None, None)
        assert {one["id"] for one in items if one["current"]} == current
        stats = read.stats(self.replica)
        assert (stats["memories"], stats["current"]) == (len(held), len(current))


@contextmanager
def machines(skews_ms: list[int]) -> Iterator[list[Machine]]:
    """Machines that share a hub, their clocks apart."""
    hub = MemoryHub(StillClock())
    with TemporaryDirectory() as folder, ExitStack() as stack:
        found = []
        for number, skew_ms in enumerate(skews_ms):
            clock = StillClock(NOON_MS + skew_ms)
            home = Path(folder) / str(number)
            home.mkdir()
            replica = stack.enter_context(opened(home, clock=clock, embedding="off"))
            found.append(Machine(replica, clock, hub.connect()))
        yield found


@settings(max_examples=30, deadline=None, phases=PHASES)
@given(steps(1), st.randoms(use_true_random=False))
def test_every_history_answers_as_the_oracle_says(
    history: list[Step], questions: random.Random
) -> None:
    with machines([0]) as (machine,):
        for number, step in enumerate(history):
            machine.take(step, number)
        machine.check(questions)


@settings(max_examples=15, deadline=None, phases=PHASES)
@given(steps(2), st.integers(-4, 4), st.randoms(use_true_random=False))
def test_two_machines_that_sync_answer_as_the_oracle_says(
    history: list[Step], skew_ms: int, questions: random.Random
) -> None:
    with machines([0, skew_ms]) as (one, other):
        for number, step in enumerate(history):
            if step.where < 0:
                meet(one, other)
            (one, other)[max(step.where, 0)].take(step, number)
        meet(one, other)
        one.check(questions)
        other.check(questions)
        assert versions(one) == versions(other)


def meet(one: Machine, other: Machine) -> None:
    """Both sync until they hold the same, by the oracle the winner of each memory."""
    for machine in (one, other, one):
        machine.sync()
    both = one.oracle.merged(other.oracle)
    one.oracle, other.oracle = both, Oracle(dict(both.facts)).merged(Oracle())


def versions(machine: Machine) -> dict[str, object]:
    """Every column of every memory."""
    with machine.replica.store.read() as db:
        found = db.execute(
            "SELECT id, content, life, hlc, valid_from, valid_to, valid_to_was,"
            " retired_at, expires_at, supersedes FROM memory"
        )
        return {str(key): values for key, *values in found}
