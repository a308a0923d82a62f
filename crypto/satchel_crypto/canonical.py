"""Canonical JSON: the one way in which a document that is signed or chained becomes bytes.

As RFC 8785 (JCS) for the values that satchel signs: text, integers within ±2^53, booleans, null,
lists and maps. Keys are ordered by their code points, and no other number is taken.
"""

from __future__ import annotations

import json
import re
from typing import Any

from satchel_crypto.errors import CryptoError

INTEGER_MAX = 2**53
DEPTH_MAX = 16
_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_SURROGATES = re.compile("[\ud800-\udfff]")


def canonical(document: Any) -> bytes:
    """UTF-8 bytes of a document. Raises CryptoError for a value that JSON tells in two ways."""
    _check(document, "$", 0)
    return _ENCODER.encode(document).encode("utf-8")


def _check(value: Any, where: str, depth: int) -> None:
    if depth > DEPTH_MAX:
        raise CryptoError(f"{where} is nested deeper than {DEPTH_MAX}")
    match value:
        case None | bool():
            return
        case str():
            if not value.isascii() and _SURROGATES.search(value):
                raise CryptoError(f"{where} holds a lone surrogate")
        case int():
            if abs(value) > INTEGER_MAX:
                raise CryptoError(f"{where} is beyond ±2^53: write it as text")
        case list() | tuple():
            for number, one in enumerate(value):
                _check(one, f"{where}[{number}]", depth + 1)
        case dict():
            for key, one in value.items():
                if not isinstance(key, str):
                    raise CryptoError(f"{where} has a key that is no text")
                _check(key, where, depth + 1)
                _check(one, f"{where}.{key}", depth + 1)
        case _:
            raise CryptoError(f"{where} is a {type(value).__name__}, which has no canonical form")
