"""HKDF-SHA-256 out of a provider's HMAC (RFC 5869), for libraries that have none."""

from __future__ import annotations

from collections.abc import Callable

_BLOCK_BYTES = 32


def derive(
    mac: Callable[[bytes, bytes], bytes], key: bytes, salt: bytes, info: bytes, length: int
) -> bytes:
    """`length` ≤ 8160 bytes; `mac` is HMAC-SHA-256 of (key, data)."""
    pseudorandom_key = mac(salt or bytes(_BLOCK_BYTES), key)
    block = derived = b""
    for number in range(1, -(-length // _BLOCK_BYTES) + 1):
        block = mac(pseudorandom_key, block + info + bytes([number]))
        derived += block
    return derived[:length]
