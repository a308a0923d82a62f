"""What lies in `backups/` of a home: names for who forgets, the way back for an older program."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

BACKUPS = "backups"
MANIFEST = "manifest.json"
FORMAT_NAME = "satchel-backup-"
FORMAT = 1
BEFORE = "before a restore"
"""The reason of a backup that a restore made of what it replaced."""
STAGING = ".restoring"
"""The folder in which a restore is made ready; what a killed one left goes with the next."""
_MIGRATION = re.compile(r"(?:.*)-schema-(\d{4})\.db")
_MANIFEST_BYTES_MAX = 1 << 20


class Way(NamedTuple):
    """A backup that a program can restore: its place, schema, age; whether a restore made it."""

    path: Path
    schema: int
    made_at_s: float
    is_before: bool = False


def names(home: Path) -> list[str]:
    """All that lies there and may hold old text, relative to the home."""
    folder = home / BACKUPS
    found = folder.iterdir() if folder.is_dir() else iter(())
    return sorted(f"{BACKUPS}/{path.name}" for path in found if path.is_file() or path.is_dir())


def before_migration(home: Path, stem: str, number: int) -> Path:
    """Where the file of schema `number` is kept before it is migrated."""
    return home / BACKUPS / f"{stem}-schema-{number:04}.db"


def schema_of_migration(path: Path) -> int | None:
    """The schema of a file that a migration kept; None for anything else."""
    found = _MIGRATION.fullmatch(path.name)
    return int(found[1]) if found and path.is_file() else None


def way_back(home: Path, schema: int) -> str:
    """The command that goes back to the latest backup that a program of `schema` reads; or ""."""
    if not (found := latest(home, schema)):
        return ""
    place, backup = shlex.quote(str(home)), shlex.quote(str(found.path))
    return f"satchel --home {place} restore {backup} --yes"


def latest(home: Path, schema: int) -> Way | None:
    """The latest backup that a program of `schema` reads, wherever a way back is named.

    What a restore put aside was left on purpose, so any other is taken before it.
    """
    ways = (one for one in _ways(home / BACKUPS) if one.schema <= schema)
    return max(ways, key=lambda one: (not one.is_before, one.made_at_s, one.schema), default=None)


def _ways(folder: Path) -> Iterator[Way]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        schema = schema_of_migration(path)
        if schema is not None:
            yield Way(path, schema, path.stat().st_mtime)
        elif found := _told(path / MANIFEST):
            try:
                made_at = datetime.fromisoformat(found["made_at"])
                yield Way(path, found["schema"], made_at.timestamp(), found["reason"] == BEFORE)
            except (KeyError, TypeError, ValueError, OverflowError):
                continue  # nothing that satchel writes


def _told(manifest: Path) -> dict[str, Any] | None:
    """What a manifest says; None where it is none, or that of something damaged."""
    try:
        with manifest.open("rb") as file:
            document = json.loads(file.read(_MANIFEST_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("damaged"):
        return None
    ours = document.get("format") == f"{FORMAT_NAME}{FORMAT}"
    return document if ours and type(document.get("schema")) is int else None
