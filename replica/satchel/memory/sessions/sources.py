"""What a session's summary is made of: memories, tasks and turns that all its readers may see.

Whoever sees the summary must see all that it quotes, whoever ends the session: an agent's own notes
stay its own. So the sources follow from the rows alone, the same on every machine that holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from satchel.memory.edges import DERIVED_FROM
from satchel.memory.limits import SESSION_SOURCES_MAX
from satchel.memory.lookup import select
from satchel.memory.search.names import GENERIC
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.tables import Chatlog, Memory, Session, Task

if TYPE_CHECKING:
    from apsw import Connection

SHARED: Final = """(CASE t.scope
    WHEN 'org' THEN 1
    WHEN 'session' THEN :scope IN ('session', 'agent')
    WHEN 'space' THEN :scope = 'space' AND t.space = :space
    WHEN 'user' THEN :scope = 'user' AND t.user_id IS :user_id
    WHEN 'agent' THEN :scope = 'agent' AND t.agent_id IS :agent_id
    ELSE 0 END)"""
"""SQL: whoever sees a row that is owned as the session is sees the row `t` of this session too."""

_MEMORIES: Final = f"""t.session_id = :session AND t.id <> :summary AND t.local IS NULL AND {SHARED}
    AND (t.valid_to IS NULL OR t.valid_to > :at)
    AND (t.valid_from IS NULL OR t.valid_from <= max(:at, coalesce(t.recorded_at, :at)))
    AND (t.expires_at IS NULL OR t.expires_at >= :at OR EXISTS (
        SELECT 1 FROM relationship AS r WHERE r.from_id = :summary AND r.to_id = t.id
        AND r.type = '{DERIVED_FROM}' AND {alive("r")}))"""
"""What was true at the end. What has expired since counts as long as the summary names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A row that a summary is made of: who said what, when (UTC ms).

    `label` is the type of a memory or the status of a task.
    """

    kind: Literal["memory", "task", "chatlog"]
    id: str
    text: str
    who: str | None
    at: int | None
    label: str | None = None
    lifted: float = 0.0


def summary_id(session_id: str) -> str:
    """The id of a session's one summary: two machines that end the session make the same row."""
    return derived_id("session", session_id, "summary")


def gather(db: Connection, session: Session, at_ms: int) -> list[Source]:
    """The sources as they stood at `at_ms`: memories, tasks, turns, each kind in order of time.

    Of more than SESSION_SOURCES_MAX of a kind the last ones count.
    """
    params = {
        "session": session.id,
        "summary": summary_id(session.id),
        "scope": session.scope,
        "space": session.space,
        "user_id": session.user_id,
        "agent_id": session.agent_id,
        "at": at_ms,
    }
    living = alive("t")
    memories = _last(db, Memory, f"{living} AND {_MEMORIES}", "recorded_at", params)
    own = f"{living} AND t.session_id = :session AND {SHARED}"
    tasks = _last(db, Task, own, "created_at", params)
    talk = f"{living} AND t.conversation_id = :session AND {SHARED}"
    turns = _last(db, Chatlog, talk, "ordinal", params)
    return [*map(_memory, memories), *map(_task, tasks), *map(_turn, turns)]


def last_at(db: Connection, session: Session) -> int:
    """When something was last done in a session, in UTC ms: rows of any owner count."""
    found = db.execute(
        f"""SELECT max(at) FROM (
            SELECT :opened AS at
            UNION ALL SELECT max(t.recorded_at) FROM memory AS t
                WHERE t.session_id = :session AND {alive("t")}
            UNION ALL SELECT max(max(t.created_at, coalesce(t.completed_at, 0))) FROM task AS t
                WHERE t.session_id = :session AND {alive("t")}
            UNION ALL SELECT max(t.said_at) FROM chatlog AS t
                WHERE t.conversation_id = :session AND {alive("t")})""",
        {"opened": session.opened_at or 0, "session": session.id},
    ).get
    return int(found or 0)


def _last(db: Connection, row: Any, where: str, order: str, params: dict[str, Any]) -> list[Any]:
    tail = f"ORDER BY t.{order} DESC, t.id DESC LIMIT {SESSION_SOURCES_MAX}"
    return select(db, row, where, params, tail)[::-1]


def _memory(row: Memory) -> Source:
    return Source(
        kind="memory",
        id=row.id,
        text=row.content or "",
        who=row.agent_id or row.user_id,
        at=row.recorded_at,
        label=row.type,
        lifted=(0.5 if row.pinned else 0.0) + 0.4 * (row.importance or 0.0),
    )


def _task(row: Task) -> Source:
    told = [row.title or "", row.result or ""]
    return Source(
        kind="task",
        id=row.id,
        text=": ".join(part.strip() for part in told if part.strip()),
        who=row.claimed_by or row.owner_agent or row.created_by,
        at=row.completed_at or row.created_at,
        label=row.status,
    )


def _turn(row: Chatlog) -> Source:
    who, content = row.role, row.content or ""
    if who is None or who in GENERIC:
        who = (row.agent_id or row.host_agent if who == "assistant" else row.user_id) or who
    return Source(
        kind="chatlog",
        id=row.id,
        text=content.removeprefix(f"{row.role}:").strip(),
        who=who,
        at=row.said_at,
    )
