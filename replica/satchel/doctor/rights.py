"""Whose the files of the home are, and who may read them."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from satchel.doctor.check import Mend
from satchel.doctor.fault import NAMED_MAX, Fault, named, words
from satchel.home_path import closing_command, outside_profile
from satchel.replica import login_name

HAS_MODES = os.name == "posix"
CLOSED = "closed to others" if HAS_MODES else "in this user's profile"
OTHERS = 0o077
OTHERS_WRITE = 0o022


def shut(home: Path, held: Sequence[Path]) -> Fault | None:
    """What this user cannot write, as after a command that was run by `sudo`."""
    found = [path for path in held if not os.access(path, _wanted(path))]
    if not found:
        return None
    said = f"this user may not read and write {named(found)}"
    if not all(_is_mine(path) for path in found):
        fix = f'sudo chown -R "$(id -un)" {words(home)}' if HAS_MODES else "let this user own it"
        return Fault(said, fix, grave=True)
    mend = Mend(does=f"let this user write {named(found)}", run=lambda: _let_own(found))
    return Fault(said, f"chmod -R u+rwX {words(home)}", mend, grave=True)


def wide(home: Path, held: Sequence[Path], config: Path) -> Fault | None:
    """What others may read; of the config only what they may write matters."""
    if not HAS_MODES:
        return _outside(home)
    found = [path for path in held if _mode(path) & (OTHERS_WRITE if path == config else OTHERS)]
    if not found:
        return None
    shown = ", ".join(f"{path} (mode {_mode(path):o})" for path in found[:NAMED_MAX])
    more = f" and {len(found) - NAMED_MAX} more" if len(found) > NAMED_MAX else ""
    mend = Mend(does=f"close {named(found)} to others", run=lambda: _close(found))
    fix = f"chmod go-rwx {words(*found)}"
    return Fault(f"open to others of this machine: {shown}{more}", fix, mend)


def _outside(home: Path) -> Fault | None:
    """Windows: a mode says nothing, but where the home lies does."""
    said = outside_profile(home, Path.home(), sys.platform)
    return Fault(said, closing_command(home, login_name() or "%USERNAME%")) if said else None


def _wanted(path: Path) -> int:
    return os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _is_mine(path: Path) -> bool:
    return not HAS_MODES or path.stat().st_uid == os.geteuid()


def _close(paths: Sequence[Path]) -> str:
    return f"closed {named(_changed(paths, lambda mode, _: mode & ~OTHERS))} to others"


def _let_own(paths: Sequence[Path]) -> str:
    def owned(mode: int, path: Path) -> int:
        return mode | (0o700 if path.is_dir() else 0o600)

    return f"let this user write {named(_changed(paths, owned))}"


def _changed(paths: Sequence[Path], mode_of: Callable[[int, Path], int]) -> list[Path]:
    """Those that are still there and no link by now, each with the mode it is to have."""
    there = [path for path in paths if path.exists() and not path.is_symlink()]
    for path in there:
        path.chmod(mode_of(_mode(path), path))
    return there
