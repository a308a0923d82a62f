"""What each tool of the catalog is asked in the twin worlds of `fix_hidden`, tool by tool.

To enter a new tool, add a line: its name, and one or more cases. A case is a function of the hidden
rows `h` and of the caller's own rows `o` (`fix_hidden.Hidden`, `Own`) that gives the arguments.
Give a case for every argument through which somebody could reach a hidden row: each that takes an
id (`h.memory`, `h.task`, …), a name (`h.space`, `h.conversation`, "ada"), or a query; and one
that reads or changes the caller's own rows (`o`), beside which hidden ones stand. That is all: what
must come out is the same for all tools, and `tests/memory/test_visibility_tools.py` checks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fix_hidden import SECRET, Hidden, Own

Case = Callable[[Hidden, Own], dict[str, Any]]


def by(name: str, *attributes: str, **more: Any) -> tuple[Case, ...]:
    """Cases that give one argument: a hidden row each by its name in `Hidden`."""

    def case(attribute: str) -> Case:
        return lambda h, o: {name: getattr(h, attribute), **more}

    return tuple(case(attribute) for attribute in attributes)


def own(name: str, *attributes: str, **more: Any) -> tuple[Case, ...]:
    """The same with the caller's own rows."""

    def case(attribute: str) -> Case:
        return lambda h, o: {name: getattr(o, attribute), **more}

    return tuple(case(attribute) for attribute in attributes)


def plain(**given: Any) -> tuple[Case, ...]:
    """One case with these arguments."""
    return (lambda h, o: dict(given),)


MEMORIES = ("memory", "new", "deleted", "repeats")
ONE_MEMORY = ("memory", "deleted")

MEMORY: Mapping[str, tuple[Case, ...]] = {
    "memory_search": (
        lambda h, o: {"query": SECRET.rpartition(" ")[0], "explain": True, "k": 20},
        lambda h, o: {"query": "marzipan", "explain": True},
        lambda h, o: {"query": "marzipam zanzibar vau*", "explain": True},
        lambda h, o: {"query": h.memory},
        lambda h, o: {"query": f"what is {h.memory[-9:]} or {h.turn[-9:]}"},
        lambda h, o: {"query": '"opens with"', "kind": "memory"},
        lambda h, o: {"query": "vault", "agents": ["ada", "bob"]},
        lambda h, o: {"query": "vault", "spaces": [h.space, o.space]},
        lambda h, o: {"query": "vault", "scope": "agent"},
        lambda h, o: {"query": "vault", "session": h.session},
        lambda h, o: {"query": "ferry", "session": o.session},
        lambda h, o: {"query": "vault", "as_of": "2026-01-01"},
        lambda h, o: {"query": "vault", "known_at": "2030-01-01", "k": 1, "explain": True},
        lambda h, o: {"query": "vault", "kind": "chatlog", "max_tokens": 50},
    ),
    "memory_get": (
        lambda h, o: {"ids": list(h.ids.values())},
        lambda h, o: {"ids": [key[-9:] for key in h.ids.values()] + [o.memory]},
        lambda h, o: {"ids": [h.memory[:9]]},
        lambda h, o: {"ids": [o.new, o.old]},
    ),
    "memory_list": (
        *plain(superseded=True),
        *plain(agents=["ada"], superseded=True),
        *plain(limit=1),
        *plain(as_of="2027-01-14T00:00:00Z", known_at="2027-01-16T00:00:00Z"),
        *by("session", "session"),
        *own("session", "session"),
        lambda h, o: {"spaces": [h.space]},
    ),
    "memory_stats": plain(),
    "memory_history": (
        *by("id", *MEMORIES, "task", "turn", "edge", "message"),
        *own("id", "old", "deleted"),
    ),
    "memory_graph": (
        *by("id", *MEMORIES),
        *own("id", "memory", depth=3),
    ),
    "memory_write": (
        *plain(text=SECRET.replace("marzipan", "butter")),
        lambda h, o: {"text": SECRET, "title": "mine"},
        *by("session", "session", text="mine"),
        lambda h, o: {"text": "the ferry to zanzibar leaves at nine", "session": o.session},
    ),
    "memory_update": by("id", *ONE_MEMORY, title="mine"),
    "memory_supersede": (
        *by("id", *ONE_MEMORY, text="mine"),
        *by("id", "old", text="mine", request_id="r"),
        *own("id", "old", text="mine"),
    ),
    "memory_pin": by("id", *ONE_MEMORY),
    "memory_alias": by("id", *ONE_MEMORY, names=["mine"]),
    "memory_link": (
        lambda h, o: {"from_id": h.memory, "to_id": h.other, "type": "relates_to"},
        lambda h, o: {"from_id": o.memory, "to_id": h.memory, "type": "explains"},
        lambda h, o: {"from_id": h.memory, "to_id": o.memory, "type": "explains"},
        lambda h, o: {"from_id": o.memory, "to_id": o.new, "type": "explains"},
    ),
    "memory_unlink": (
        lambda h, o: {"from_id": h.memory, "to_id": h.other, "type": "relates_to"},
        lambda h, o: {"from_id": h.memory, "to_id": o.memory, "type": "explains"},
    ),
    "memory_restore": (
        *by("id", *MEMORIES, "old"),
        lambda h, o: {"id": h.deleted[:9]},
        lambda h, o: {"id": o.deleted[:8]},
        *own("id", "deleted", "old"),
    ),
    "memory_promote": (
        *by("id", *MEMORIES, scope="org"),
        lambda h, o: {"id": o.mine, "session": h.session},
        lambda h, o: {"id": o.mine, "scope": "org", "reason": "all should know"},
    ),
    "memory_demote": by("id", *MEMORIES),
    "memory_delete": by("id", *ONE_MEMORY, confirm=True),
    "memory_forget": (
        lambda h, o: {"ids": [h.memory], "confirm": True},
        lambda h, o: {"ids": [h.deleted], "linked": True, "confirm": True},
        lambda h, o: {"ids": [o.mine, h.other], "confirm": True},
    ),
}

