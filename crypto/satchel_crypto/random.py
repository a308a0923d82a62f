"""Random bytes for ids, tokens and keys: the kernel's generator, or in FIPS mode the module's."""

from __future__ import annotations

import os

from satchel_crypto.fips import mode


def random_bytes(count: int) -> bytes:
    """`count` bytes. Raises ValueError for a negative count."""
    return mode.random(count) if mode.active() else os.urandom(count)
