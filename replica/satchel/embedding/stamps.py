"""What the weights' SHA-256 was when they were last hashed: hashing takes longer than a search.

One JSON file remembers path -> size, mtime, inode and digest. A file that still has all three is
taken to be the one that was hashed; any difference hashes it again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from satchel import plain_file
from satchel_crypto import content_sha256
from satchel_crypto.file_system import HERE

Digest = Callable[[Path, Path | None], str]
"""A file and the folder of stamps, or none, to SHA-256 in hex."""
STAMP_FILE = "weights.json"
SETTLED_NS = 2_000_000_000
"""A file written to within this time may be written to again without its mtime changing: file
systems count in steps, some of two seconds. Of such a file only the place is remembered."""
UNSETTLED = -1
"""The size that no file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """What a file was like when it was hashed."""

    size: int
    mtime_ns: int
    inode: int
    sha256: str


def sha256_of(weights: Path, folder: Path | None) -> str:
    """SHA-256 of the file, as `folder`'s stamps remember it or else hashed now, and remembered.

    Raises OSError when the file can't be read. Stamps that can't be read or written only cost time.
    """
    held = _read(folder).get(str(weights)) if folder else None
    if held is not None and held == _stamp(weights, held.sha256):
        return held.sha256
    return hashed(weights, folder)


def hashed(weights: Path, folder: Path | None) -> str:
    """SHA-256 of the file, hashed now whatever the stamps say, and remembered.

    Raises OSError when the file can't be read.
    """
    before = _stamp(weights, "")
    digest = content_sha256(weights)
    made = _stamp(weights, digest)
    same = before == _stamp(weights, "")
    if folder and same:
        settled = time.time_ns() - made.mtime_ns > SETTLED_NS
        kept = made if settled else replace(made, size=UNSETTLED)
        _write(folder, {**_read(folder), str(weights): kept})
    return digest


def remembered(folder: Path) -> list[Path]:
    """Every file of weights that was ever hashed here, the last one first; some may be gone."""
    return [Path(name) for name in reversed(_read(folder))]


def stamps_folder(home: Path | None) -> Path:
    """Where stamps are kept: `models/` of a home that is there, else the user's cache."""
    if home is not None and home.is_dir():
        return home / "models"
    from platformdirs import user_cache_path  # 10 ms, and most processes have a home

    return user_cache_path("satchel", appauthor=False) / "models"


def _stamp(weights: Path, sha256: str) -> Stamp:
    found = weights.stat()
    return Stamp(size=found.st_size, mtime_ns=found.st_mtime_ns, inode=found.st_ino, sha256=sha256)


def _read(folder: Path) -> dict[str, Stamp]:
    path = folder / STAMP_FILE
    try:
        held: dict[str, dict[str, Any]] = json.loads(plain_file.read_bytes(path))
        return {name: Stamp(**stamp) for name, stamp in held.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        import logging  # few commands have anything to log

        logging.getLogger(__name__).warning(
            "%s is not used, and will be written anew: %s", path, error
        )
        return {}


def _write(folder: Path, stamps: dict[str, Stamp]) -> None:
    """In one step, so that a reader sees the old file or the new one."""
    path = folder / STAMP_FILE
    new = path.with_name(f".{STAMP_FILE}.{os.getpid()}")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = json.dumps({name: asdict(stamp) for name, stamp in stamps.items()}, indent=1)
        new.touch(mode=0o600)
        new.write_text(text, "utf-8")
        HERE.replace(new, path)
    except OSError as error:
        import logging  # few commands have anything to log

        logging.getLogger(__name__).warning(
            "%s can't be written, so the next start hashes again: %s", path, error
        )
