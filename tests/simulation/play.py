"""Play a story to its end: its steps, quiet rounds, then all that must hold."""

from __future__ import annotations

from simulation import steps as s
from simulation.invariants import (
    check_audit,
    check_converged,
    check_digests,
    check_forgotten,
    check_identities,
    check_journal,
    check_writes,
    require,
)
from simulation.world import SPOILT, World

ROUNDS = 2
ROUNDS_BY_STICKS = 3
ROUNDS_AFTER_REWINDS = 5
"""By sticks: one tells of the rewind, one brings the manifest, and the rows come after that."""


def play(story: s.Story) -> World:
    """Raises Broken, or whatever else went wrong."""
    world = World(story.machines)
    for step in story.steps:
        world.play(step)
    check_digests(world)
    mend(world)
    come_together(world, by_sticks=story.by_sticks and not has_twins(world))
    check_converged(world)
    check_digests(world)
    check_identities(world)
    if not (story.by_sticks and world.cuts):
        # Residue: a manifest bundle ends a reconcile before the rows come that it is about, so a
        # version that only a third machine still had may lose without an entry.
        check_writes(world)
    check_forgotten(world)
    if not story.has(s.Restore, s.Clone, s.HubRewind):
        check_journal(world)
    if story.by_sticks and any(machine.suspect for machine in world.machines):
        come_together(world, by_sticks=False)  # only a network finds every restored file
    check_quiet(world)
    check_audit(world)
    return world


def has_twins(world: World) -> bool:
    """Whether two living files have one id; only a network tells them apart."""
    return len({m.replica.replica_id for m in world.machines}) < len(world.machines)


def come_together(world: World, by_sticks: bool) -> None:
    """Quiet rounds."""
    by_stick = ROUNDS_AFTER_REWINDS if world.cuts else ROUNDS_BY_STICKS
    for _ in range(by_stick if by_sticks else ROUNDS):
        for machine in world.machines:
            if by_sticks:
                world.sticks.round(machine)
            else:
                world.synced(machine)


def mend(world: World) -> None:
    """What people do in the end: take machines back, change the rows that no hub takes."""
    for machine in world.machines:
        if world.is_revoked(machine):
            world.take_back(machine)
        for key in tuple(machine.replica.kinds["memory"].quarantine):
            world.play(s.Edit(machine.number, int(key[1:])))
        held = machine.replica.kinds["memory"].rows.items()
        for key in [key for key, row in held if row.values[-1] == SPOILT]:
            world.play(s.Edit(machine.number, int(key[1:])))


def check_quiet(world: World) -> None:
    """One more round changes nothing anywhere."""
    before = world.hub.state.last_seq
    for machine in world.machines:
        report = world.synced(machine)
        require(report["noop"] and report["digest"] == "equal", f"a quiet sync is none: {report}")
        require(not report["identity"], f"a quiet sync reports {report['identity']}")
    require(world.hub.state.last_seq == before, "a quiet round moved the change sequence")


def failure(story: s.Story) -> str:
    """Why a story does not end well; "" when it does."""
    try:
        play(story)
    except Exception as error:  # noqa: BLE001 - whatever it is, the story is what is wanted
        return f"{type(error).__name__}: {error}"
    return ""
