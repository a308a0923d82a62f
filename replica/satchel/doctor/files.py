"""The files of the home: whose they are, who may read them, and what killed processes left there.

Looked at from outside only: who closes a file of SQLite's drops the locks of this process on it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from satchel.config import CONFIG_FILE
from satchel.doctor import left_over, rights
from satchel.doctor.check import Check
from satchel.protection import KEYS_FOLDER
from satchel.replica import DATABASE_FILE
from satchel.store.activity import ACTIVITY_FILE
from satchel.store.wiping import BACKUPS, VECTORS

if TYPE_CHECKING:
    from satchel.config import Settings

TAILS = ("", "-wal", "-shm")
FOLDERS = (KEYS_FOLDER, VECTORS, BACKUPS)


def files(settings: Settings) -> Check:
    """Each fault of the files with its own words; one check for all of them."""
    home = settings.home
    if not home.is_dir():
        return Check(name="files", ok="ok", found="none yet")
    try:
        held = _held(home)
        kinds = (
            rights.shut(home, [*held, *_folders(home)]),
            rights.wide(home, held, config=home / CONFIG_FILE),
            left_over.drafts(home),
            left_over.orphan(home),
        )
    except PermissionError as error:
        return Check(name="files", ok="fail", found=f"{error.filename}: {error.strerror}")
    faults = [one for one in kinds if one is not None]
    if not faults:
        return Check(name="files", ok="ok", found=f"{len(held)} files, {rights.CLOSED}")
    return Check(
        name="files",
        ok="fail" if any(one.grave for one in faults) else "warn",
        found="; ".join(one.found for one in faults),
        fix="; ".join(one.fix for one in faults),
        mends=tuple(one.mend for one in faults if one.mend is not None),
    )


def _folders(home: Path) -> list[Path]:
    return [home / name for name in FOLDERS if (home / name).is_dir()]


def _held(home: Path) -> list[Path]:
    """What lies in the home and is private, or decides what satchel does.

    No symbolic links: where one leads to is not ours to change.
    """
    names = [f"{name}{tail}" for name in (DATABASE_FILE, ACTIVITY_FILE) for tail in TAILS]
    found = [home / name for name in (*names, CONFIG_FILE)]
    for folder in _folders(home):
        found += sorted(folder.iterdir())
    return [path for path in found if path.is_file() and not path.is_symlink()]
