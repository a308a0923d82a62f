"""A write-ahead log that is not the database's: left by the file that lay there before.

SQLite replays whatever valid log lies beside a file, also that of another one, which damages it
(https://sqlite.org/howtocorrupt.html, 1.4). Our backups say in their header that they have no log
(bytes 18 and 19 are 1, https://sqlite.org/fileformat2.html): a file says 2 on the disk before its
log is made, so a log beside a file that says 1 was left by another.
"""

from __future__ import annotations

import logging
from pathlib import Path

from satchel.errors import StoreUnusable
from satchel.store.backups import BACKUPS
from satchel_crypto import random_bytes
from satchel_crypto.errors import CryptoError
from satchel_crypto.private_file import locked

HEADER_BYTES = 20
LOCK_FILE = "stray.lock"
_VERSIONS = slice(18, 20)
_NO_LOG = b"\x01\x01"


def has_no_log(header: bytes) -> bool:
    """Whether a file that begins so never has a log beside it."""
    return header[_VERSIONS] == _NO_LOG


def keep_aside(path: Path) -> None:
    """Move what lies beside a file without a log, or an empty one, away before SQLite opens it.

    One process at a time, and looked at again inside: another may have opened the file meanwhile,
    and what lies there now is its own. Raises StoreUnusable.
    """
    log, index = (path.with_name(path.name + tail) for tail in ("-wal", "-shm"))
    if not (log.exists() or index.exists()):
        return
    try:
        with locked(path.with_name(LOCK_FILE)):
            there = log.exists() or index.exists()
            header = header_of(path)
            if there and (has_no_log(header) or not header):
                _moved(path, log)
                index.unlink(missing_ok=True)
    except (OSError, CryptoError) as error:
        raise StoreUnusable(
            f"{log} was left by another file than {path}, and cannot be moved away: {error}",
            hint="with satchel stopped, move it away by hand: it must not be replayed",
        ) from error


def header_of(path: Path) -> bytes:
    """The first bytes of a file, none of one that is not there. Raises OSError."""
    try:
        with path.open("rb") as file:
            return file.read(HEADER_BYTES)
    except FileNotFoundError:
        return b""


def _moved(path: Path, log: Path) -> None:
    if not log.exists():
        return
    if not log.stat().st_size:
        log.unlink()
        return
    folder = path.parent / BACKUPS
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / f"{log.name}-{random_bytes(4).hex()}.stray"
    log.rename(kept)
    logging.getLogger("satchel").warning(
        "a write-ahead log of another file lay beside %s: moved to %s, not replayed", path, kept
    )
