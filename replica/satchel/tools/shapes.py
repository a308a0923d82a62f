"""What each tool answers: keys, types, rows by their kind; `schemas.py` tells how to read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from satchel.tools.schemas import Row, Schema, annotated, schema

_MADE = {"id": "text", "outcome": "text"}
_MEMORY = Row("memory", {"kind": "text", "current": "boolean"})
_CHANGED = Row("memory", {"kind": "text", "current": "boolean", "warnings?": ["text"]})
_TASK = Row(
    "task",
    {
        "kind": "text",
        "waits_for": ["text"],
        "ready": "boolean",
        "leased": "boolean",
        "stale": "boolean",
        "parent_cut": "text?",
    },
)
_AGENT = Row(
    "agent",
    {
        "state": "text",
        "alive": "boolean",
        "alive_until": "text?",
        "lease_s": "number?",
        "outcome?": "text",
    },
)
_MESSAGE = Row("message", {"outcome?": "text"})
_INBOX = {"items": [_MESSAGE], "unread": "integer", "timed_out?": "boolean"}
_SESSION = Row("session")
_SPACE = Row("space", {"open": "boolean"})
_ACKED = {"items": [{"id": "text", "acked_at": "text?"}]}
_LOST = {
    **dict.fromkeys(("kind", "key", "version", "winner", "path", "at"), "text"),
    "content": "object",
}
_REPORT = {"ok": "boolean", "exit": "integer"}

SHAPES: Mapping[str, Any] = {
    "memory_get": {
        "items": ["object"],
        "missing": ["text"],
    },
    "memory_list": {"items": [_MEMORY], "next": "text?", "notices?": ["text"]},
    "memory_update": _CHANGED,
    "memory_pin": _CHANGED,
    "memory_alias": _CHANGED,
    "memory_restore": _MEMORY,
    "memory_delete": _MADE,
    "memory_forget": {"certificate": "object", "linked": ["text"]},
    "memory_history": {
        "id": "text",
        "kind": "text",
        "items": [
            {
                "event": "text",
                "at": "text?",
                "actor": "text?",
                "changes": "object",
                "diff?": "object",
                "reason?": "text",
            }
        ],
    },
    "memory_stats": {
        **dict.fromkeys(("memories", "current", "ended", "pinned", "local"), "integer"),
        **dict.fromkeys(("by_type", "by_scope", "by_space", "by_agent"), "object"),
        **dict.fromkeys(("chatlog_rows", "relationship_rows", "task_rows"), "integer"),
        **dict.fromkeys(("content_bytes", "embedding_rows", "embedding_queue"), "integer"),
    },
    "memory_link": Row("relationship", {"outcome": "text"}),
    "memory_unlink": _MADE,
    "memory_graph": {
        "root": "text",
        "nodes": [
            {
                "id": "text",
                "distance": "integer",
                "current": "boolean",
                **dict.fromkeys(("title", "type", "scope", "space", "agent_id"), "text?"),
                "recorded_at": "text?",
            }
        ],
        "edges": [Row("relationship")],
        "truncated": "boolean",
    },
    "memory_demote": {"id": "text", "from_id": "text?", "outcome": "text"},
    "chatlog_write": {
        **_MADE,
        "conversation_id": "text",
        "ordinal": "integer",
        "redactions": "integer",
    },
    "chatlog_list": {
        "items": [
            {
                "conversation_id": "text",
                "turns": "integer",
                **dict.fromkeys(("opened_at", "said_at", "host_agent"), "text?"),
            }
        ],
        "next": "text?",
    },
    "chatlog_show": {"conversation_id": "text", "items": [Row("chatlog")]},
    "chatlog_stats": {
        "items": ["object"],
        "total": "object",
        "unpriced": ["any"],
        "notices": ["text"],
    },
    **dict.fromkeys(
        (
            *("task_create", "task_claim", "task_assign", "task_update", "task_start"),
            *("task_block", "task_complete", "task_fail", "task_cancel", "task_reopen"),
            *("task_get", "task_release"),
        ),
        _TASK,
    ),
    "task_list": {"items": [_TASK], "total": "integer"},
    "task_tree": Row("task", {**_TASK.beside, "children": ["object"], "truncated": "boolean"}),
    "task_next": {"task": "object?"},
    "task_delete": _MADE,
    **dict.fromkeys(("agent_register", "agent_heartbeat", "agent_get", "agent_offline"), _AGENT),
    "agent_list": {"items": [_AGENT]},
    **dict.fromkeys(("message_send", "message_get"), _MESSAGE),
    "message_inbox": _INBOX,
    "message_thread": {"items": [_MESSAGE]},
    "message_ack": _ACKED,
    "notification_list": _INBOX,
    "notification_ack": _ACKED,
    "notification_ack_all": {"acked": "integer"},
    **dict.fromkeys(("session_start", "session_join", "session_get", "session_end"), _SESSION),
    "session_list": {"items": [_SESSION]},
    "session_sweep": {"ended": ["text"], "refreshed": ["text"]},
    **dict.fromkeys(("space_get", "space_grant", "space_revoke", "space_members"), _SPACE),
    "space_list": {"items": [_SPACE], "next": "text?"},
    "sync_run": _REPORT,
    "sync_verify": _REPORT,
    "sync_status": {
        "replica_id": "text",
        **dict.fromkeys(("hub_id", "last_sync", "reconcile_due", "stuck"), "text?"),
        "lag_s": "number?",
        **dict.fromkeys(("pending?", "audit_pending?", "audit_refused?"), "object"),
        "quarantined?": "integer",
        "conflicts?": "integer",
        "oldest_unsent_s?": "number?",
        "last_report?": "object?",
    },
    "sync_conflicts_list": {"items": [_LOST]},
    "sync_conflicts_show": {**_LOST, "lost": "object", "held": "object?", "differs": "object"},
    "sync_conflicts_restore": {**_MADE, "kind": "text", "restored": "text"},
    "sync_quarantine": {
        "items": [
            {"kind": "text", "key": "text", "column": "text?", "reason": "text", "at": "text"}
        ]
    },
    "sync_explain": {
        **dict.fromkeys(("kind", "id", "is", "state", "why", "version", "written_by"), "text"),
        **dict.fromkeys(("written_at", "last_exchanged", "last_exchanged_written_at"), "text?"),
        "builds_on": "integer",
        "conflicts": "integer",
        "restamped": "boolean",
    },
    "admin_doctor": {
        "ok": "boolean",
        "checks": [
            dict.fromkeys(("name", "ok", "what", "found", "why", "fix"), "text")
            | {"fixable": "boolean"}
        ],
    },
    "admin_config": {
        "settings": [
            {
                "value": "any",
                "environment": ["text"],
                **dict.fromkeys(("setting", "origin", "help"), "text"),
            }
        ]
    },
    "audit_log": {
        "items": [
            {
                "at": "text",
                "chain": "text",
                "seq": "integer",
                "action": "text",
                **dict.fromkeys(("actor?", "tool?", "replica_id?"), "text?"),
                "rows?": ["text"],
                "more?": "integer",
                "detail?": "object",
                "maybe?": "boolean",
            }
        ]
    },
    "audit_verify": {
        "ok": "boolean",
        "chains": [
            {
                "chain": "text",
                "replica_id": "text",
                "current": "boolean",
                "ok": "boolean",
                **dict.fromkeys(("records", "first", "last"), "integer"),
                **dict.fromkeys(("from", "to", "head"), "text?"),
                "broken": "object?",
            }
        ],
        "changed_rows": ["text"],
    },
}
"""Tool -> its shape, where the tool does not answer a dataclass, which says it all."""


@cache
def schema_of(name: str, answer: Any) -> Schema:
    """The JSON schema of a tool's answer; `answer` is the annotation of what it returns."""
    if name in SHAPES:
        return schema(SHAPES[name])
    if dataclasses.is_dataclass(answer):
        return annotated(answer)
    return {"type": "object"}
