"""Chat turns that were found, each with the visible turns next to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.memory.interval import Moment, answers_turn
from satchel.memory.limits import SNIPPET_CHARS
from satchel.memory.lookup import can_see
from satchel.memory.search.context import turns_beside
from satchel.memory.search.sources import Source
from satchel.memory.visibility import Caller

if TYPE_CHECKING:
    from apsw import Connection


def neighbours(
    db: Connection, caller: Caller, moment: Moment, rows: Sequence[int]
) -> dict[int, dict[str, Any]]:
    """Where each turn stands: `{conversation_id, ordinal, role, before, after}`, by its row.

    What was said after the moment that is asked for is beside no turn.
    """
    if not rows:
        return {}
    where = f"{can_see(caller, 'chatlog')} AND {answers_turn('t')}"
    seen = Source(db, "chatlog", where, {**caller.params, **moment.params})
    beside = turns_beside(seen, rows)
    wanted = {row for pair in beside.values() for row in pair if row is not None} | set(rows)
    sql = f"""SELECT t.row, t.conversation_id, t.id, t.ordinal, t.role,
                     substr(t.content, 1, {SNIPPET_CHARS + 1})
              FROM json_each(:rows) AS k CROSS JOIN chatlog AS t ON t.row = k.value"""
    found: dict[int, tuple[Any, ...]] = {
        row: values for row, *values in db.execute(sql, {"rows": json.dumps(sorted(wanted))})
    }
    return {row: _place(found, row, *beside[row]) for row in rows}


def _place(
    found: dict[int, tuple[Any, ...]], row: int, before: int | None, after: int | None
) -> dict[str, Any]:
    conversation, _, ordinal, role, _ = found[row]
    return {
        "conversation_id": conversation,
        "ordinal": ordinal,
        "role": role,
        "before": _beside(found, before),
        "after": _beside(found, after),
    }


def _beside(found: dict[int, tuple[Any, ...]], row: int | None) -> dict[str, Any] | None:
    if row is None:
        return None
    _, key, ordinal, role, content = found[row]
    text = content or ""
    return {
        "id": key,
        "ordinal": ordinal,
        "role": role,
        "content": text if len(text) <= SNIPPET_CHARS else text[:SNIPPET_CHARS] + "…",
    }
