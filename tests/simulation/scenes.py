"""Stories that chance brings too seldom: each for one rule, and a call at which it strikes."""

from __future__ import annotations

from collections.abc import Callable

from simulation.steps import (
    Backup,
    Clone,
    Edit,
    Export,
    Fault,
    Forget,
    HubBackup,
    HubRewind,
    Import,
    Pass,
    Restore,
    Skew,
    Spoil,
    Story,
    Sync,
)

Scene = Callable[[int], Story]
MINUTE_MS = 60 * 1000
DAY_MS = 24 * 60 * MINUTE_MS
CALLS = range(5, 110, 2)


def rewound_in_mid_sync(call: int) -> Story:
    """The hub is set back to between a hello and its push; the sync had died at a call."""
    dying = Sync(0, Fault(call, "crash"), ((4, HubBackup()),))
    return Story(2, (Edit(0, 0), Sync(0), Sync(1), Edit(0, 1), dying, HubRewind(0), Sync(1)))


def raced_reconcile(call: int) -> Story:
    """Another machine pushes at a call of a reconcile."""
    before = (Edit(0, 0), Sync(0), Sync(1), Edit(0, 1), HubBackup(), Sync(0), HubRewind(0))
    return Story(2, (*before, Sync(0, None, ((call, Edit(1, 2)), (call, Sync(1)))), Sync(1)))


def dying_reconcile(call: int) -> Story:
    """A reconcile dies at a call."""
    before = (Edit(0, 0), Sync(0), Sync(1), HubBackup(), Edit(0, 1), Sync(0), HubRewind(0))
    return Story(2, (*before, Sync(0, Fault(call, "crash")), Sync(1)))


def forgotten_in_the_check(call: int) -> Story:
    """A row that is held back is forgotten at a call of the digest check."""
    forgets = Sync(0, None, ((call, Forget(0, 0)),))
    return Story(1, (Edit(0, 0), Sync(0), Spoil(0, 0), forgets))


def old_ack(_: int) -> Story:
    """A file is put back and edited again; then the ack of the edit that it lost comes in."""
    sent = (Edit(0, 0), Export(0, True), Import(0))
    again = (Restore(0, 0, False), Pass(1), Edit(0, 0), Export(0, False), Import(0))
    return Story(1, (Edit(0, 1), Sync(0), Backup(0), *sent, *again))


def gap(_: int) -> Story:
    """A file is put back to before the cursor at which the next bundle for it begins."""
    told = (Backup(0), Edit(1, 1), Sync(1), Sync(0), Export(0, True), Import(0))
    later = (Edit(1, 2), Sync(1), Restore(0, 0, False), Export(0, False), Import(0))
    return Story(2, (Sync(0), *told, *later))


def stick_of_another_epoch(_: int) -> Story:
    """A bundle of before a rewind comes in after the reconcile, and reaches far."""
    edits = (Edit(1, 0), Sync(1)) * 6
    told = (Export(0, True), Import(0), Export(0, False))
    after = (HubRewind(0), Sync(1), Sync(0), Import(0), Edit(1, 1), Sync(1))
    return Story(2, (Sync(0), Sync(1), HubBackup(), *edits, *told, *after))


def beaten_by_its_own_past(_: int) -> Story:
    """A row was stamped anew since the hub's clock is behind; a copy still has the higher stamp."""
    clocks = (Skew(-1, -6 * MINUTE_MS), Skew(0, -DAY_MS))
    stamped_anew = (Clone(0, noticed=False), Sync(3), Pass(DAY_MS), Edit(0, 2))
    return Story(2, (Edit(0, 2), *clocks, *stamped_anew))


SCENES: tuple[tuple[Scene, range], ...] = (
    (rewound_in_mid_sync, CALLS),
    (raced_reconcile, CALLS),
    (dying_reconcile, CALLS),
    (forgotten_in_the_check, CALLS),
    (old_ack, range(1)),
    (gap, range(1)),
    (stick_of_another_epoch, range(1)),
    (beaten_by_its_own_past, range(1)),
)


def staged() -> list[Story]:
    """All of them, at every call."""
    return [scene(call) for scene, calls in SCENES for call in calls]
