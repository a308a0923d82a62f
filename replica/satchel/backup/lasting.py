"""What a restore does not undo: rows that were forgotten stay so, and the audit keeps its records.

A backup holds the text of what was forgotten after it was made. So all that is known as forgotten
in this home (the file that is replaced, its other backups, certificates that somebody kept) is
forgotten in the backup's copy before that becomes the replica.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel import certificates
from satchel.audit import chain
from satchel.backup.sources import looked_into
from satchel.errors import BackupUnusable
from satchel.replica import DATABASE_FILE
from satchel.store import backups, outbox, scrubbing, wiping
from satchel.store.codec import upsert
from satchel_crypto.audit_record import Record
from satchel_sync.subjects import scrubbed
from satchel_sync.tables import BY_NAME, TABLES

if TYPE_CHECKING:
    from satchel.config import Settings


@dataclass(slots=True)
class Forgotten:
    """Rows (kind, key) that were forgotten, which of them are local, and what was unreadable."""

    rows: set[tuple[str, str]] = field(default_factory=set)
    local: set[tuple[str, str]] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    def add(self, other: Forgotten, *, unread: bool = False) -> None:
        """All of another; what that could not read only where it matters."""
        self.rows |= other.rows
        self.local |= other.local
        self.unread += other.unread if unread else []


def forgotten_in(db: apsw.Connection) -> Forgotten:
    """All that a replica's file of any schema knows as forgotten, as far as it can be read."""
    found = Forgotten()
    for table in TABLES:
        query = f"SELECT {table.key} FROM {table.name} WHERE {scrubbing.FORGOTTEN}"
        try:
            found.rows |= {(table.name, str(key)) for (key,) in db.execute(query)}
            held_back = "SELECT key FROM withheld WHERE kind = ?"
            local = {(table.name, str(key)) for (key,) in db.execute(held_back, (table.name,))}
            found.local |= local & found.rows
        except (apsw.Error, UnicodeDecodeError) as error:
            if not _is_unknown(error):
                found.unread.append(f"{table.name}: {error}")
    return found


def forgotten_in_backups(home: Path) -> Forgotten:
    """The same of all backups in the home, also of damaged ones."""
    found = Forgotten()
    for path in _databases(home / backups.BACKUPS):
        try:
            with looked_into(path, reading_all=False) as db:
                found.add(forgotten_in(db))
        except BackupUnusable:
            found.add(_from_damaged(path))
    return found


def forgotten_by(settings: Settings, files: Sequence[Path]) -> Forgotten:
    """What certificates of erasure name. Raises SignatureInvalid, InvalidInput."""
    found = Forgotten()
    for file in files:
        document = certificates.verify(settings, file)["certificate"]
        found.rows |= {
            (row["kind"], row["key"]) for row in document["rows"] if row["kind"] in BY_NAME
        }
    return found


def forget_again(db: apsw.Connection, found: Forgotten, now_ms: int) -> list[str]:
    """Forget these rows, also those that are not here yet; the keys of those that held a text.

    In a write transaction. A row that comes later, by a bundle or an import, meets the stub.
    """
    done = forgotten_in(db).rows
    due = sorted(found.rows - done)
    db.executemany(
        "INSERT INTO withheld(kind, key) VALUES(?, ?) ON CONFLICT DO NOTHING",
        sorted(found.local & set(due)),
    )
    held = [one for one in due if _is_held(db, *one)]
    missing = sorted(set(due) - set(held))
    db.execute("UPDATE control SET applying = 1")
    for kind, keys in _by_kind(missing).items():
        upsert(db, BY_NAME[kind], (scrubbed(BY_NAME[kind], key) for key in keys))
    db.execute("UPDATE control SET applying = 0")
    for kind, keys in _by_kind(missing).items():
        outbox.put(db, BY_NAME[kind], keys)
    before = wiping.owed(db)
    scrubbing.scrub(db, due, now_ms)
    return sorted(set(wiping.owed(db)) - set(before))


def keep_audit(db: apsw.Connection, there: apsw.Connection) -> None:
    """Put the records of `there` in place of those that `db` has of a chain, if they follow.

    The file that is replaced knows more of its chain than the backup does: what was written since
    is gone, that it was written is not. A chain that went another way stays as the backup has it.
    """
    if not _has_audit(there):
        return
    for replica_id in chain.ids(there):
        last, head = chain.last(db, replica_id), chain.kept(there, replica_id)
        if head is None or (last is not None and not _follows(there, replica_id, last)):
            continue
        after = last.seq if last and _first(db, replica_id) == _first(there, replica_id) else 0
        if not after:
            db.execute("DELETE FROM audit WHERE replica_id = ?", (replica_id,))
        for one in chain.records(there, replica_id, after=after):
            chain.add(db, replica_id, one.seq, one.at, one.body, one.link, one.mac or b"")
        chain.keep(db, head)


def _first(db: apsw.Connection, replica_id: bytes) -> Record | None:
    return next(chain.records(db, replica_id, limit=1), None)


def _follows(there: apsw.Connection, replica_id: bytes, last: Record) -> bool:
    """Whether a chain goes on behind that record, or began behind it as that was too old."""
    first = next(chain.records(there, replica_id, after=last.seq - 1, limit=1), None)
    if first is None:
        return False
    return first.link == last.link if first.seq == last.seq else True


def _has_audit(db: apsw.Connection) -> bool:
    query = "SELECT count(*) FROM sqlite_schema WHERE name IN ('audit', 'audit_head')"
    return bool(db.execute(query).get == 2)


def _databases(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if backups.schema_of_migration(path) is not None:
            yield path
        elif (path / backups.MANIFEST).is_file() and (path / DATABASE_FILE).is_file():
            yield path / DATABASE_FILE


def _from_damaged(path: Path) -> Forgotten:
    """What can be read still of a file that is not whole."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return forgotten_in(db)
        finally:
            db.close()
    except apsw.Error:
        return Forgotten()


def _is_unknown(error: Exception) -> bool:
    """Whether a file of another schema has not got that table."""
    return isinstance(error, apsw.SQLError) and "no such" in str(error)


def _is_held(db: apsw.Connection, kind: str, key: str) -> bool:
    table = BY_NAME[kind]
    query = f"SELECT 1 FROM {table.name} WHERE {table.key} = ?"
    return db.execute(query, (key,)).get is not None


def _by_kind(rows: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for kind, key in rows:
        found.setdefault(kind, []).append(key)
    return found
