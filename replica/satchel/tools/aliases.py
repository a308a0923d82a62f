"""The names and arguments of the m3 seed, which `satchel_call` takes for ours.

    memory_handoff(from_agent="ann", to_agent="bob", task="paint")
    = message_send(kind="handoff", to="bob", content="paint"), asked by ann

An argument that says who calls can only narrow: it must name the caller, or the operator asks as
that agent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from satchel.errors import InvalidInput, Refused, UnknownArgument
from satchel.tools import catalog
from satchel.tools.tool import Tool

Given = dict[str, Any]
STATES: Mapping[str, str] = {
    "pending": "task_reopen",
    "in_progress": "task_start",
    "blocked": "task_block",
    "completed": "task_complete",
    "failed": "task_fail",
    "cancelled": "task_cancel",
}
"""A state that `task_update` is asked for -> the tool that leads there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """Another name of `tool`. `renamed` are arguments by other names; `caller` says who calls.

    `inverted` are flags that mean the opposite of ours; `shaped` changes what is left.
    """

    tool: str
    presets: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    inverted: Mapping[str, str] = field(default_factory=dict)
    caller: str = ""
    shaped: Callable[[Given], Given] | None = None


class Meant(NamedTuple):
    """What a call by a name of m3 means: our tool, its arguments, and who asks if that was said."""

    tool: Tool
    arguments: Given
    agent: str | None


def _notice(given: Given) -> Given:
    """A notification's kind is its title, its payload the JSON of its content."""
    title = given.pop("title", None)
    payload = given.pop("payload", None)
    if "content" not in given:
        given["content"] = json.dumps(payload, ensure_ascii=False) if payload else title
    return {**given, **({"title": title} if title else {})}


def _grouped(given: Given) -> Given:
    """One group by its name there, or several."""
    said = given.get("by")
    if isinstance(said, str):
        given["by"] = [said.removesuffix("_id").replace("host_agent", "host")]
    return given


_ACK = {"memory_id": "ids", "notification_id": "ids"}
_TASK = {
    "task_id": "id",
    "root_task_id": "id",
    "owner_agent": "owner",
    "parent_task_id": "parent",
    "result_memory_id": "result_memory",
    "state": "status",
}
_CHAT = {
    "content": "text",
    "model_id": "model",
    "turn_index": "ordinal",
    "cost_usd": "cost",
}
_FILTER = {"type_filter": "type", "agent_filter": "agents"}
_UNREAD = {"unread_only": "all"}

ALIASES: Mapping[str, Alias] = {
    "memory_handoff": Alias(
        tool="message_send",
        presets={"kind": "handoff"},
        renamed={"to_agent": "to", "task": "content", "note": "title"},
        caller="from_agent",
    ),
    "memory_inbox": Alias(tool="message_inbox", inverted=_UNREAD, caller="agent_id"),
    "memory_inbox_ack": Alias(tool="message_ack", renamed=_ACK),
    "notify": Alias(
        tool="message_send",
        presets={"kind": "notification"},
        renamed={"agent_id": "to", "kind": "title"},
        shaped=_notice,
    ),
    "notifications_poll": Alias(tool="notification_list", inverted=_UNREAD, caller="agent_id"),
    "notifications_ack": Alias(tool="notification_ack", renamed=_ACK),
    "notifications_ack_all": Alias(tool="notification_ack_all", caller="agent_id"),
    "task_set_result": Alias(tool="task_update", renamed=_TASK),
    "memory_unpin": Alias(tool="memory_pin", presets={"off": True}),
    "memory_search_scored": Alias(
        tool="memory_search", presets={"explain": True}, renamed=_FILTER, caller="requesting_agent"
    ),
    "memory_search_routed": Alias(tool="memory_search", renamed=_FILTER, caller="requesting_agent"),
    "memory_suggest": Alias(tool="memory_search", presets={"explain": True}),
    "conversation_append": Alias(tool="chatlog_write", renamed=_CHAT, caller="agent_id"),
    "conversation_search": Alias(tool="chatlog_search"),
    "chatlog_list_conversations": Alias(tool="chatlog_list"),
    "chatlog_cost_report": Alias(tool="chatlog_stats", renamed={"group_by": "by"}, shaped=_grouped),
    "memory_doctor": Alias(tool="admin_doctor"),
    "embedder_status": Alias(tool="admin_doctor"),
}
"""Names of the m3 seed -> ours."""


