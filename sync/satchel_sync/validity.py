"""Which rows a hub takes from nobody; the warehouse's SQL tests the same (`functions.py`)."""

from __future__ import annotations

import math
import re

from satchel_sync.clock import HLC_MAX
from satchel_sync.limits import KEY_BYTES_MAX
from satchel_sync.row import Row
from satchel_sync.stamp import (
    GENERATION,
    INT64_MAX,
    LIFE_MAX,
    LINEAGE_MAX,
    SCRUBBED,
    Stamp,
    lineage_of,
)
from satchel_sync.tables import Table

_NAMED = '"[^"\\\\\\x01-\\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"'
EXTRA = rf"(?:\{{(?:{_NAMED}(?:, ?{_NAMED})*)?\}})?"
"""What `digest.format_extra` writes, as a regular expression that Python and Postgres read."""
_LINEAGE = "[0-9a-f]{80}(?: [0-9a-f]{80})*"


def reason_invalid(table: Table, row: Row) -> str:
    """Why a row is not stored, in words; "" when it is. Sizes of rows are the transport's."""
    dead, lineage = row.stamp.dead, row.lineage
    extra = str(row.values[-1] or "")
    reasons = {
        "the key is empty": not row.key,
        f"the key is larger than {KEY_BYTES_MAX} bytes": len(row.key.encode()) > KEY_BYTES_MAX,
        "the version is not whole": not _whole(row.stamp),
        "the version is from after the year 4000": row.stamp != SCRUBBED
        and row.stamp.hlc > HLC_MAX,
        "the lineage is no list of versions": lineage != "" and not _is_lineage(lineage),
        "a deleted row has content": dead and any(v is not None for v in row.values),
        "the row is local": table.column("local") is not None
        and bool(row.values[table.names.index("local")]),
        "a number is not finite": any(
            isinstance(v, float) and not math.isfinite(v) for v in row.values
        ),
        "extra is no list of columns": not re.fullmatch(EXTRA, extra),
        "extra names a column twice": len(names := re.findall('"([^"]*)": ?"', extra))
        > len(set(names)),
    }
    return next((reason for reason, holds in reasons.items() if holds), "") or _later(lineage)


def whole(row: Row) -> bool:
    """Whether the version of a row is one that others can build on."""
    ranged = row.stamp == SCRUBBED or row.stamp.hlc <= HLC_MAX
    return _whole(row.stamp) and ranged and sound_lineage(row.lineage)


def sound_lineage(text: str) -> bool:
    """Whether a lineage is empty or a list of versions, none from after the year 4000."""
    return text == "" or (_is_lineage(text) and not _later(text))


def _whole(stamp: Stamp) -> bool:
    if INT64_MAX in (stamp.life, stamp.hlc):
        return stamp == SCRUBBED
    return (
        GENERATION <= stamp.life <= LIFE_MAX
        and stamp.hlc >= 0
        and (len(stamp.origin), len(stamp.digest)) == (16, 8)
    )


def _is_lineage(text: str) -> bool:
    return bool(re.fullmatch(_LINEAGE, text)) and len(lineage_of(text)) <= LINEAGE_MAX


def _later(lineage: str) -> str:
    if any(not 0 <= Stamp.parse(entry).hlc <= HLC_MAX for entry in lineage_of(lineage)):
        return "the lineage is from after the year 4000"
    return ""
