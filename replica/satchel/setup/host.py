"""What setup knows of a host: where its settings are, and what they have to say for satchel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from satchel.setup.machine import Machine
from satchel.setup.program import Program

Edit = Callable[[str], str]
"""A file's text -> what it is to be. Raises Malformed, NotOurs."""


class SettingsFile(NamedTuple):
    """One file of a host, and the two ways in which its text is edited."""

    path: Path
    put: Edit
    take: Edit


class Host(NamedTuple):
    """`present` looks for its traces on the machine; `notes` tells what remains for the user."""

    name: str
    title: str
    present: Callable[[Machine], bool]
    files: Callable[[Machine, Program], list[SettingsFile]]
    notes: Callable[[Machine], Sequence[str]] = lambda machine: ()
