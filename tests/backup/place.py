"""A home that is backed up, restored, broken; and all that it holds, to be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
from home import Home

from satchel.backup import making, restoring
from satchel.memory import change, forget
from satchel.replica import DATABASE_FILE
from satchel.store import outbox
from satchel.store.sql import row_columns
from satchel_sync.tables import TABLES

TAILS = ("", "-wal", "-shm")


class Place(Home):
    """`Home`, with backups."""

    @property
    def path(self) -> Path:
        """The replica's file."""
        return self.folder / DATABASE_FILE

    @property
    def id(self) -> str:
        """The present replica id, as the file has it."""
        with apsw.Connection(str(self.path)) as db:
            return bytes(db.execute("SELECT replica_id FROM control").get).hex()

    def backup(self, **given: Any) -> Path:
        """A backup of the home, which may be open."""
        return Path(making.make(self.settings, **given)["backup"])

    def restore(self, backup: Path, **given: Any) -> dict[str, Any]:
        """What `satchel restore --yes` answers."""
        given.setdefault("confirm", lambda question: True)
        return restoring.restore(self.settings, backup, **given)

    def restored(self, backup: Path, **given: Any) -> dict[str, Any]:
        """The same with nobody at work here, and the home opened afterwards."""
        self.close()
        answer = self.restore(backup, **given)
        self.open()
        return answer

    def texts(self) -> dict[str, str]:
        """Memory -> text, of those that are alive."""
        query = "SELECT id, content FROM memory WHERE content IS NOT NULL"
        with self.replica.store.read() as db:
            return {str(key): str(text) for key, text in db.execute(query)}

    def holds(self) -> dict[tuple[str, str], Any]:
        """(kind, key) -> the row with its version, of every row."""
        found: dict[tuple[str, str], Any] = {}
        with self.replica.store.read() as db:
            for table in TABLES:
                for row in db.execute(f"SELECT {row_columns(table)} FROM {table.name}"):
                    found[table.name, str(row[0])] = row
        return found

    def waiting(self) -> int:
        """Rows that wait for a sync."""
        with self.replica.store.read() as db:
            return sum(outbox.count(db, table) for table in TABLES)

    def forget(self, *keys: str) -> dict[str, Any]:
        """Forget memories."""
        return forget.forget(self.replica, keys, confirm=True)

    def edit(self, key: str, text: str) -> None:
        """Another text for a memory."""
        change.update(self.replica, key, text=text)

    def backups(self) -> list[str]:
        """The names in `backups`."""
        folder = self.folder / "backups"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def damage(path: Path, *, at: int = 8, bytes_: bytes = b"\xff" * 64) -> None:
    """Write nonsense into a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes_)


def everything(folder: Path) -> dict[str, bytes]:
    """Path -> bytes of all files below a folder, locks apart."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and not path.name.endswith("-shm")
    }
