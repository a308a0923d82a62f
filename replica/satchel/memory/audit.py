"""The trace of a read: who was given what, kept in the side database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from satchel.store.activity import Trace
from satchel.store.touched import TOOL

if TYPE_CHECKING:
    from satchel.memory.visibility import Caller
    from satchel.replica import Replica


def record(
    replica: Replica, tool: str, rows: Iterable[tuple[str, str]], *, recalled: bool = False
) -> None:
    """Note that this caller was given these rows (kind, key) by `tool`, if no door named it.

    `recalled` rows are counted too, for the ranking and for the guard against giving them again.
    """
    trace = Trace(
        at=replica.now_ms(),
        actor=replica.actor,
        tool=TOOL.get() or tool,
        rows=tuple(rows),
        caller=given_to(replica.caller) if recalled else None,
        writes=_writes_head(replica),
    )
    replica.activity.record_soon(trace)


def given_to(caller: Caller) -> str:
    """Who was given a row, as `activity.db` names callers."""
    return f"{caller.role}:{caller.agent_id or caller.user_id or ''}"


def _writes_head(replica: Replica) -> tuple[int, bytes] | None:
    """Where the chain of writes stands; None where a power cut could still take it back."""
    if replica.settings.durability != "full":
        return None
    query = "SELECT seq, link FROM audit_head WHERE replica_id = ?"
    with replica.store.read() as db:
        found = db.execute(query, (replica.store.replica_id,)).fetchone()
    if found is None or type(found[0]) is not int or not isinstance(found[1], bytes):
        return None  # none yet, or one that somebody wrote by hand: `audit verify` tells
    return found[0], found[1]