CHATLOG: Mapping[str, tuple[Case, ...]] = {
    "chatlog_search": (
        *plain(query="marzipan", explain=True),
        *plain(query="who opens the vault?", explain=True),
        *by("conversation_id", "conversation", query="vault"),
        *own("conversation_id", "conversation", query="vault"),
    ),
    "chatlog_list": (*plain(), *plain(limit=1)),
    "chatlog_show": (
        *by("conversation_id", "conversation", "session"),
        *own("conversation_id", "conversation"),
    ),
    "chatlog_write": (
        *by("conversation_id", "conversation", text=SECRET),
        *by("conversation_id", "conversation", text=SECRET, ordinal=0),
        *own("conversation_id", "conversation", text="and now?"),
    ),
    "chatlog_stats": (
        *plain(),
        *plain(by="conversation", limit=1),
        *by("conversation_id", "conversation", by="day"),
        *own("conversation_id", "conversation", by="host"),
    ),
    "chatlog_promote": (
        *by("id", "turn", "between"),
        lambda h, o: {"id": o.turn, "session": h.session},
        lambda h, o: {"id": o.turn, "scope": "org"},
    ),
}

TASK: Mapping[str, tuple[Case, ...]] = {
    "task_create": (
        *by("parent", "task", title="mine"),
        *by("session", "session", title="mine"),
        lambda h, o: {"title": "mine", "depends_on": [h.task]},
    ),
    "task_claim": by("id", "task", "part"),
    "task_release": by("id", "task"),
    "task_next": (*by("parent", "task"), *by("space", "space"), *plain()),
    "task_assign": by("id", "task", owner="bob"),
    "task_update": (
        *by("id", "task", title="mine"),
        lambda h, o: {"id": o.child, "parent": h.task},
        lambda h, o: {"id": o.child, "depends_on": [h.part]},
        lambda h, o: {"id": o.child, "result_memory": h.memory},
    ),
    "task_start": by("id", "task"),
    "task_block": by("id", "task", reason="mine"),
    "task_complete": (
        *by("id", "task"),
        lambda h, o: {"id": o.child, "result_memory": h.memory},
    ),
    "task_fail": by("id", "task"),
    "task_cancel": by("id", "task"),
    "task_reopen": by("id", "task"),
    "task_get": (*by("id", "task", "child", "part"), *own("id", "task")),
    "task_list": (
        *plain(),
        *plain(limit=1),
        *plain(ready=True, owner="ada"),
        *by("parent", "task"),
        *own("parent", "task"),
        *by("space", "space"),
        *by("session", "session"),
    ),
    "task_tree": (*by("id", "task", "part"), *own("id", "task")),
    "task_delete": by("id", "task", confirm=True),
}

