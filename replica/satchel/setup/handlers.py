"""What a host's hooks run: recall at the moments that take a text in, capture at all others."""

from __future__ import annotations

from typing import Any, Final

from satchel.hooks.answer import CONTEXT_EVENTS
from satchel.hooks.call import EVENTS
from satchel.setup.program import Program

RECALL: Final = ("recall",)
# What a person says to a host is the person's: their other hosts may know it (ADR 0033).
CAPTURE: Final = ("chatlog", "capture", "--scope", "user")
RECALL_S, CAPTURE_S = 5, 30
"""After so many seconds the host ends a hook; ours end themselves before."""


def handlers(program: Program, host: str, per_second: int = 1) -> dict[str, dict[str, Any]]:
    """Each moment of the host -> its handler, whose time is told in 1/`per_second` seconds."""
    made = {}
    for moment, event in EVENTS[host].items():
        recalls = event in CONTEXT_EVENTS
        made[moment] = {
            "type": "command",
            "command": program.hook(host, *(RECALL if recalls else CAPTURE)),
            "timeout": (RECALL_S if recalls else CAPTURE_S) * per_second,
        }
    return made
