"""Claims of tasks that were made on this machine: whoever loses one, be it in a merge, is told.

A claim is kept here in the transaction that makes it, and goes in the one that sees it end. Where
it was lost, the holder's notification is written in that same transaction, under an id derived
from the claim: a crash leaves both or neither, and no replay or copy of the file tells it twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from satchel.store import rows
from satchel.store.message_order import next_at
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.tables import MESSAGE, Message

LOST = "task_claim_lost"
"""Title of the notification to an agent whose task another one has now, or nobody."""
DELETED = "task_deleted"
_ENDED = "('completed', 'failed', 'cancelled')"


class _Lost(NamedTuple):
    """A claim that stands no more, and the task as it is now (None: gone)."""

    task_id: str
    agent_id: str
    hlc: int
    lives: int | None
    title: str | None
    status: str | None
    claimed_by: str | None
    owner: str | None
    created_by: str | None


def keep(db: apsw.Connection, task_id: str, agent_id: str) -> None:
    """Remember a claim, in the transaction that has just made or renewed it."""
    db.execute(
        "INSERT INTO claim(task_id, agent_id, hlc) SELECT id, ?2, hlc FROM task WHERE id = ?1"
        " ON CONFLICT(task_id) DO UPDATE SET agent_id = excluded.agent_id, hlc = excluded.hlc",
        (task_id, agent_id),
    )


def drop(db: apsw.Connection, task_id: str) -> None:
    """Forget a claim that its holder gave up or fulfilled: nobody has to be told."""
    db.execute("DELETE FROM claim WHERE task_id = ?", (task_id,))


def settle(db: apsw.Connection, now_ms: int) -> list[str]:
    """Tell every holder whose claim stands no more, once, and forget the claim; the tasks' ids.

    Needs a write transaction with capture on, after tasks were written or merged.
    """
    lost = [_lost(*found) for found in db.execute(_LOST)]
    for claim in lost:
        drop(db, claim.task_id)
        _tell(db, claim, now_ms)
    return [claim.task_id for claim in lost]


_LOST = f"""
    SELECT c.task_id, c.agent_id, c.hlc, {alive("t")}, CAST(t.title AS BLOB),
           CAST(t.status AS BLOB), CAST(t.claimed_by AS BLOB), CAST(t.owner_agent AS BLOB),
           CAST(t.created_by AS BLOB)
    FROM claim AS c LEFT JOIN task AS t ON t.id = c.task_id
    WHERE t.id IS NULL OR NOT {alive("t")} OR t.claimed_by IS NOT c.agent_id
          OR t.status IN {_ENDED}
    ORDER BY c.task_id"""


def _lost(task_id: str, agent_id: str, hlc: int, lives: int | None, *texts: Any) -> _Lost:
    """Texts come as bytes: what somebody wrote by hand and is none must not stop a sync."""
    words = [
        None if one is None else one.decode(errors="backslashreplace").replace("\0", "\\0")
        for one in texts
    ]
    return _Lost(task_id, agent_id, hlc, lives, *words)


def _tell(db: apsw.Connection, claim: _Lost, now_ms: int) -> None:
    key = derived_id(LOST, claim.task_id, claim.agent_id, claim.hlc)
    title = _title(claim)
    if title is None or rows.get(db, MESSAGE, key, dead=True) is not None:
        return
    another = claim.claimed_by if claim.claimed_by != claim.agent_id else None
    rows.insert(
        db,
        Message(
            id=key,
            to_agent=claim.agent_id,
            from_agent=another,
            kind="notification",
            title=title,
            content=_content(claim),
            task_id=claim.task_id,
            created_at=next_at(db, another, claim.agent_id, now_ms),
        ),
    )


def _title(claim: _Lost) -> str | None:
    """What the holder is told; None where the one who ended the task has told it already."""
    if not claim.lives:
        return DELETED
    if claim.claimed_by != claim.agent_id:
        return LOST
    return None if claim.created_by == claim.agent_id else f"task_{claim.status}"


def _content(claim: _Lost) -> str:
    """The task's title and what became of it, in words."""
    if not claim.lives:
        return f"task {claim.task_id} was deleted"
    named = claim.title or claim.task_id
    if claim.claimed_by == claim.agent_id:
        return named
    if claim.status in ("completed", "failed", "cancelled"):
        return f"{named}: {claim.status} by {claim.claimed_by or 'another'}"
    if claim.claimed_by is not None:
        return f"{named}: {claim.claimed_by} holds it now"
    return f"{named}: assigned to {claim.owner}" if claim.owner else f"{named}: nobody holds it now"
