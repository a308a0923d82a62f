"""What a scrub leaves to do when it is committed: old words in the text index, pages, logs, files.

Vectors lie in files beside, reads leave counts behind. Backups are not touched, but named: whoever
asked must know of them.

It is owed by a note in the file until it is done, so a process that dies in between, or a reader
that keeps the log, only delays it to the end of the next sync. Deleted pages are overwritten at
once (`PRAGMA secure_delete`); an index of FTS5 drops the words of a deleted row when its parts are
merged, which is done here in steps that others can write between.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.errors import StoreBusy
from satchel.store.activity import ACTIVITY_FILE, SCHEMA
from satchel.store.backups import BACKUPS as BACKUPS
from satchel.store.backups import names
from satchel.store.meta import meta, set_meta

if TYPE_CHECKING:
    from collections.abc import Collection

    from satchel.store.connection import Store

OWED = "unwiped"
"""The entry of `meta`: a JSON list of the keys that were scrubbed since the last wipe."""
COMPACT_BYTES_MAX = 64 * 1024 * 1024
"""A larger file is not written anew after a sync: others would wait for longer than a second."""
COMPACT_ASKED_BYTES_MAX = 1024 * 1024 * 1024
"""The same where somebody asked to forget, and waits for it."""
STEP_PAGES = 2_000
"""Pages of an index that one step merges: about 50 ms."""
INDEXES = ("memory_fts", "chatlog_fts")
VECTORS = "vectors"


def owe(db: apsw.Connection, keys: Collection[str]) -> None:
    """Note that these rows were scrubbed; inside the transaction that does it."""
    if keys:
        set_meta(db, OWED, json.dumps(sorted({*owed(db), *keys})))


def owed(db: apsw.Connection) -> list[str]:
    """Keys of rows whose old text may still lie in the files of this home."""
    return list(json.loads(meta(db, OWED) or "[]"))


def wipe(store: Store, *, compact_bytes_max: int = COMPACT_BYTES_MAX) -> bool:
    """Take all traces of what was scrubbed out of the home, backups apart.

    False where the file is too large to be written anew, so that copies of old cells may be left in
    it until somebody runs VACUUM. Nothing is done where nothing is owed. Raises StoreBusy where
    another process reads or writes for so long that the log cannot be cut: it stays owed.
    """
    with store.read() as db:
        keys = owed(db)
    if not keys:
        return True
    for index in INDEXES:
        _merge(store, index)
    compacted = _compact(store, compact_bytes_max)
    drop_vectors(store.home / VECTORS)
    forget_access(store.home / ACTIVITY_FILE, keys)
    store.cut_log()
    with store.write() as db:
        left = sorted(set(owed(db)) - set(keys))
        set_meta(db, OWED, json.dumps(left) if left else None)
    return compacted


def _compact(store: Store, bytes_max: int) -> bool:
    """Write a file anew that is not too large; whether it was done.

    SQLite splits a full page by copying rows to another one, and what it leaves of them between the
    rows that stay is no deleted row, so `secure_delete` never overwrites it.
    """
    with store.read() as db:
        size = db.execute("PRAGMA page_count").get * db.execute("PRAGMA page_size").get
    if size > bytes_max:
        return False
    store.compact()
    return True


def _merge(store: Store, index: str) -> None:
    """Merge all parts of an index into one; https://sqlite.org/fts5.html#the_merge_command."""
    pages = -STEP_PAGES
    while True:
        with store.write() as db:
            before = db.total_changes()
            db.execute(f"INSERT INTO {index}({index}, rank) VALUES('merge', ?)", (pages,))
            if db.total_changes() - before < 2:  # what the page says of an index that is merged
                return
        pages = STEP_PAGES


def drop_vectors(folder: Path) -> None:
    """Delete the vector files: they are derived, and the next search builds them anew."""
    try:
        for path in _files(folder):
            path.unlink(missing_ok=True)
    except OSError as error:  # Windows deletes no file that another program has mapped
        raise StoreBusy(
            f"vector files in {folder} cannot be deleted: {error.strerror}",
            hint="it stays noted: the next sync, or the next memory that is forgotten, does it",
        ) from error


def backups(home: Path) -> list[str]:
    """Backups, which hold the old text still: names relative to the home."""
    return names(home)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def forget_access(path: Path, keys: Collection[str]) -> None:
    """How often these rows were given and to whom just now; the audit keeps their ids."""
    if not path.exists():
        return
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(5_000)
        db.execute("PRAGMA secure_delete = ON").fetchall()
        db.execute(SCHEMA)  # its first reader may have made the file and not come further yet
        named = json.dumps(sorted(keys))
        with db:
            for table in ("given", "recalled"):
                db.execute(
                    f"DELETE FROM {table} WHERE memory_id IN (SELECT value FROM json_each(?))",
                    (named,),
                )
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError as error:
        raise StoreBusy(
            f"{path} is in use: what it counts of them was not forgotten yet",
            hint="it stays noted: the next sync, or the next memory that is forgotten, does it",
        ) from error
    finally:
        db.close()
