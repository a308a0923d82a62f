"""Names and arguments of m3-memory, with agents named by strings, mean our tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import config
from satchel.errors import InvalidInput, Refused, UnknownArgument
from satchel.mcp_server.session import Session
from satchel.tools import aliases, catalog

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def as_agent(tmp_path: Path) -> Iterator[Callable[[str | None], Call]]:
    """Calls of an agent; of the operator for None."""
    sessions: list[Session] = []

    def of(agent: str | None) -> Call:
        environ = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_EMBEDDING": "off"}
        environ |= {"SATCHEL_AGENT": agent} if agent else {"SATCHEL_AGENT_ROLE": "operator"}
        session = Session(config.load(environ=environ), "client")
        sessions.append(session)
        return lambda tool, /, **args: session.call("satchel_call", {"tool": tool, "args": args})

    yield of
    for session in sessions:
        session.close()


def test_every_alias_and_every_argument_of_one_leads_somewhere() -> None:
    for name, alias in {**aliases.ALIASES, **aliases.SAME}.items():
        tool = catalog.every()[alias.tool]
        known = {one.name for one in tool.parameters} | set(tool.synonyms)
        ours = {*alias.presets, *alias.inverted.values()}
        assert ours <= known, name
    for name in aliases.ALIASES:
        assert name not in catalog.every(), "a name of ours needs no alias"
    assert set(aliases.STATES.values()) <= set(catalog.every())


def test_planner_hands_over_to_coder(as_agent: Callable[..., Call]) -> None:
    planner, coder = as_agent("planner"), as_agent("coder")
    plan = planner("memory_write", content="use two queues", agent_id="planner")["id"]
    sent = planner(
        "memory_handoff",
        from_agent="planner",
        to_agent="coder",
        task="write the queues",
        context_ids=[plan],
        note="start with the small one",
    )
    assert (sent["kind"], sent["title"]) == ("handoff", "start with the small one")
    inbox = coder("memory_inbox", agent_id="coder", unread_only=True, limit=20)
    assert [one["content"] for one in inbox["items"]] == ["write the queues"]
    assert coder("memory_get", id=plan)["items"][0]["content"] == "use two queues"
    assert coder("memory_inbox_ack", memory_id=sent["id"])["items"][0]["id"] == sent["id"]
    assert coder("memory_inbox", agent_id="coder")["unread"] == 0
    again = coder("memory_inbox", agent_id="coder", unread_only=False)
    assert [one["id"] for one in again["items"]] == [sent["id"]]


def test_notifications(as_agent: Callable[..., Call]) -> None:
    planner, coder = as_agent("planner"), as_agent("coder")
    for payload in ({"task": "t1"}, None):
        given = {"payload": payload} if payload else {}
        planner("notify", agent_id="coder", kind="task_ready", **given)
    polled = coder("notifications_poll", agent_id="coder", unread_only=True, limit=5)
    said = [(one["title"], one["content"]) for one in polled["items"]]
    assert said == [("task_ready", '{"task": "t1"}'), ("task_ready", "task_ready")]
    coder("notifications_ack", notification_id=polled["items"][0]["id"])
    assert coder("notifications_poll", agent_id="coder")["unread"] == 1
    coder("notifications_ack_all", agent_id="coder")
    assert coder("notifications_poll", agent_id="coder")["unread"] == 0


def test_a_task_and_its_states(as_agent: Callable[..., Call]) -> None:
    planner, coder = as_agent("planner"), as_agent("coder")
    top = planner("task_create", title="release", created_by="planner", owner_agent="coder")["id"]
    part = planner(
        "task_create", title="notes", created_by="planner", parent_task_id=top, metadata={"n": 1}
    )["id"]
    assert planner("task_assign", task_id=part, owner_agent="coder")["owner_agent"] == "coder"
    assert coder("task_update", task_id=part, state="in_progress")["status"] == "in_progress"
    result = coder("memory_write", content="notes are written", scope="org")["id"]
    held = coder("task_set_result", task_id=part, result_memory_id=result)
    assert (held["status"], held["result_memory_id"]) == ("in_progress", result)
    assert coder("task_update", task_id=part, state="completed")["status"] == "completed"
    assert coder("task_set_result", task_id=part, result_memory_id=result)["status"] == "completed"
    listed = planner("task_list", owner_agent="coder", state="pending", limit=5)
    assert [one["id"] for one in listed["items"]] == [top]
    tree = planner("task_tree", root_task_id=top)
    assert [one["id"] for one in tree["children"]] == [part]
    assert planner("task_get", task_id=top)["title"] == "release"
    with pytest.raises(InvalidInput, match="must be one of"):
        coder("task_update", task_id=top, state="finished")
    with pytest.raises(UnknownArgument, match="state alone"):
        coder("task_update", task_id=top, state="failed", description="why")
    planner("task_delete", task_id=top, actor="planner", confirm=True)


def test_turns_and_agents(as_agent: Callable[..., Call]) -> None:
    coder = as_agent("coder")
    turn = {"content": "why two queues?", "role": "user", "conversation_id": "c1"}
    written = coder(
        "chatlog_write", **turn, model_id="m", turn_index=3, cost_usd=0.1, agent_id="coder"
    )
    assert written["ordinal"] == 3
    assert coder("chatlog_search", query="queues")["hits"]
    assert coder("chatlog_list_conversations")["items"][0]["conversation_id"] == "c1"
    costs = coder("chatlog_cost_report", group_by="model_id")
    assert [one["model"] for one in costs["items"]] == ["m"]
    registered = coder("agent_register", agent_id="coder", role="writes code")
    assert (registered["agent_id"], registered["description"]) == ("coder", "writes code")
    assert coder("agent_heartbeat", agent_id="coder")["alive"]
    assert coder("agent_get", agent_id="coder")["agent_id"] == "coder"


def test_who_calls_can_be_narrowed_and_never_widened(as_agent: Callable[..., Call]) -> None:
    planner, operator = as_agent("planner"), as_agent(None)
    for name, given in (
        ("memory_inbox", {"agent_id": "coder"}),
        ("notifications_poll", {"agent_id": "coder"}),
        ("task_create", {"title": "x", "created_by": "coder"}),
        ("memory_write", {"content": "x", "agent_id": "coder"}),
    ):
        with pytest.raises(Refused, match="cannot call as"):
            planner(name, **given)
    with pytest.raises(InvalidInput):
        planner("memory_inbox", agent_id=7)
    planner("memory_handoff", from_agent="planner", to_agent="coder", task="x")
    assert operator("memory_inbox", agent_id="coder")["unread"] == 1
    mine = operator("memory_write", content="as coder", agent_id="coder")["id"]
    (item,) = operator("memory_get", ids=[mine])["items"]
    assert (item["agent_id"], item["scope"]) == ("coder", "agent")
    own = planner("memory_write", text="the planner's")["id"]
    assert as_agent("coder")("memory_get", ids=[own])["missing"] == [own]


def test_one_argument_by_two_names_is_refused(as_agent: Callable[..., Call]) -> None:
    with pytest.raises(InvalidInput, match="same argument"):
        as_agent("ann")("task_get", task_id="0" * 36, id="1" * 36)
