"""One call of every tool of the catalog, in an order in which each has what it needs.

A step is a tool, its arguments, and the name under which later steps find the id it answers. The
caller is `bob` in the operator's role. A new tool is entered here: tests over all tools use it.
"""

from __future__ import annotations

from typing import Any

Step = tuple[str, dict[str, Any], str]
STEPS: tuple[Step, ...] = (
    ("memory_write", {"text": "the shed is green"}, "memory"),
    ("memory_write", {"text": "the well is deep", "space": "garden"}, "other"),
    ("memory_update", {"id": "$memory", "title": "shed"}, ""),
    ("memory_pin", {"id": "$memory"}, ""),
    ("memory_alias", {"id": "$memory", "names": ["hut"]}, ""),
    ("memory_link", {"from_id": "$memory", "to_id": "$other", "type": "near"}, ""),
    ("memory_get", {"ids": ["$memory"]}, ""),
    ("memory_search", {"query": "shed"}, ""),
    ("memory_list", {}, ""),
    ("memory_history", {"id": "$memory"}, ""),
    ("memory_graph", {"id": "$memory"}, ""),
    ("memory_stats", {}, ""),
    ("memory_unlink", {"from_id": "$memory", "to_id": "$other", "type": "near"}, ""),
    ("memory_supersede", {"id": "$other", "text": "the well is dry"}, "newer"),
    ("memory_delete", {"id": "$newer", "confirm": True}, ""),
    ("memory_restore", {"id": "$newer"}, ""),
    ("memory_forget", {"ids": ["$newer"], "confirm": True}, ""),
    ("chatlog_write", {"conversation_id": "c1", "text": "hello", "role": "user"}, ""),
    ("chatlog_search", {"query": "hello"}, ""),
    ("chatlog_list", {}, ""),
    ("chatlog_stats", {}, ""),
    ("chatlog_show", {"conversation_id": "c1"}, ""),
    ("agent_register", {"id": "bob"}, ""),
    ("agent_heartbeat", {"id": "bob"}, ""),
    ("agent_get", {"id": "bob"}, ""),
    ("agent_list", {}, ""),
    ("agent_offline", {"id": "bob"}, ""),
    ("message_send", {"to": "bob", "content": "come"}, "message"),
    ("message_inbox", {}, ""),
    ("message_get", {"id": "$message"}, ""),
    ("message_thread", {"id": "$message"}, ""),
    ("message_ack", {"ids": ["$message"]}, ""),
    ("message_send", {"to": "bob", "content": "done", "kind": "notification"}, "notice"),
    ("notification_list", {}, ""),
    ("notification_ack", {"ids": ["$notice"]}, ""),
    ("message_send", {"to": "bob", "content": "all", "kind": "notification"}, ""),
    ("notification_ack_all", {}, ""),
    ("session_start", {"title": "painting"}, "session"),
    ("session_join", {"id": "$session"}, ""),
    ("session_get", {"id": "$session"}, ""),
    ("session_list", {}, ""),
    ("session_end", {"id": "$session"}, ""),
    ("session_start", {"title": "left alone"}, ""),
    ("session_sweep", {"idle_days": 0}, ""),
    ("memory_write", {"text": "the gate is shut", "scope": "agent"}, "own"),
    ("memory_promote", {"id": "$own"}, ""),
    ("memory_demote", {"id": "$own"}, ""),
    ("chatlog_write", {"conversation_id": "c2", "text": "the barn is red"}, "turn"),
    ("chatlog_promote", {"id": "$turn", "scope": "org"}, ""),
    ("space_members", {"name": "yard", "add": ["bob"]}, ""),
    ("space_grant", {"name": "yard", "agents": ["ann"]}, ""),
    ("space_revoke", {"name": "yard", "agents": ["ann"]}, ""),
    ("space_get", {"name": "yard"}, ""),
    ("space_list", {}, ""),
    ("task_create", {"title": "paint"}, "task"),
    ("task_assign", {"id": "$task", "owner": "bob"}, ""),
    ("task_update", {"id": "$task", "priority": 2}, ""),
    ("task_claim", {"id": "$task"}, ""),
    ("task_block", {"id": "$task", "reason": "rain"}, ""),
    ("task_start", {"id": "$task"}, ""),
    ("task_get", {"id": "$task"}, ""),
    ("task_list", {}, ""),
    ("task_tree", {"id": "$task"}, ""),
    ("task_release", {"id": "$task"}, ""),
    ("task_next", {}, ""),
    ("task_complete", {"id": "$task", "result": "painted"}, ""),
    ("task_reopen", {"id": "$task"}, ""),
    ("task_fail", {"id": "$task"}, ""),
    ("task_reopen", {"id": "$task"}, ""),
    ("task_cancel", {"id": "$task"}, ""),
    ("task_delete", {"id": "$task", "confirm": True}, ""),
)


def filled(arguments: dict[str, Any], known: dict[str, str]) -> dict[str, Any]:
    """A step's arguments, with the ids that earlier ones answered."""

    def one(value: Any) -> Any:
        if isinstance(value, list):
            return [one(part) for part in value]
        return known.get(value, value) if isinstance(value, str) else value

    return {name: one(value) for name, value in arguments.items()}
