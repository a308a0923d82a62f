"""Fresh replicas copied from one that was migrated for real, as a migration takes most of an open.

What lies in the copy is what `migrate` makes, with an id of its own; what else an open does, it
does to the copy. Tests of the store and of other versions migrate each file themselves.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from satchel.store import database_file, identity, migrate

MIGRATED_THEMSELVES = ("store", "versions")
"""Folders of tests whose files are not copies."""


@dataclass
class Template:
    """The content of a file that was just migrated and never opened, and the id in it."""

    content: bytes
    replica_id: bytes
    lock: Any = field(default_factory=threading.RLock)  # a `copying` may lie within another

    def fresh(self) -> bytes:
        """The same, with a new id."""
        return self.content.replace(self.replica_id, os.urandom(identity.ID_BYTES))


def template_of(folder: Path) -> Template:
    """Make a file as `Store.open` does, up to where it would learn its place."""
    path = folder / "template.db"
    database_file.make(path)
    with closing(apsw.Connection(str(path))) as db:
        database_file.use_wal(db, path)
        db.execute("PRAGMA secure_delete = ON")
        migrate.migrate(db, path)
        replica_id = identity.load(db)
    content = path.read_bytes()
    assert content.count(replica_id) == 1
    return Template(content, replica_id)


@contextmanager
def copying(template: Template) -> Iterator[None]:
    """In this process a file that is not there begins as a copy."""
    really = database_file.make
    database_file.make = _from(template, really)  # type: ignore[assignment]
    try:
        yield
    finally:
        database_file.make = really


def _from(
    template: Template, really: Callable[[Path], tuple[int, int]]
) -> Callable[[Path], tuple[int, int]]:
    def make(path: Path) -> tuple[int, int]:
        with template.lock:
            if not os.path.lexists(path):
                really(path)
                draft = path.with_suffix(f".{os.getpid()}.template")
                draft.touch(0o600)
                draft.write_bytes(template.fresh())
                draft.replace(path)
        return really(path)

    return make