def _theirs(tool: str, caller: str = "", **renamed: str) -> Alias:
    return Alias(tool=tool, renamed=renamed, caller=caller)


SAME: Mapping[str, Alias] = {
    alias.tool: alias
    for alias in (
        _theirs("memory_get", id="ids"),
        _theirs("memory_search", "requesting_agent", **_FILTER),
        _theirs("memory_write", "agent_id", content="text"),
        _theirs("memory_supersede", "agent_id", old_id="id", content="text"),
        _theirs("memory_update", content="text"),
        _theirs("memory_history", memory_id="id"),
        _theirs("memory_graph", memory_id="id"),
        _theirs("memory_link", relationship_type="type"),
        _theirs("chatlog_write", "agent_id", **_CHAT),
        _theirs("chatlog_search", "agent_id"),
        _theirs("agent_register", agent_id="id", role="description"),
        _theirs("agent_heartbeat", agent_id="id"),
        _theirs("agent_get", agent_id="id"),
        _theirs("agent_offline", agent_id="id"),
        _theirs("task_create", "created_by", **_TASK),
        _theirs("task_assign", **_TASK),
        _theirs("task_update", "actor", **_TASK),
        _theirs("task_claim", **_TASK),
        _theirs("task_get", **_TASK),
        _theirs("task_list", **_TASK),
        _theirs("task_tree", max_depth="depth", **_TASK),
        _theirs("task_delete", "actor", **_TASK),
    )
}
"""Tools that m3 has too -> its names of their arguments."""


def meant(name: str, given: Mapping[str, Any]) -> Meant:
    """The tool and arguments that a call means. Raises UnknownArgument, InvalidInput."""
    tool, presets = catalog.find(name)
    alias = ALIASES.get(name) or SAME.get(name)
    if alias is None:
        return Meant(tool, {**presets, **given}, None)
    known = {one.name for one in tool.parameters} | set(tool.synonyms)
    if name == "task_update" and "status" not in known and (state := given.get("state")):
        return _moved(str(state), {key: one for key, one in given.items() if key != "state"})
    agent = None if alias.caller in known else given.get(alias.caller)
    if agent is not None and not isinstance(agent, str):
        raise InvalidInput(f"{alias.caller} must be text", field=alias.caller)
    ours: Given = dict(presets)
    for key, value in given.items():
        if agent is None or key != alias.caller:
            _put(ours, alias, name in ALIASES, known, key, value)
    if alias.shaped:
        ours = alias.shaped(ours)
    many = {one.name for one in tool.parameters if one.many}
    for key in many & set(ours):
        if isinstance(ours[key], str) and set(given) & set(alias.renamed):
            ours[key] = [ours[key]]
    return Meant(tool, ours, agent)


def require_caller(agent: str, caller: str | None, role: str) -> None:
    """An argument names who calls: the caller itself, or whom the operator stands in for.

    Raises Refused for anybody else.
    """
    if agent != caller and role != "operator":
        raise Refused(
            f"this session is {caller or 'nobody'}: it cannot call as {agent[:60]!r}",
            hint="leave that argument out, or connect as that agent",
            field="agent_id",
        )


def _put(
    ours: Given, alias: Alias, other_name: bool, known: set[str], key: str, value: Any
) -> None:
    """One of their arguments into ours; what is ours already keeps its name."""
    theirs = key in alias.renamed and (key not in known or (other_name and key in alias.presets))
    if key in alias.inverted and key not in known:
        ours[alias.inverted[key]] = not value if isinstance(value, bool) else value
        return
    name = alias.renamed[key] if theirs else key
    if name in ours and name not in alias.presets:
        raise InvalidInput(f"{key} and {name} are the same argument: give one", field=key)
    ours[name] = value


def _moved(state: str, given: Given) -> Meant:
    """`task_update` with a state is one of ours that leads there; it changes nothing else."""
    to = STATES.get(state)
    if to is None:
        raise InvalidInput(
            f"state is {state[:60]!r}, must be one of: {', '.join(STATES)}", field="state"
        )
    agent = given.pop("actor", None)
    if more := set(given) - {"task_id", "id"}:
        raise UnknownArgument(
            f"task_update changes the state alone, not {', '.join(sorted(more))} with it",
            hint=f"call {to}, then task_update",
            field="state",
        )
    return Meant(catalog.every()[to], {"id": given.get("task_id", given.get("id"))}, agent)
