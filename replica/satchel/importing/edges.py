"""Storing the edges of a source, once all of its notes are in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from satchel.errors import InvalidInput, SatchelError
from satchel.importing.records import Edge, Fault
from satchel.importing.report import Report
from satchel.memory import text
from satchel.memory.edges import edge
from satchel.store import many, rows
from satchel_sync.tables import MEMORY, RELATIONSHIP, Relationship

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.visibility import Caller


def store(
    db: Connection,
    caller: Caller,
    edges: Sequence[Edge],
    ids: Mapping[str, str | None],
    report: Report,
) -> None:
    """Inside the write: edges between memories that were taken from the source, now or before."""
    made: dict[str, tuple[Edge, Relationship]] = {}
    for one in edges:
        try:
            row = _made(one, ids, caller.agent_id)
        except SatchelError as error:
            report.fail(Fault(one.place, error))
            continue
        if row is None:
            continue
        if row.id in made:
            report.count("relationship", "exists")
        else:
            made[row.id] = (one, row)
    held = many.held(db, RELATIONSHIP, list(made))
    for values in held.values():
        report.count("relationship", "deleted" if values is None else "exists")
    new = [pair for key, pair in made.items() if key not in held]
    many.insert(db, RELATIONSHIP, [_whole(row) for _, row in new])
    report.count("relationship", "created", len(new))
    for one, row in new:
        if one.replaces and row.from_id is not None:
            rows.update(db, MEMORY, row.from_id, supersedes=row.to_id)


def _made(one: Edge, ids: Mapping[str, str | None], agent_id: str | None) -> Relationship | None:
    """The row; None where an end was deleted here, or is no loss. Raises InvalidInput."""
    for field, ref in (("from", one.start), ("to", one.end)):
        if ref not in ids and one.loose:
            return None
        if ref not in ids:
            raise InvalidInput(
                f"`{field}` is {str(ref)[:80]!r}: the source has no such record, or it was refused",
                field=field,
            )
    start, end = ids[one.start], ids[one.end]
    if start is None or end is None:
        return None
    return edge(start, end, text.name(one.type, "type"), agent_id=agent_id)


def _whole(row: Relationship) -> many.Whole:
    return row.id, (*(getattr(row, name) for name in RELATIONSHIP.names), None)
