"""CBOR (RFC 8949) of a stranger: no tags, no endless lengths, no depth, no surprise in size."""

from __future__ import annotations

from io import BytesIO
from typing import Any, NoReturn

import cbor2

from satchel_sync.bundles.errors import BundleInvalid
from satchel_sync.bundles.limits import DEPTH_MAX

_KNOWN_TAGS = (0, 1, 2, 3, 4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004)


def loads(data: bytes, where: str) -> Any:
    """The one item that `data` is. Raises BundleInvalid, which says where.

    What is decoded is no larger than a small multiple of `data`: lengths are only claims until the
    bytes are there. Tags are refused, as some build numbers or patterns of any size.
    """
    source = BytesIO(data)
    try:
        found = cbor2.CBORDecoder(
            source,
            tag_hook=_refuse,
            semantic_decoders=_REFUSED,
            max_depth=DEPTH_MAX,
            allow_indefinite=False,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
        ).decode()
    except (cbor2.CBORError, ValueError, TypeError, OverflowError) as error:
        raise BundleInvalid(f"{where} is not readable: {error}") from error
    if source.tell() != len(data):
        raise BundleInvalid(f"{where} has {len(data) - source.tell()} bytes after its end")
    return found


def array(items: list[bytes]) -> bytes:
    """A CBOR array of items that are encoded already."""
    return _head(4, len(items)) + b"".join(items)


def _head(major: int, count: int) -> bytes:
    if count < 24:
        return bytes([major << 5 | count])
    for code, width in ((24, 1), (25, 2), (26, 4)):
        if count < 256**width:
            return bytes([major << 5 | code]) + count.to_bytes(width, "big")
    raise ValueError(f"{count} items are too many")


def _refuse(*_: object) -> NoReturn:
    raise ValueError("it has a tag")


_REFUSED: dict[int, Any] = dict.fromkeys(_KNOWN_TAGS, _refuse)
