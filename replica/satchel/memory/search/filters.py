"""What a search or a list is narrowed to: a filter never widens what the caller sees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from satchel.memory import text
from satchel.memory.interval import Moment, answers, answers_turn
from satchel.memory.lookup import can_see, resolve
from satchel.memory.visibility import SCOPES, Caller

if TYPE_CHECKING:
    from apsw import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Checked filters. `since` <= recorded or said < `until`; `any_time` skips the interval."""

    moment: Moment
    type: str | None = None
    scope: str | None = None
    spaces: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    session: str | None = None
    since: int | None = None
    until: int | None = None
    any_time: bool = False

    @staticmethod
    def of(
        now_ms: int,
        *,
        type: str | None = None,  # noqa: A002 - the column's name
        scope: str | None = None,
        spaces: Sequence[str] | None = None,
        agents: Sequence[str] | None = None,
        session: str | None = None,
        as_of: int | None = None,
        known_at: int | None = None,
        since: int | None = None,
        until: int | None = None,
        any_time: bool = False,
    ) -> Filter:
        """Check what was given. Raises InvalidInput that names the field."""
        as_of, known_at = text.time_ms(as_of, "as_of"), text.time_ms(known_at, "known_at")
        return Filter(
            moment=Moment(now=now_ms, as_of=as_of, known_at=known_at),
            type=text.optional_name(type, "type"),
            scope=None if scope is None else text.one_of(scope, SCOPES, "scope"),
            spaces=tuple(text.names(spaces, "spaces")),
            agents=tuple(text.names(agents, "agents")),
            session=text.optional_name(session, "session"),
            since=text.time_ms(since, "since"),
            until=text.time_ms(until, "until"),
            any_time=any_time,
        )

    def settled(self, db: Connection, caller: Caller) -> Filter:
        """With the session's full id. Raises NotFound when the caller sees no such session."""
        if self.session is None:
            return self
        return replace(self, session=resolve(db, caller, "session", self.session))

    @property
    def params(self) -> dict[str, Any]:
        """Values of the named parameters of both statements."""
        return {
            **self.moment.params,
            "type": self.type,
            "scope": self.scope,
            "spaces": json.dumps(self.spaces),
            "agents": json.dumps(self.agents),
            "session": self.session,
            "since": self.since,
            "until": self.until,
        }

    def memory_sql(self, caller: Caller) -> str:
        """SQL: memory `t` passes, visibility included."""
        rules = [can_see(caller, "memory")]
        if not self.any_time:
            rules.append(answers("t"))
        return " AND ".join([*rules, *self._common("t.session_id", "t.recorded_at", "t.type")])

    def chatlog_sql(self, caller: Caller) -> str:
        """SQL: turn `t` passes, visibility included; it counts as known when it was said."""
        rules = [can_see(caller, "chatlog"), answers_turn("t")]
        return " AND ".join([*rules, *self._common("t.conversation_id", "t.said_at", "NULL")])

    def _common(self, session: str, time: str, kind: str) -> list[str]:
        return [
            f"(:type IS NULL OR {kind} = :type)",
            "(:scope IS NULL OR t.scope = :scope)",
            "(:spaces = '[]' OR t.space IN (SELECT value FROM json_each(:spaces)))",
            "(:agents = '[]' OR t.agent_id IN (SELECT value FROM json_each(:agents)))",
            f"(:session IS NULL OR {session} = :session)",
            f"(:since IS NULL OR {time} >= :since)",
            f"(:until IS NULL OR {time} < :until)",
        ]
