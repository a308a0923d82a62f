"""A progress bar for long work, on stderr and for people only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from satchel.cli.door import Door

if TYPE_CHECKING:
    from rich.progress import TaskID

Step = Callable[[str, str, int, int], None]
"""Called with (phase, kind, done, of)."""


@contextmanager
def progress(door: Door) -> Iterator[Step]:
    """A bar for each phase and kind while the body runs; nothing in a pipe or with --quiet.

    It shows how far the work is, how much of it is done a second, and how long it takes still.
    """
    if door.options.quiet or not door.errors.is_terminal:
        yield lambda phase, kind, done, of: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            rate = task.finished_speed or task.speed
            return Text(f"{rate:,.0f}/s" if rate else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=door.errors, transient=True) as bars:
        shown: dict[str, TaskID] = {}

        def step(phase: str, kind: str, done: int, of: int) -> None:
            name = f"{phase} {kind}"
            if name not in shown:
                shown[name] = bars.add_task(name)
            bars.update(shown[name], completed=done, total=max(of, 1))

        yield step
