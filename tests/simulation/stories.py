"""Stories from seeds: which steps, how often, and what they are about."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from simulation.steps import (
    HUB,
    Backup,
    Clone,
    Damage,
    Delete,
    Derive,
    Edit,
    Export,
    Fault,
    Forget,
    HubBackup,
    HubRewind,
    Import,
    Pass,
    Restore,
    Revoke,
    Seen,
    Skew,
    Spoil,
    Step,
    Story,
    Sync,
    Work,
)

KEYS = 3
MACHINES_MAX = 5
CALLS = 110
"""A quiet sync makes about this many calls."""
MEANWHILE = (Edit, Edit, Edit, Delete, Work, Forget, Sync, Sync, Pass, Derive)
COPYING = (Backup, Clone, HubBackup, HubRewind)
"""What may happen in the middle of a sync: always; and in a story that is about it."""
STATUSES = ("pending", "in_progress", "completed", "failed", "cancelled")
MINUTE, DAY, YEAR = 60_000, 86_400_000, 31_536_000_000
SKEWS = (0, 0, 1, -1, 20_000, -20_000, 6 * MINUTE, -6 * MINUTE, DAY, -DAY, 2 * YEAR, -10 * YEAR)

WRITES = {Edit: 12, Delete: 4, Forget: 1, Derive: 4, Work: 4, Seen: 2, Spoil: 1}
THEMES: tuple[dict[type, int], ...] = (
    {**WRITES, Sync: 14, Pass: 4},
    {**WRITES, Sync: 14, Pass: 3, Skew: 4},
    {**WRITES, Sync: 14, Pass: 3, Backup: 3, Restore: 3},
    {**WRITES, Sync: 14, Pass: 3, Clone: 3},
    {**WRITES, Sync: 14, Pass: 3, HubBackup: 3, HubRewind: 3},
    {**WRITES, Sync: 14, Pass: 3, HubBackup: 2, HubRewind: 2, Backup: 2, Restore: 2, Clone: 2},
    {**WRITES, Sync: 14, Pass: 3, Clone: 3, Restore: 2, Backup: 2, Skew: 5},
    {**WRITES, Sync: 14, Pass: 3, Revoke: 3, Backup: 1, Restore: 1, Skew: 1},
    {**WRITES, Sync: 14, Pass: 3, Damage: 4},
    {**WRITES, Sync: 8, Pass: 3, Export: 10, Import: 12},
    {
        **WRITES,
        Sync: 5,
        Pass: 3,
        Export: 10,
        Import: 12,
        Backup: 2,
        Restore: 2,
        HubBackup: 2,
        HubRewind: 2,
        Clone: 1,
    },
)
"""What a story is about: step -> how often beside the others."""


def story_of(seed: int, themes: tuple[dict[type, int], ...] = THEMES) -> Story:
    """The story of a seed: always the same."""
    draw = Random(seed)
    weights = themes[draw.randrange(len(themes))]
    kinds, counts = list(weights), list(weights.values())
    length = draw.choice((6, 12, 20, 30, 40))
    inside = (*MEANWHILE, *(kind for kind in kinds if kind in COPYING))
    steps = tuple(_step(draw, kind, inside) for kind in draw.choices(kinds, counts, k=length))
    return Story(draw.randint(2, 4), steps, Export in weights and draw.random() < 0.5)


def _step(draw: Random, kind: type, inside: tuple[type, ...] = ()) -> Step:
    """`inside` are the kinds of steps that may happen in the middle of a sync."""
    at, key = draw.randrange(MACHINES_MAX), draw.randrange(KEYS)
    match kind.__name__:
        case "Edit" | "Spoil" | "Forget":
            return kind(at, key)  # type: ignore[no-any-return]
        case "Delete":
            return Delete(at, key, draw.choice(("memory", "memory", "relationship", "task")))
        case "Derive":
            kinds = ("history", "embedding", "relationship", "edge history")
            return Derive(at, key, draw.choice(kinds))
        case "Work":
            return Work(at, key % 2, draw.choice(STATUSES))
        case "Seen":
            return Seen(at, draw.random() < 0.3)
        case "Sync":
            return _sync(draw, at, inside)
        case "Restore":
            return Restore(at, draw.choice((0, 0, 1, 2)), draw.random() < 0.3)
        case "Clone":
            return Clone(at, draw.random() < 0.3)
        case "HubRewind":
            return HubRewind(draw.choice((0, 0, 1, 2)))
        case "Revoke":
            return Revoke(at, draw.random() < 0.6)
        case "Pass":
            return Pass(draw.choice((0, 1, 1000, MINUTE, DAY)))
        case "Skew":
            return Skew(draw.choice((HUB, at, at)), draw.choice(SKEWS))
        case "Damage":
            return Damage(draw.choice((HUB, at)), key, draw.randrange(MACHINES_MAX))
        case "Export":
            return Export(at, draw.random() < 0.5)
        case "Import":
            return Import(draw.choice((0, 0, 0, 1, 2, 3)))
    return kind(at) if kind is Backup else kind()  # type: ignore[no-any-return]


def _sync(draw: Random, at: int, inside: tuple[type, ...]) -> Sync:
    fault = None
    if draw.random() < 0.35:
        what = draw.choice(("crash", "request", "reply", "reply", "death"))
        fault = Fault(_call(draw), what)
    meanwhile: list[tuple[int, Step]] = []
    while inside and draw.random() < 0.25:
        step = _step(draw, draw.choice(inside))
        if hasattr(step, "at") and not isinstance(step, Sync) and draw.random() < 0.5:
            step = replace(step, at=at)
        meanwhile.append((_call(draw), step))
    return Sync(at, fault, tuple(meanwhile))


def _call(draw: Random) -> int:
    return draw.choice((-1, -2, draw.randint(1, CALLS), draw.randint(1, CALLS)))