AGENT: Mapping[str, tuple[Case, ...]] = {
    "agent_register": plain(id="ada"),
    "agent_heartbeat": plain(id="ada"),
    "agent_list": plain(),
    "agent_get": plain(id="ada"),
    "agent_offline": plain(id="ada"),
}

MESSAGE: Mapping[str, tuple[Case, ...]] = {
    "message_send": (
        *by("task_id", "task", to="bob", content="mine"),
        *by("thread_id", "message", "reply", to="bob", content="mine"),
        lambda h, o: {"to": "bob", "content": "mine", "context_ids": [h.memory]},
        lambda h, o: {"to": "bob", "content": "mine", "context_ids": [o.mine, h.other]},
    ),
    "message_inbox": (
        *plain(),
        *plain(all=True),
        *plain(limit=1),
        *by("thread_id", "message", "reply"),
        *own("thread_id", "sent", all=True),
    ),
    "message_get": (*by("id", "message", "reply"), *own("id", "sent", "received")),
    "message_thread": (*by("id", "message", "reply"), *own("id", "sent", "received")),
    "message_ack": (
        lambda h, o: {"ids": [h.message]},
        lambda h, o: {"ids": [o.received, h.reply]},
    ),
    "notification_list": plain(all=True),
    "notification_ack": (
        lambda h, o: {"ids": [h.message]},
        lambda h, o: {"ids": [o.notification]},
    ),
    "notification_ack_all": (*by("upto", "message"), *plain()),
}

SESSION: Mapping[str, tuple[Case, ...]] = {
    "session_start": plain(title="mine"),
    "session_join": by("id", "session"),
    "session_get": (*by("id", "session"), *own("id", "session")),
    "session_list": (*plain(), *plain(open=True, limit=1)),
    "session_sweep": (*plain(), *plain(idle_days=1)),
    "session_end": (*by("id", "session"), *own("id", "session")),
}

SPACE: Mapping[str, tuple[Case, ...]] = {
    "space_list": (*plain(), *plain(limit=1)),
    "space_get": (*by("name", "space"), *own("name", "space"), *plain(name="agent:ada")),
    "space_grant": (
        *own("name", "space", agents=["dan"]),
        *plain(name="agent:ada", agents=["bob"]),
    ),
    "space_members": (
        *own("name", "space", add=["eve"]),
        *plain(name="agent:ada", add=["bob"]),
    ),
    "space_revoke": (*by("name", "space", agents=["ada"]), *own("name", "space", agents=["dan"])),
}

SYNC: Mapping[str, tuple[Case, ...]] = {
    "sync_status": plain(),
    "sync_run": plain(),
    "sync_verify": plain(),
    "sync_conflicts_list": plain(),
    "sync_conflicts_show": (*by("id", "memory", "turn"), *own("id", "memory")),
    "sync_conflicts_restore": by("id", "memory", "turn"),
    "sync_quarantine": plain(),
    "sync_explain": (*by("id", *MEMORIES, "task", "edge", "message"), *own("id", "memory")),
}

OPERATOR: Mapping[str, tuple[Case, ...]] = {
    "admin_doctor": plain(),
    "admin_config": plain(),
    "audit_log": (*plain(), *by("row", "memory")),
    "audit_verify": plain(),
}

CASES: Mapping[str, tuple[Case, ...]] = {
    **MEMORY,
    **CHATLOG,
    **TASK,
    **AGENT,
    **MESSAGE,
    **SESSION,
    **SPACE,
    **SYNC,
    **OPERATOR,
}
"""In the order in which they are asked: what ends or deletes the caller's own rows comes last."""

NOTHING_HIDDEN: Mapping[str, str] = {
    "agent_register": "agents are known to all",
    "agent_heartbeat": "agents are known to all",
    "agent_list": "agents are known to all",
    "agent_get": "agents are known to all",
    "agent_offline": "agents are known to all",
    "session_start": "it makes a row and reads none",
    "sync_run": "there is no warehouse here; an agent's report has no counts",
    "memory_write": "it makes a row; by a session's id it is refused",
}
"""Tools whose answers hold nothing of others, with the reason: an operator is told no more."""
