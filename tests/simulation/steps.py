"""The steps of a story: what users, networks, clocks, disks and administrators do. Plain values.

`at` is a machine (from 0, taken modulo how many there are), `key` one of a few rows; `which` picks
a backup or a stick, the newest for 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HUB = -1
"""As `at` of a `Skew` or `Damage`."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A new text of a memory; over a deleted one a restore."""

    at: int
    key: int


@dataclass(frozen=True, slots=True)
class Spoil:
    """An edit that no hub takes: it goes to the quarantine until the row is changed."""

    at: int
    key: int


@dataclass(frozen=True, slots=True)
class Delete:
    """A tombstone."""

    at: int
    key: int
    kind: Literal["memory", "relationship", "task"] = "memory"


@dataclass(frozen=True, slots=True)
class Forget:
    """A memory is forgotten, with all that is about it."""

    at: int
    key: int


@dataclass(frozen=True, slots=True)
class Derive:
    """A row about a memory that quotes it: history, a vector, an edge, the history of an edge."""

    at: int
    key: int
    kind: Literal["history", "embedding", "relationship", "edge history"]


@dataclass(frozen=True, slots=True)
class Work:
    """A task goes to a status."""

    at: int
    key: int
    status: str


@dataclass(frozen=True, slots=True)
class Seen:
    """An agent is seen, which is never worth a conflict; or, if it `says` so, described anew."""

    at: int
    says: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """What befalls a sync at one of its calls of either side, counted from 1 (-1: the first push).

    `crash`: the process dies before it; `request`: it never arrives; `reply`: it is done, but the
    answer never comes; `death`: it is done, and the process dies.
    """

    call: int
    what: Literal["crash", "request", "reply", "death"]


@dataclass(frozen=True, slots=True)
class Sync:
    """A sync; `meanwhile` are (call, step): what others do before that call (-1: in a push)."""

    at: int
    fault: Fault | None = None
    meanwhile: tuple[tuple[int, Step], ...] = ()


@dataclass(frozen=True, slots=True)
class Backup:
    """A copy of a machine's file."""

    at: int


@dataclass(frozen=True, slots=True)
class Restore:
    """A machine's file is replaced by a backup; `noticed` by its fingerprint."""

    at: int
    which: int
    noticed: bool


@dataclass(frozen=True, slots=True)
class Clone:
    """A copy of a machine's file goes on living on another one."""

    at: int
    noticed: bool


@dataclass(frozen=True, slots=True)
class HubBackup:
    """A backup of the hub."""


@dataclass(frozen=True, slots=True)
class HubRewind:
    """The hub is set back to a backup, or forth to one of a past that was left."""

    which: int


@dataclass(frozen=True, slots=True)
class Revoke:
    """An administrator revokes a machine's replica, or takes it back."""

    at: int
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Pass:
    """Time passes for all."""

    ms: int


@dataclass(frozen=True, slots=True)
class Skew:
    """A clock is set to be wrong by so much."""

    at: int
    ms: int


@dataclass(frozen=True, slots=True)
class Damage:
    """Content is written past the triggers, at the hub or on a machine; `by` verifies then."""

    at: int
    key: int
    by: int


@dataclass(frozen=True, slots=True)
class Export:
    """A stick is written: by a machine for the hub, or by the hub for a machine."""

    at: int
    to_hub: bool


@dataclass(frozen=True, slots=True)
class Import:
    """A stick is read where it belongs; it may be old, and read twice, or never."""

    which: int


Step = (
    Edit
    | Spoil
    | Delete
    | Forget
    | Derive
    | Work
    | Seen
    | Sync
    | Backup
    | Restore
    | Clone
    | HubBackup
    | HubRewind
    | Revoke
    | Pass
    | Skew
    | Damage
    | Export
    | Import
)


@dataclass(frozen=True, slots=True)
class Story:
    """Machines and what happens to them; played again, it ends the same.

    `by_sticks`: in the end they come together by bundles alone.
    """

    machines: int
    steps: tuple[Step, ...]
    by_sticks: bool = False

    def has(self, *kinds: type) -> bool:
        """Whether a step of one of these kinds occurs, in mid-sync too."""
        return any(
            isinstance(step, kinds)
            or (isinstance(step, Sync) and any(isinstance(s, kinds) for _, s in step.meanwhile))
            for step in self.steps
        )
