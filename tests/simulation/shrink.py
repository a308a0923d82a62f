"""A failing story made short (Zeller, "Yesterday, my program worked", 1999), printed as Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from simulation.steps import Step, Story, Sync

Fails = Callable[[Story], str]
"""Why a story fails; "" when it does not."""


def shrunk(story: Story, fails: Fails) -> Story:
    """The shortest story found that fails in the same way."""
    why = cause(fails(story))
    progress = True
    while progress:
        progress = False
        for shorter in candidates(story):
            if cause(fails(shorter)) == why:
                story, progress = shorter, True
                break
    return story


def cause(message: str) -> str:
    """A message without the names and numbers that change while a story shrinks."""
    return " ".join(word for word in message.split() if word.isalpha())


def candidates(story: Story) -> Iterator[Story]:
    """Shorter stories: runs of steps left out, then simpler steps, then fewer machines."""
    steps = story.steps
    size = max(1, len(steps) // 2)
    while size:
        for start in range(0, len(steps), size):
            yield replace(story, steps=steps[:start] + steps[start + size :])
        size //= 2
    for place, step in enumerate(steps):
        for simpler in simplified(step):
            yield replace(story, steps=(*steps[:place], simpler, *steps[place + 1 :]))
    if story.by_sticks:
        yield replace(story, by_sticks=False)
    if story.machines > 1:
        yield replace(story, machines=story.machines - 1)


def simplified(step: Step) -> Iterator[Step]:
    """Syncs with less going wrong."""
    if not isinstance(step, Sync):
        return
    if step.fault:
        yield replace(step, fault=None)
    for place in range(len(step.meanwhile)):
        yield replace(step, meanwhile=step.meanwhile[:place] + step.meanwhile[place + 1 :])


def printed(story: Story) -> str:
    """Python that plays the story again."""
    lines = "".join(f"        {step!r},\n" for step in story.steps)
    return (
        "from simulation.play import play\n"
        "from simulation.steps import *\n\n"
        f"play(Story(\n    machines={story.machines},\n    steps=(\n{lines}    ),\n"
        f"    by_sticks={story.by_sticks},\n))\n"
    )
