"""Random bytes for ids, tokens and keys: the operating system's generator, nothing else."""

from __future__ import annotations

import os


def random_bytes(count: int) -> bytes:
    """`count` bytes from the kernel's generator. Raises ValueError for a negative count."""
    return os.urandom(count)
