"""What a backup says of itself: `manifest.json`, written last, so that without it there is none.

    {"format": "satchel-backup-1", "satchel": version, "made_at": ISO-8601, "reason": text,
     "schema": int, "replica_id": hex, "files": [{"name", "bytes", "sha256"}], "rows": {kind: int},
     "damaged": text}

`rows` counts living rows; `damaged` says what was wrong with a file that a restore put aside. The
sums are against damage: who can write the folder can write them too.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from satchel.errors import BackupUnusable, StoreNewer
from satchel.plain_file import opener
from satchel.store.backups import FORMAT as FORMAT
from satchel.store.backups import FORMAT_NAME as FORMAT_NAME
from satchel.store.backups import MANIFEST
from satchel.whole_file import whole_file
from satchel_crypto.content import content_sha256

BYTES_MAX = 1 << 20
TEXT_CHARS_MAX = 500
KEYS_PREFIX = "keys/"
_FILE = re.compile(r"satchel\.db(-wal)?|activity\.db|config\.toml|keys/[a-z0-9][a-z0-9._-]{0,100}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of a backup: its name below the folder, its size and SHA-256 (hex)."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """See the file's own words above."""

    satchel: str
    made_at: str
    reason: str
    schema: int
    replica_id: str
    files: tuple[Entry, ...]
    rows: Mapping[str, int] = field(default_factory=dict)
    damaged: str = ""

    def has(self, name: str) -> bool:
        """Whether a file of that name is in it."""
        return any(one.name == name for one in self.files)

    @property
    def keys(self) -> list[str]:
        """The names of the machine's key files in it."""
        return [one.name for one in self.files if one.name.startswith(KEYS_PREFIX)]

    def write(self, folder: Path) -> None:
        """Write it into the folder. Raises OSError."""
        told = {"format": f"{FORMAT_NAME}{FORMAT}", **asdict(self)}
        with whole_file(folder / MANIFEST, overwrite=False) as file:
            file.write(json.dumps(told, indent=1, sort_keys=True).encode() + b"\n")


def entry(folder: Path, name: str) -> Entry:
    """The entry of a file that lies in the folder. Raises OSError, also for what is no file."""
    path = folder / name
    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(errno.ENOENT, "it is no file", str(path))
    return Entry(name=name, bytes=path.stat().st_size, sha256=content_sha256(path))


def is_name(name: str) -> bool:
    """Whether a file of a backup may be called so: it leads nowhere else."""
    return bool(_FILE.fullmatch(name))


def printable(text: str) -> str:
    """A text of somebody else's as one line that a terminal only shows."""
    line = " ".join(text.split())
    return "".join(one if one.isprintable() else "?" for one in line)[:TEXT_CHARS_MAX]


def read(folder: Path) -> Manifest:
    """The manifest of a backup. Raises BackupUnusable, StoreNewer for a format to come."""
    path = folder / MANIFEST
    try:
        with open(path, "rb", opener=opener) as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise BackupUnusable(
            f"{folder} is no backup: {MANIFEST} cannot be read: {error.strerror or error}",
            hint="`satchel backup --list` shows the backups of this home",
            field="backup",
        ) from error
    return _parsed(folder, _document(folder, data))


def require_whole(folder: Path, manifest: Manifest) -> None:
    """Read every file of a backup and compare it with the manifest. Raises BackupUnusable."""
    for one in manifest.files:
        path = folder / one.name
        if any(part.is_symlink() for part in (path, path.parent) if part != folder):
            raise _broken(folder, f"{one.name} is or lies behind a symbolic link")
        try:
            found = entry(folder, one.name)
        except OSError as error:
            raise _broken(folder, f"{one.name} cannot be read: {error.strerror}") from error
        if found.bytes != one.bytes:
            raise _broken(folder, f"{one.name} has {found.bytes} bytes and had {one.bytes}")
        if found.sha256 != one.sha256:
            raise _broken(folder, f"{one.name} was changed: its SHA-256 is another")


def _document(folder: Path, data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if len(data) > BYTES_MAX or not isinstance(document, dict):
        raise _broken(folder, f"{MANIFEST} is not what satchel writes")
    return document


def _parsed(folder: Path, document: dict[str, Any]) -> Manifest:
    name, _, number = str(document.pop("format", "")).rpartition("-")
    if f"{name}-" != FORMAT_NAME or not number.isdecimal():
        raise _broken(folder, f"{MANIFEST} is of another format")
    if int(number[:9]) > FORMAT:
        raise StoreNewer(
            f"the backup {folder} was made by a newer satchel: its format is {number},"
            f" this program knows {FORMAT}",
            hint="upgrade satchel on this machine",
            field="backup",
        )
    try:
        files = tuple(Entry(**one) for one in document.pop("files"))
        found = Manifest(files=files, **document)
    except (KeyError, TypeError):
        raise _broken(folder, f"{MANIFEST} lacks what every one has") from None
    if not _well_formed(found):
        raise _broken(folder, f"{MANIFEST} says what no satchel writes")
    return found


def _well_formed(found: Manifest) -> bool:
    texts = (found.satchel, found.made_at, found.reason, found.damaged)
    names = [one.name for one in found.files]
    return (
        all(type(text) is str and text == printable(text) for text in texts)
        and _is_time(found.made_at)
        and type(found.schema) is int
        and type(found.replica_id) is str
        and bool(_ID.fullmatch(found.replica_id) or (found.damaged and not found.replica_id))
        and isinstance(found.rows, dict)
        and all(type(count) is int for count in found.rows.values())
        and len(set(names)) == len(names)
        and all(_is_entry(one) for one in found.files)
    )


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _is_entry(one: Entry) -> bool:
    """Whether the name leads nowhere else, and the numbers are some."""
    return (
        type(one.name) is str
        and is_name(one.name)
        and type(one.bytes) is int
        and type(one.sha256) is str
        and bool(_SHA256.fullmatch(one.sha256))
    )


def _broken(folder: Path, why: str) -> BackupUnusable:
    return BackupUnusable(
        f"the backup {folder} cannot be used: {why}",
        hint="take another: `satchel backup --list` shows those of this home",
        field="backup",
    )
