"""What a scrub leaves to do outside of the transaction: pages, logs and derived files.

SQLite keeps old pages in its write-ahead log until it is cut; vectors lie in files beside; reads
leave queries behind. Backups are not touched, but named: whoever asked must know of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.errors import StoreBusy

if TYPE_CHECKING:
    from satchel.store.connection import Store

VECTORS = "vectors"
BACKUPS = "backups"
ACTIVITY_FILE = "activity.db"


def erase(store: Store, keys: Collection[str]) -> list[str]:
    """Cut the log, drop the vector files and the queries that found `keys`; returns the backups.

    Names of backup files are relative to the home. Raises StoreBusy where a reader keeps the log
    from being cut: the rows are scrubbed, and the log goes with the next erase or last close.
    """
    for path in _files(store.home / VECTORS):
        path.unlink(missing_ok=True)  # derived: the next search builds them anew
    _forget_queries(store.home / ACTIVITY_FILE, keys)
    store.cut_log()
    return sorted(f"{BACKUPS}/{path.name}" for path in _files(store.home / BACKUPS))


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


def _forget_queries(path: Path, keys: Collection[str]) -> None:
    """Empty the queries whose answer held one of these ids, and what else names them."""
    if not path.exists():
        return
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(5_000)
        db.execute("PRAGMA secure_delete = ON").fetchall()
        named = json.dumps(sorted(keys))
        with db:
            db.execute(
                "UPDATE read_audit SET query = NULL WHERE EXISTS (SELECT 1 FROM json_each(?) AS k"
                " WHERE instr(read_audit.ids, k.value) > 0)",
                (named,),
            )
            for table in ("access", "recalled"):
                db.execute(
                    f"DELETE FROM {table} WHERE memory_id IN (SELECT value FROM json_each(?))",
                    (named,),
                )
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except apsw.BusyError as error:
        raise StoreBusy(
            f"{path} is in use: the queries in it were not forgotten yet",
            hint="forget the same ids again",
        ) from error
    finally:
        db.close()
