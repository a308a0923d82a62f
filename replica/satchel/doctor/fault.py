"""One fault among many of the home's files, and how paths are named in words and commands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from satchel.doctor.check import Mend

NAMED_MAX = 5


class Fault(NamedTuple):
    """What is wrong with some files: said of them, how to mend it by hand and by `--fix`."""

    found: str
    fix: str
    mend: Mend | None = None
    grave: bool = False


def named(paths: Sequence[Path]) -> str:
    """The first of them, and how many more."""
    more = f" and {len(paths) - NAMED_MAX} more" if len(paths) > NAMED_MAX else ""
    return ", ".join(str(path) for path in paths[:NAMED_MAX]) + more


def words(*paths: Path | str) -> str:
    """Paths as a POSIX shell takes them."""
    return shlex.join(map(str, paths))
