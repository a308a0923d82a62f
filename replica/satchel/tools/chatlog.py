"""Tools on chat logs: write, search, list, show, stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from satchel.memory import chat_cost, chatlog
from satchel.memory.search.search import SearchAnswer
from satchel.tools.kinds import Budget, Count, Json, Range, Text, Time
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica

Tokens = Annotated[int, Range(0, 2**53)]


@tool(positional=("conversation_id", "text"))
def chatlog_write(
    replica: Replica,
    conversation_id: str,
    text: Text,
    role: str = "user",
    ordinal: Annotated[int, Range(0, 2**53)] | None = None,
    said_at: Time | None = None,
    scope: str | None = None,
    space: str | None = None,
    host_agent: str | None = None,
    provider: str | None = None,
    model: str | None = None,
    tokens_in: Tokens | None = None,
    tokens_out: Tokens | None = None,
    cost: Annotated[float, Range(0, 1e9)] | None = None,
    metadata: Json | None = None,
) -> dict[str, Any]:
    """Keep one turn of a conversation; secrets are redacted before anything is written.

    conversation_id: The conversation
    text: What was said
    role: user, assistant, system, tool, or the speaker's name
    ordinal: Its place in the conversation; the next one when not given
    said_at: When it was said
    scope: agent, session, space, user or org
    space: A shared pool
    host_agent: The program that held the conversation
    provider: Who ran the model
    model: The model that spoke
    tokens_in: Tokens that the model read
    tokens_out: Tokens that it wrote
    cost: US dollars
    metadata: Anything else
    """
    return chatlog.write(
        replica,
        conversation_id,
        text,
        role=role,
        ordinal=ordinal,
        said_at=said_at,
        scope=scope,
        space=space,
        host_agent=host_agent,
        provider=provider,
        model=model,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
        metadata=metadata,
    )


@tool(positional=("query",), writes=False, short={"k": ("-k",)})
def chatlog_search(
    replica: Replica,
    query: Text,
    k: Count = 10,
    conversation_id: str | None = None,
    since: Time | None = None,
    until: Time | None = None,
    max_tokens: Budget | None = None,
    explain: bool = False,
) -> SearchAnswer:
    """Search what was said, turn by turn.

    query: Words, "phrases", ids, names, dates; word* for a beginning
    k: Hits at most
    conversation_id: Only this conversation
    since: Said from then on
    until: Said before
    max_tokens: Tokens at most, about 4 characters each
    explain: Show the parts of each score
    """
    return chatlog.search(
        replica,
        query,
        k=k,
        conversation_id=conversation_id,
        since=since,
        until=until,
        max_tokens=max_tokens,
        explain=explain,
    )


@tool(writes=False)
def chatlog_list(replica: Replica, limit: Count = 50, after: str | None = None) -> dict[str, Any]:
    """List conversations, the newest first.

    limit: How many at most
    after: Go on behind the `next` of the answer before
    """
    return chatlog.list_conversations(replica, limit=limit, after=after)


@tool(positional=("conversation_id",), writes=False)
def chatlog_show(replica: Replica, conversation_id: str) -> dict[str, Any]:
    """Show a conversation, turn by turn.

    conversation_id: The conversation
    """
    return chatlog.show(replica, conversation_id)


@tool(writes=False)
def chatlog_stats(
    replica: Replica,
    by: list[Literal["day", "host", "provider", "model", "conversation"]] | None = None,
    since: Time | None = None,
    until: Time | None = None,
    conversation_id: str | None = None,
    limit: Count = 100,
) -> dict[str, Any]:
    """Tokens and dollars that models in conversations took, by day, provider and model.

    by: What to sum up by; day, provider and model when not given; days are of UTC
    since: Said from then on
    until: Said before
    conversation_id: Only this conversation
    limit: Groups at most; the total is over all
    """
    return chat_cost.stats(
        replica,
        by=by,
        since=since,
        until=until,
        conversation_id=conversation_id,
        limit=limit,
    )
