"""The states of a task and which verb leads from where to where. Pure."""

from __future__ import annotations

from satchel.errors import Conflict

OPEN = ("pending", "in_progress", "blocked")
FINISHED = ("completed", "failed", "cancelled")
STATES = (*OPEN, *FINISHED)

MOVES: dict[str, tuple[tuple[str, ...], str]] = {
    "claim": (OPEN, "in_progress"),
    "release": (OPEN, "pending"),
    "start": (OPEN, "in_progress"),
    "block": (("in_progress", "blocked"), "blocked"),
    "complete": (OPEN, "completed"),
    "fail": (OPEN, "failed"),
    "cancel": (OPEN, "cancelled"),
    "reopen": (FINISHED, "pending"),
}
"""Verb -> the states it may come from, the state it leads to."""

HINTS = {
    "reopen": "only an ended task can be reopened",
    "block": "start it first",
}


def state_of(status: str | None) -> str:
    """The state that a stored status means: one that is unknown (another writer's) is pending."""
    return status if status in STATES else "pending"


def move(verb: str, key: str, status: str | None) -> str:
    """The state after the verb. Raises Conflict where the verb does not lead from this state."""
    now = state_of(status)
    sources, target = MOVES[verb]
    if now not in sources:
        raise Conflict(
            f"task {key} is {now}: it cannot {verb}",
            hint=HINTS.get(verb, "`task reopen` makes it pending again"),
            field="id",
        )
    return target
