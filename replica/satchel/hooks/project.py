"""Which project a host works on: the names that a space of it may bear."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_MARKS: Final = (".git", ".hg", ".jj", ".svn")
_NO_PROJECT: Final = frozenset(("", "tmp", "temp", "desktop", "documents", "downloads", "home"))


def names(cwd: str | None) -> list[str]:
    """The name of the repository that holds `cwd`, else of the folder itself; as it is and folded.

    A home folder, the root and the places for anything are no project.
    """
    if not cwd:
        return []
    folder = Path(cwd)
    root = next((one for one in (folder, *folder.parents) if _is_root(one)), folder)
    if root.name.casefold() in _NO_PROJECT or root == _home():
        return []
    return list(dict.fromkeys((root.name, root.name.casefold())))


def _is_root(folder: Path) -> bool:
    try:
        return any((folder / mark).exists() for mark in _MARKS)
    except (OSError, ValueError):  # a folder that may not be looked into, or no folder's name
        return False


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # an account without one
        return None
