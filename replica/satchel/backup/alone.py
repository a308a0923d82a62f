"""One backup or restore of a home at a time, and no sync while a restore runs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from satchel.errors import StoreBusy, StoreUnusable
from satchel.store.backups import BACKUPS, STAGING
from satchel_crypto.errors import CryptoError
from satchel_crypto.private_file import locked

LOCK_FILE = "backup.lock"
DRAFT_PREFIX, DRAFT_SUFFIX = ".satchel-", ".part"
_DRAFT = re.compile(r"\.satchel-[a-z0-9_]{8}\.part")
"""What `tempfile.mkdtemp` makes of them."""


@contextmanager
def alone(home: Path) -> Iterator[None]:
    """Nobody else makes or restores a backup of this home; what killed ones left is removed.

    The kernel frees the lock however its holder ends. Raises StoreBusy, StoreUnusable.
    """
    try:
        with locked(home / LOCK_FILE):
            _remove_left(home / BACKUPS)
            yield
    except CryptoError as error:
        raise StoreBusy(str(error), hint="wait for the other backup or restore to end") from error


def _remove_left(folder: Path) -> None:
    try:
        for path in folder.iterdir() if folder.is_dir() else ():
            ours = path.name == STAGING or _DRAFT.fullmatch(path.name)
            if ours and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
    except OSError as error:
        raise StoreUnusable(
            f"what a killed backup left in {folder} cannot be removed: {error.strerror}",
            hint="let this user write to that folder",
        ) from error
