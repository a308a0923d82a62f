"""JSON documents of strangers: one map, of bounded size and depth, in which no key stands twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from satchel_crypto.errors import CryptoError


def read_document(
    data: bytes, *, what: str, bytes_max: int, error: type[CryptoError]
) -> dict[str, Any]:
    """The map that `data` is. Raises `error`, which says what is wrong with `what`."""
    if len(data) > bytes_max:
        raise error(f"{what} has more than {bytes_max} bytes")
    try:
        found = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_number,
            parse_float=_no_number,
        )
    except UnicodeDecodeError as wrong:
        raise error(f"{what} is not UTF-8 at byte {wrong.start}") from None
    except (ValueError, RecursionError) as wrong:
        raise error(f"{what} is not JSON as satchel writes it: {_words(wrong)}") from None
    if not isinstance(found, dict):
        raise error(f"{what} is no JSON map")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one map")
    return found


def _no_number(said: str) -> NoReturn:
    raise ValueError("a number is no integer")


def _words(wrong: Exception) -> str:
    """What is wrong and where, without a piece of the document."""
    if isinstance(wrong, json.JSONDecodeError):
        return f"{wrong.msg} at character {wrong.pos}"
    return "it is nested too deeply" if isinstance(wrong, RecursionError) else str(wrong)[:100]
