"""A copy of the backup made ready in a folder of its own, before anything of the home changes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.audit import restoring
from satchel.backup import lasting, making, manifest
from satchel.backup.lasting import Forgotten
from satchel.backup.sources import Source
from satchel.replica import DATABASE_FILE, open_store
from satchel.store import identity, succession, triggers, wiping
from satchel.store.activity import ACTIVITY_FILE
from satchel.store.backups import BACKUPS, STAGING
from satchel.store.meta import set_meta
from satchel_crypto import random_bytes

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.connection import Store

RESTORED = "this file was restored from a backup: it took a new replica id"
"""Why it did, as the next report tells it."""


class Draft:
    """The replica that is to be, in `folder`: a new identity, of this program's schema."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.path = folder / DATABASE_FILE
        self.scrubbed: set[str] = set()
        self.is_wiped = True
        self.strange: list[str] = []
        self._settings = settings

    @property
    def activity(self) -> Path:
        """The backup's copy of the reads, there or not."""
        return self.folder / ACTIVITY_FILE

    def renew(self) -> None:
        """Take a new id, and a word by which programs that have the home's file open notice it.

        Triggers and views that are not ours would do what they say with every write: they go.
        """
        with self._by_hand() as db:
            self.strange = _stripped(db)
            succession.succeed(db, RESTORED)
            set_meta(db, identity.RESTORED, random_bytes(16).hex())
            set_meta(db, "fingerprint", None)

    def begin(
        self,
        found: Forgotten,
        there: apsw.Connection | None,
        activity: Path,
        detail: Mapping[str, str | int],
    ) -> None:
        """Keep the audit of the file that is `there`, begin that of the new id, forget again."""
        with self._store() as store, store.write() as db:
            if there is not None:
                lasting.keep_audit(db, there)
            restoring.tell(db, activity, self._settings, store.now_ms(), detail)
            self.scrubbed.update(lasting.forget_again(db, found, store.now_ms()))

    def learn(self, found: Forgotten, there: apsw.Connection | None) -> None:
        """The same for what became known since it began."""
        with self._store() as store, store.write() as db:
            if there is not None:
                lasting.keep_audit(db, there)
            self.scrubbed.update(lasting.forget_again(db, found, store.now_ms()))

    def finish(self) -> bytes:
        """Take the old text out of the pages, and the marks of this folder; the new id."""
        with self._store() as store:
            most = wiping.COMPACT_ASKED_BYTES_MAX
            self.is_wiped = wiping.wipe(store, compact_bytes_max=most) and self.is_wiped
            replica_id = store.replica_id
        with self._by_hand() as db:
            set_meta(db, "fingerprint", None)
        return replica_id

    def _store(self) -> Store:
        """Opened as a replica: migrated, audited with the keys of the home."""
        return open_store(self._settings, self.path)

    @contextmanager
    def _by_hand(self) -> Iterator[apsw.Connection]:
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            with db:
                yield db
        finally:
            db.close()


@contextmanager
def staged(settings: Settings, source: Source) -> Iterator[Draft]:
    """A draft of what is in the backup, removed at the end. Raises StoreUnusable (no space)."""
    folder = settings.home / BACKUPS / STAGING
    try:
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        try:
            _copied(source.database, folder / DATABASE_FILE)
            if source.manifest.has(ACTIVITY_FILE):
                _copied(source.path / ACTIVITY_FILE, folder / ACTIVITY_FILE)
            yield Draft(folder, settings)
        finally:
            shutil.rmtree(folder)
    except (OSError, apsw.FullError) as error:
        raise making.cannot(folder.parent, error) from error


def _copied(source: Path, target: Path) -> None:
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file, source.open("rb") as read:
        shutil.copyfileobj(read, file, 1 << 20)


def _stripped(db: apsw.Connection) -> list[str]:
    """Drop all triggers and views; the names of those that no satchel made.

    Ours are made anew with the next open (`migrate`).
    """
    query = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')"
    found = [(str(kind), str(name)) for kind, name in db.execute(query).fetchall()]
    for kind, name in found:
        quoted = name.replace('"', '""')
        db.execute(f'DROP {kind} "{quoted}"')
    db.execute("DELETE FROM meta WHERE name = 'triggers'")
    ours = {statement.split()[2] for statement in triggers.statements()}
    return sorted(manifest.printable(name) for _, name in found if name not in ours)
