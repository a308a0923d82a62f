"""The backups of a home: made by hand, before a migration, or put aside by a restore."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.backup.making import told
from satchel.errors import SatchelError
from satchel.memory.moments import iso
from satchel.store.backups import BACKUPS, MANIFEST, schema_of_migration

if TYPE_CHECKING:
    from satchel.config import Settings

MIGRATION = "before a migration"


def list_(settings: Settings, folder: Path | None = None) -> dict[str, Any]:
    """`items`, the newest first; `problem` says why one cannot be restored. Reads no database."""
    settings.require_built()
    found = list(_items(folder or settings.home / BACKUPS))
    return {"items": sorted(found, key=lambda one: str(one["made_at"]), reverse=True)}


def _items(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        schema = schema_of_migration(path)
        if schema is not None:
            yield _of_migration(path, schema)
        elif (path / MANIFEST).exists():
            try:
                yield told(path)
            except SatchelError as error:
                yield {**_of_migration(path, None), "reason": None, "problem": str(error)}


def _of_migration(path: Path, schema: int | None) -> dict[str, Any]:
    found = path.stat()
    return {
        "backup": str(path),
        "made_at": iso(found.st_mtime_ns // 1_000_000),
        "reason": MIGRATION,
        "satchel": None,
        "schema": schema,
        "replica_id": None,
        "memories": None,
        "bytes": found.st_size,
        "files": [path.name],
        "keys": False,
        "problem": None,
    }
