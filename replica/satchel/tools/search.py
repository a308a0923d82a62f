"""The tool that searches memories and chat turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from satchel.memory.search import search
from satchel.memory.search.search import SearchAnswer
from satchel.tools.kinds import Budget, Count, Id, Text, Time
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(
    positional=("query",),
    writes=False,
    short={"k": ("-k",)},
    synonyms={"space": "spaces"},
)
def memory_search(
    replica: Replica,
    query: Text,
    k: Count = 10,
    kind: Literal["all", "memory", "chatlog"] = "all",
    type: str | None = None,  # noqa: A002 (the column's name)
    scope: str | None = None,
    spaces: list[str] | None = None,
    agents: list[str] | None = None,
    session: Id | None = None,
    as_of: Time | None = None,
    known_at: Time | None = None,
    since: Time | None = None,
    until: Time | None = None,
    max_tokens: Budget | None = None,
    explain: bool = False,
) -> SearchAnswer:
    """Search by keyword and meaning. Fewer hits than k is a good answer.

    query: Words, "phrases", ids, names, dates; word* for a beginning
    k: Hits at most
    kind: Rows to look in
    type: Only of this type
    scope: Only agent, session, space, user or org
    spaces: Only these spaces
    agents: Only rows of these agents
    session: Only of this session
    as_of: What was true then, default now
    known_at: What was believed then, default now
    since: Recorded (turns: said at) from then on
    until: Recorded (turns: said at) before
    max_tokens: Tokens at most, about 4 characters each
    explain: Show the parts of each score
    """
    return search.search(
        replica,
        query,
        k=k,
        kind=kind,
        type=type,
        scope=scope,
        spaces=spaces,
        agents=agents,
        session=session,
        as_of=as_of,
        known_at=known_at,
        since=since,
        until=until,
        max_tokens=max_tokens,
        explain=explain,
    )
