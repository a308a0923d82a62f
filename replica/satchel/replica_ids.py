"""From what somebody typed to the one replica id that it means."""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.errors import AmbiguousId, InvalidInput, NotFound
from satchel.memory.limits import CANDIDATES_SHOWN_MAX, SHORT_ID_DIGITS_MIN

_SHORT = re.compile(rf"[0-9a-f]{{{SHORT_ID_DIGITS_MIN},}}")


def only_one(given: str, known: Sequence[str]) -> str:
    """The known id (32 hex digits) that `given` is, begins or ends.

    Raises InvalidInput for what is no part of an id, NotFound, AmbiguousId with the candidates.
    """
    digits = given.strip().lower().replace("-", "")
    if not _SHORT.fullmatch(digits):
        raise InvalidInput(
            f"{given[:80]!r} is no replica id",
            hint=f"give {SHORT_ID_DIGITS_MIN} or more of its first or last hex digits",
            field="id",
        )
    found = [one for one in known if one.startswith(digits) or one.endswith(digits)]
    if not found:
        raise NotFound(
            f"no replica {given[:80]!r}",
            hint="`satchel warehouse replica list` shows what is there",
            field="id",
        )
    if len(found) > 1:
        shown = ", ".join(found[:CANDIDATES_SHOWN_MAX])
        more = " …" if len(found) > CANDIDATES_SHOWN_MAX else ""
        raise AmbiguousId(
            f"{given!r} fits several: {shown}{more}", hint="give more digits", field="id"
        )
    return found[0]
