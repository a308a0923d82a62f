"""Pages of a list: `next` is opaque text that says behind which row the next page starts."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from satchel.errors import InvalidInput


def pack(*place: str | int) -> str:
    """A cursor for these sort values."""
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def unpack(cursor: str, *types: type) -> list[Any]:
    """Inverse of `pack`. Raises InvalidInput for what no list has given."""
    try:
        place = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise _strange() from error
    fits = isinstance(place, list) and [type(one) for one in place] == list(types)
    if not fits or any(isinstance(n, int) and not -(2**63) <= n < 2**63 for n in place):
        raise _strange()
    return list(place)


def _strange() -> InvalidInput:
    return InvalidInput(
        "`after` is not the `next` of a list",
        hint="pass the `next` of the page before, or leave it out",
        field="after",
    )
