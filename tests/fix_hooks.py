"""What hosts write to a hook's stdin, in the formats that each documents."""

from __future__ import annotations

import json
from typing import Any

COMMON = {"session_id": "5b1f", "transcript_path": "/home/una/talk.jsonl", "cwd": "/srv/acme"}
CLAUDE_CODE: dict[str, dict[str, Any]] = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup", "model": "opus"},
    "prompt": {
        "hook_event_name": "UserPromptSubmit",
        "permission_mode": "default",
        "prompt": "How do we deploy?",
    },
    "stop": {"hook_event_name": "Stop", "stop_hook_active": False},
    "subagent-stop": {
        "hook_event_name": "SubagentStop",
        "stop_hook_active": False,
        "agent_id": "a1",
        "agent_transcript_path": "/home/una/a1.jsonl",
    },
    "compact": {
        "hook_event_name": "PreCompact",
        "trigger": "manual",
        "custom_instructions": "keep the plan",
    },
    "session-end": {"hook_event_name": "SessionEnd", "reason": "clear"},
    "other": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}},
}
CODEX: dict[str, dict[str, Any]] = {
    "session-start": {
        "hook_event_name": "SessionStart",
        "model": "gpt-6",
        "permission_mode": "default",
        "source": "startup",
        "transcript_path": None,
    },
    "prompt": {
        "hook_event_name": "UserPromptSubmit",
        "model": "gpt-6",
        "permission_mode": "acceptEdits",
        "prompt": "How do we deploy?",
        "turn_id": "7",
    },
    "stop": {
        "hook_event_name": "Stop",
        "model": "gpt-6",
        "permission_mode": "default",
        "turn_id": "7",
        "stop_hook_active": False,
        "last_assistant_message": "Done.",
    },
    "compact": {"hook_event_name": "PreCompact", "trigger": "auto", "turn_id": "7"},
}
GEMINI_CLI: dict[str, dict[str, Any]] = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "prompt": {"hook_event_name": "BeforeAgent", "prompt": "How do we deploy?"},
    "stop": {
        "hook_event_name": "AfterAgent",
        "prompt": "How?",
        "prompt_response": "So.",
        "stop_hook_active": False,
    },
    "compact": {"hook_event_name": "PreCompress", "trigger": "auto"},
    "session-end": {"hook_event_name": "SessionEnd", "reason": "exit"},
}
CALLS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "gemini-cli": GEMINI_CLI}
MOMENTS = [(host, event) for host, calls in CALLS.items() for event in calls]


def call(host: str, event: str, **said: Any) -> bytes:
    """One call of a host's hook, as it writes it; `said` stands above the sample."""
    stamp = {"timestamp": "2026-11-30T08:00:00.000Z"} if host == "gemini-cli" else {}
    return json.dumps({**COMMON, **stamp, **CALLS[host][event], **said}).encode()
