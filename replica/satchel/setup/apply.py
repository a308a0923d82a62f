"""Writing what was planned: a backup first, then the file whole, unless it changed meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from satchel.errors import Conflict, StoreUnusable
from satchel.setup.plan import Change, content
from satchel.whole_file import whole_file

NEW_MODE = 0o600


def apply(change: Change) -> None:
    """Bring one file to what it is to be. Raises Conflict, StoreUnusable.

    What was there before is kept beside it; undoing a setup takes that copy away again.
    """
    if change.what == "same":
        return
    try:
        change.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if change.saves and change.before is not None:
            _write(change.backup, change.before, NEW_MODE)
        mode = _mode(change.path)
        _require_unchanged(change)
        if change.after is None:
            change.path.unlink()
        else:
            _write(change.path, change.after, mode, new=change.before is None)
        if change.undoes:
            change.backup.unlink(missing_ok=True)
    except FileExistsError as error:
        raise _changed(change.path) from error
    except OSError as error:
        raise StoreUnusable(
            f"{change.path}: {error.strerror or error}",
            hint="this user must be able to write it",
        ) from error


def _write(path: Path, raw: bytes, mode: int, *, new: bool = False) -> None:
    with whole_file(path, overwrite=not new) as file:
        if hasattr(os, "fchmod"):
            os.fchmod(file.fileno(), mode)
        file.write(raw)


def _mode(path: Path) -> int:
    """The mode that the file has and keeps."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return NEW_MODE


def _require_unchanged(change: Change) -> None:
    if content(change.path) != change.before:
        raise _changed(change.path)


def _changed(path: Path) -> Conflict:
    return Conflict(
        f"{path} was changed by somebody else meanwhile: it was left as it is now",
        hint="close the program that writes it, then run `satchel setup` again",
    )
