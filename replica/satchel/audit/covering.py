"""Changes that no record of the writes tells of: what is left where the end of a chain was cut.

Each record of a write names the stamps that rows got with it. A row that this replica stamped, and
whose stamp lies in no such span, was written in a transaction whose record is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from satchel.audit import chain
from satchel_crypto.audit_record import Entry
from satchel_crypto.errors import AuditBroken

STAMPS = "stamps"
"""Entry of a record's detail: `least-highest` hlc of the rows that were sealed with it."""


class Span(NamedTuple):
    """The stamps, least to highest, that a record tells of."""

    least: int
    highest: int
    seq: int


class Unrecorded(NamedTuple):
    """How many rows no record tells of, and behind which record the first of them was written."""

    rows: int
    after: int


def named(stamps: tuple[int, int]) -> dict[str, str | int]:
    """What the detail of a record says of the stamps given with it."""
    return {STAMPS: f"{stamps[0]}-{stamps[1]}"}


def unrecorded(db: apsw.Connection, replica_id: bytes) -> Unrecorded | None:
    """Rows of this replica that its chain does not tell of, though it is whole by itself.

    What was stamped before the end of the first span is not asked for: its record may be too old.
    """
    spans = list(_spans(db, replica_id))
    return _missing(_stamps(db, replica_id, spans[0].highest), sorted(spans)) if spans else None


def _missing(stamps: Iterable[int], spans: Sequence[Span]) -> Unrecorded | None:
    """Both in the order of stamps; spans may overlap."""
    rows = after = at = reach = seq = 0
    for stamp in stamps:
        while at < len(spans) and spans[at].least <= stamp:
            if spans[at].highest > reach:
                reach, seq = spans[at].highest, spans[at].seq
            at += 1
        if stamp > reach:
            after = after or seq
            rows += 1
    return Unrecorded(rows, after) if rows else None


def _stamps(db: apsw.Connection, replica_id: bytes, after: int) -> list[int]:
    """Sealed ones of every kind, in their order."""
    from satchel_sync.tables import TABLES  # every kind, and only verify asks

    own = "WHERE origin = ?1 AND digest IS NOT NULL AND hlc > ?2"
    query = " UNION ALL ".join(f"SELECT hlc FROM {table.name} {own}" for table in TABLES)
    found: Any = db.execute(f"{query} ORDER BY 1", (replica_id, after))
    return [hlc for (hlc,) in found if isinstance(hlc, int)]


def _spans(db: apsw.Connection, replica_id: bytes) -> Iterator[Span]:
    for record in chain.holding(db, [f'"{STAMPS}":"'], replica_id):
        try:
            said = Entry.parse(record.body)
        except AuditBroken:
            continue  # the walk over the chain stops there
        least, _, highest = str(said.detail.get(STAMPS, "")).partition("-")
        if least.isdecimal() and highest.isdecimal():
            yield Span(int(least), int(highest), said.seq)
