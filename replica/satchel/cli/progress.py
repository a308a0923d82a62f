"""A progress bar for long work, on stderr and for people only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from satchel.cli.door import Door

Step = Callable[[str, str, int, int], None]
"""Called with (phase, kind, done, of)."""


@contextmanager
def progress(door: Door) -> Iterator[Step]:
    """A bar that moves with every step while the body runs; nothing in a pipe or with --quiet."""
    if door.options.quiet or not door.errors.is_terminal:
        yield lambda phase, kind, done, of: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=door.errors, transient=True) as bars:
        bar = bars.add_task("", total=1)

        def step(phase: str, kind: str, done: int, of: int) -> None:
            bars.update(bar, description=f"{phase} {kind}", completed=done, total=max(of, 1))

        yield step
