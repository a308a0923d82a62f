"""Content digests of files: to recognise model weights, not to protect them."""

from __future__ import annotations

from pathlib import Path

from satchel_crypto.fips import require_unlocked


def content_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes as 64 hex digits. Raises OSError when it cannot be read."""
    require_unlocked()
    import hashlib  # it loads OpenSSL; most who import this folder want random bytes only

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
