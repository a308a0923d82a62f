"""The folder of the replica and its disk: may this user write there, is it local, has it space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.doctor.check import Check
from satchel.doctor.fault import words
from satchel.store import local_disk

if TYPE_CHECKING:
    from satchel.config import Settings

FREE_WARN_BYTES = 256 * 1024 * 1024
FREE_FAIL_BYTES = 16 * 1024 * 1024
"""A migration or a large transaction needs some times the pages that it changes."""


def home(settings: Settings) -> Iterator[Check]:
    """The folder, then its disk."""
    folder = settings.home
    there = _nearest(folder)
    yield _folder(folder, there)
    yield _disk(there)


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there: in that one it would be made."""
    return next(one for one in (folder, *folder.parents) if os.path.lexists(one))


def _folder(folder: Path, there: Path) -> Check:
    if not there.is_dir():
        return _bad(f"{there} is no folder", f"move it away: mv {words(there, f'{there}.old')}")
    network = local_disk.refusal(there)
    if network:
        return _bad(
            f"{there} lies on {network}",
            "move the home to a disk of this machine: stop every satchel, copy the folder, set"
            " SATCHEL_HOME",
        )
    if _read_only(there):
        return _bad(f"the disk of {there} is mounted read-only", "mount it for writing")
    if not os.access(there, os.R_OK | os.W_OK | os.X_OK):
        return _bad(
            f"this user may not write to {there}",
            f"as its owner: chmod u+rwx {words(there)};"
            f' else sudo chown -R "$(id -un)" {words(there)}',
        )
    if there != folder:
        return Check(name="home", ok="ok", found=f"no {folder} yet: the first write makes it")
    return Check(name="home", ok="ok", found=str(folder))


def _read_only(there: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    return bool(os.statvfs(there).f_flag & os.ST_RDONLY)


def _disk(there: Path) -> Check:
    free = shutil.disk_usage(there).free
    found = (
        f"{free / 1e6:,.0f} MB free at {there}" if free > 1e7 else f"{free} bytes free at {there}"
    )
    if free >= FREE_WARN_BYTES:
        return Check(name="disk", ok="ok", found=found)
    return Check(name="disk", ok="fail" if free < FREE_FAIL_BYTES else "warn", found=found)


def _bad(found: str, fix: str) -> Check:
    return Check(name="home", ok="fail", found=found, fix=fix)
