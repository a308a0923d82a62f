"""Numbered migrations of the replica's file: each in a transaction, with a backup before."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import resources
from pathlib import Path

import apsw

from satchel.errors import StoreNewer, StoreUnusable
from satchel.store import backups, copying, folding, identity, triggers
from satchel.store.seal import hash_texts

APPLICATION_ID = 0x53544348
"""`STCH` in the file's header: a satchel replica."""


@cache
def scripts() -> tuple[tuple[int, str], ...]:
    """(number, SQL) of every migration, in order."""
    folder = resources.files("satchel.store") / "schema"
    found = [
        (int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return tuple(sorted(found))


def latest() -> int:
    """The schema number that this program writes."""
    return scripts()[-1][0]


def check(db: apsw.Connection, path: Path) -> None:
    """Raise StoreNewer or StoreUnusable for a file that is not ours to write; writes nothing."""
    # One snapshot: another process may be making the file just now.
    db.execute("BEGIN")
    try:
        number, has_tables = _number(db), _has_tables(db)
        ours = db.execute("PRAGMA application_id").get == APPLICATION_ID
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
    if not ours and (number or has_tables):
        raise StoreUnusable(
            f"{path} is a SQLite database, but not a satchel replica",
            hint="choose another home with --home or SATCHEL_HOME",
        )
    if number > latest():
        raise StoreNewer(
            f"{path} was written by a newer satchel: its schema is {number},"
            f" this program knows {latest()}",
            hint=_advice(path),
        )


def migrate(db: apsw.Connection, path: Path) -> None:
    """Bring the file to `latest()`. Safe when several processes open a file for the first time."""
    while (number := _number(db)) < latest():
        if _has_tables(db):
            _in_transaction(db, partial(_backup, db, path, number))
        _in_transaction(db, partial(_advance, db))
    if db.execute("SELECT value FROM meta WHERE name = 'triggers'").get != triggers.mark():
        _in_transaction(db, partial(triggers.install, db))


def _advance(db: apsw.Connection) -> None:
    """Run the next migration, or in a new file all; another process may have been faster."""
    number = _number(db)
    waiting = [script for script in scripts() if script[0] > number]
    for reached, script in waiting[: 1 if number else None]:
        db.execute(script)
        identity.make(db)
        if reached == latest():
            triggers.install(db)
            folding.fold(db)
            hash_texts(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {reached}")


def _in_transaction(db: apsw.Connection, work: Callable[[], None]) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        work()
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def _backup(db: apsw.Connection, path: Path, number: int) -> None:
    """Copy the file as it is under schema `number` into the home's `backups`, once.

    The write transaction around this keeps others from changing what is copied.
    """
    if _number(db) != number:
        return
    target = backups.before_migration(path.parent, path.stem, number)
    try:
        target.parent.mkdir(mode=0o700, exist_ok=True)
        _copy(path, target)
    except (OSError, apsw.Error) as error:
        raise StoreUnusable(
            f"no backup of {path} could be made in {target.parent}, so it was not migrated:"
            f" {error}",
            hint="free some disk space, or let this user write to that folder",
        ) from error


def _copy(path: Path, target: Path) -> None:
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        copying.copy(source, target)
    finally:
        source.close()


def _advice(path: Path) -> str:
    """What to do with a newer file: the newer program, or the way back that its migration kept."""
    upgrade = "upgrade satchel on this machine"
    back = backups.way_back(path.parent, latest())
    if not back:
        return upgrade
    return f"{upgrade}; or go back, without what was written since and not synced: {back}"


def _number(db: apsw.Connection) -> int:
    return int(db.execute("PRAGMA user_version").get)


def _has_tables(db: apsw.Connection) -> bool:
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get)
