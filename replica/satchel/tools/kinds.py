"""Marks on a tool's annotations: what a plain `str` or `int` means at the doors."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from satchel.memory.limits import TITLE_CHARS_MAX

NAME_CHARS_MAX = TITLE_CHARS_MAX
"""A name, type, title or id, in characters; memory/ is stricter where it must be."""
LIST_ITEMS_MAX = 1_000
"""Items of a plural argument."""


MOMENT = "moment"
"""Mark: an ISO-8601 time at the door, int UTC milliseconds inside."""
JSON_OBJECT = "json"
"""Mark: a JSON object at the door (or its text), a dict inside."""
LONG = "long"
"""Mark: text up to TEXT_BYTES_MAX; other text is a name, up to NAME_CHARS_MAX."""


class Range(NamedTuple):
    """The least and the largest number that is accepted."""

    least: float
    most: float


Time = Annotated[int, MOMENT]
Json = Annotated[dict[str, Any], JSON_OBJECT]
Text = Annotated[str, LONG]
Share = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 1000)]
Budget = Annotated[int, Range(1, 2**31 - 1)]
"""Tokens of an answer, estimated at CHARS_PER_TOKEN."""
Wait = Annotated[float, Range(0, 3600)]
"""Seconds that a call may wait for something to come."""
Id = str
"""A full id, or a unique prefix or suffix of 8 or more hex digits."""
