"""`satchel model`: the embedding model of this machine, and the vectors made with it."""

from __future__ import annotations

from typing import Any

from satchel.cli.command import command, group
from satchel.cli.door import Door
from satchel.cli.progress import progress
from satchel.tools.answer import jsonable


def make() -> Any:
    """The command group."""
    return group(
        "model",
        "The embedding model, and the vectors made with it",
        lambda: {"reembed": lambda: command("reembed", reembed)},
    )


def reembed(door: Door) -> None:
    """Make the vectors that memories and chat turns lack; can be stopped at any time."""
    from satchel.embedding.queue import drain
    from satchel.replica import open_replica

    with open_replica(door.settings) as replica, progress(door) as step:
        drained = drain(
            replica, progress=lambda done, left: step("embedding", "texts", done, done + left)
        )
    door.answer(jsonable(drained), changed=True)
