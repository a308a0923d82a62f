"""When a machine counts as stuck: attempts in a row that did not get on."""

from __future__ import annotations

from typing import Any

import pytest

from satchel.syncing.status import Stuck, stuck
from satchel_sync.tally import Tally


def reports(*exits: int) -> list[dict[str, Any]]:
    """Reports with these exit codes, newest first, a minute apart."""
    return [
        {**Tally().report(), "exit": code, "at_ms": 1_000_000 - 60_000 * number}
        for number, code in enumerate(exits)
    ]


@pytest.mark.parametrize(
    ("exits", "attempts"),
    [
        ((), 0),
        ((10, 10), 0),
        ((10, 10, 10), 3),
        ((10, 1, 12, 13, 0, 10), 4),
        ((0, 10, 10, 10), 0),
        ((11, 10, 10, 10), 0),
        ((10, 11, 10, 10, 10), 0),
    ],
    ids=str,
)
def test_three_attempts_in_a_row_are_stuck(exits: tuple[int, ...], attempts: int) -> None:
    found = stuck(reports(*exits))
    assert (found.attempts if found else 0) == attempts


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"error": {"code": "x", "message": "no answer"}}, "no answer"),
        ({"reconcile_due": "set back"}, "set back"),
        ({"failed": {"task": "unknown there"}}, "task: unknown there"),
        ({"digest": "different"}, "the two sides are different"),
        (
            {"digest": "equal", "damaged": {"task": ["t"]}},
            "content does not fit its version: task",
        ),
        ({"access": "read_only"}, "this satchel is too old to send anything to the warehouse"),
    ],
)
def test_the_reason_is_that_of_the_latest_attempt(said: dict[str, Any], why: str) -> None:
    found = reports(1, 10, 10)
    found[0].update(said)
    assert stuck(found) == Stuck(3, 1_000_000 - 120_000, why)


def test_what_somebody_stopped_counts_for_nothing() -> None:
    found = reports(10, 10, 10, 0)
    found[1]["error"] = {"code": "sync_stopped", "message": "SIGTERM"}
    assert stuck(found) is None
