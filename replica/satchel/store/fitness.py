"""How many bytes a row takes on its way, told at once for rows that clearly can travel.

A push looks at every value of every row. Nearly all rows have the same types in the same places,
and text that is ASCII says so of itself: whatever is not so plain is looked at by `quarantine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isfinite
from operator import itemgetter
from typing import Any

from satchel_sync.clock import HLC_MAX
from satchel_sync.limits import KEY_BYTES_MAX
from satchel_sync.stamp import GENERATION, INT64_MAX
from satchel_sync.tables import BY_NAME, Table

SHAPES_MAX = 4096
"""Combinations of NULLs that are remembered."""
OVERHEAD_BYTES = 96
NUMBER_BYTES = 8
_TYPES: dict[str, tuple[type, ...]] = {"t": (str,), "i": (int,), "r": (float, int), "b": ()}
_STAMP = (int, int, bytes, bytes, str)

Shape = tuple[Callable[[Any], Any], Callable[[Any], Any], int]
"""How to take a row's texts and its floats, and the bytes of all but its texts."""


def plain_bytes(table: Table, key: Any, values: Sequence[Any]) -> int | None:
    """Bytes of a row that may travel as it is; None where somebody has to look closer."""
    shape = _shape(table.name, tuple(map(type, values)))
    if shape is None or type(key) is not str or not 0 < len(key) <= KEY_BYTES_MAX // 4:
        return None
    texts, floats, size = shape
    text = "".join(texts(values))
    if "\0" in key or "\0" in text or not all(map(isfinite, floats(values))):
        return None
    if text.isascii() and key.isascii():
        return size + len(key) + len(text)
    try:
        key.encode()
        return size + len(key) + len(text.encode())
    except UnicodeEncodeError:
        return None


def plain_version(version: Sequence[Any]) -> bool:
    """Whether a version is sound and builds on none; `version` as in `row_columns`."""
    life, hlc, origin, digest, lineage = version
    return (
        tuple(map(type, version)) == _STAMP
        and GENERATION <= life < INT64_MAX
        and 0 <= hlc <= HLC_MAX
        and len(origin) == 16
        and len(digest) == 8
        and lineage == ""
    )


@lru_cache(SHAPES_MAX)
def _shape(kind: str, types: tuple[type, ...]) -> Shape | None:
    """None where a value has not its column's type, or is one to look at: a blob, `extra`."""
    places: dict[type, list[int]] = {str: [], float: []}
    size = OVERHEAD_BYTES
    if types[-1] is not type(None):
        return None
    for at, (column, held) in enumerate(zip(BY_NAME[kind].columns, types[:-1], strict=True)):
        if held is type(None):
            continue
        if held not in _TYPES[column.tag]:
            return None
        places.setdefault(held, []).append(at)
        size += 0 if held is str else NUMBER_BYTES
    return _getter(places[str]), _getter(places[float]), size


def _getter(places: Sequence[int]) -> Callable[[Any], Any]:
    """What takes these places of a sequence as a sequence, however few they are."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda values: [values[place] for place in places]
