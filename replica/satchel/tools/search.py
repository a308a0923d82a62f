"""The tool that searches memories and chat turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from satchel.memory import search
from satchel.memory.search import SearchAnswer
from satchel.tools.kinds import Count, Id, Range, Text, Time
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica

Tokens = Annotated[int, Range(1, 2**31 - 1)]


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
    max_tokens: Tokens | None = None,
    explain: bool = False,
) -> SearchAnswer:
    """Search by keyword and meaning. Fewer hits than k is a good answer.

    query: What to look for
    k: Hits at most
    kind: Rows to look in
    type: Only of this type
    scope: Only of this scope
    spaces: Only these pools
    agents: Rows of these agents
    session: Only of this session
    as_of: What was true then
    known_at: What was believed then
    since: Recorded from then on
    until: Recorded before
    max_tokens: Budget of the answer
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
