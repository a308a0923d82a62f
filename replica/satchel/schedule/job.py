"""What a timer runs, and how often: the same for every operating system."""

from __future__ import annotations

import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from unicodedata import category, normalize

from satchel.errors import Refused

RUN_S_MAX = 12 * 3600
"""A run that hangs for so long is ended by the system, so that the next one can start.

It is long, as a first sync over a slow line may take hours; ended, it is taken up by the next.
"""
PERIOD_S_MIN = 60
"""No timer of the three runs more often; `satchel sync --every` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The syncs of one home. `name` is that of the unit, agent or task; `command` its argv."""

    name: str
    home: Path
    command: tuple[str, ...]
    period_s: int

    @property
    def spread_s(self) -> int:
        """The most that a run is put off, so that a fleet does not come all at the full hour."""
        return min(self.period_s // 4, 900)


def name_of(home: Path, platform: str = sys.platform) -> str:
    """One name for each home, however it is written: a user may have several, each with a timer."""
    place = str(home.resolve())
    if platform == "win32":  # C:\Users is c:\users there
        place = place.casefold()
    elif platform == "darwin":  # the same file by either way to write an é
        place = normalize("NFC", place)
    return f"satchel-sync-{zlib.crc32(place.encode('utf-8', 'surrogatepass')):08x}"


def job_of(
    home: Path, period_s: int, *, python: str = sys.executable, platform: str = sys.platform
) -> Job:
    """The job that syncs the replica of `home` with this program.

    Raises Refused for a path that no timer's file can hold.
    """
    if not python:
        raise Refused("it is not known where this Python is", hint="start satchel by its full path")
    program = str(_windowless(Path(python).absolute(), platform))
    for path, field in ((program, "program"), (str(home), "home")):
        _refuse_unwritable(path, field)
    # -P: what lies in the folder where a timer starts must not stand in for satchel.
    command = (program, "-P", "-m", "satchel", "--home", str(home), "sync", "--quiet")
    return Job(name=name_of(home, platform), home=home, command=command, period_s=period_s)


def _windowless(python: Path, platform: str) -> Path:
    """The Python that opens no window: Windows would show one each time that a task runs."""
    beside = python.with_name("pythonw.exe")
    return beside if platform == "win32" and beside.exists() else python


def whole(text: str) -> int | None:
    """A number of seconds as a timer's file has it; None for what nobody here wrote."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _refuse_unwritable(path: str, field: str) -> None:
    for position, character in enumerate(path):
        if category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\ufffe\uffff":
            raise Refused(
                f"{field}: {path!r} has U+{ord(character):04X} at position {position}: "
                "no timer's file can hold it",
                hint="move it to a path without control characters and line breaks",
                field=field,
            )
