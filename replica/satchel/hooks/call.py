"""What a host says when it runs a hook: one JSON object on stdin, read into a `HookCall`.

Formats: Claude Code, "Hooks reference" (code.claude.com/docs/en/hooks); Codex, the schemas in its
repository (codex-rs/hooks/schema/generated); Gemini CLI, docs/hooks/reference.md. All three say
session_id, transcript_path, cwd and hook_event_name; what else they say differs, and grows.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal, NamedTuple

from satchel.errors import SatchelError, did_you_mean

Host = Literal["claude-code", "codex", "gemini-cli"]
Event = Literal[
    "session-start", "prompt", "stop", "subagent-stop", "compact", "session-end", "other"
]
CALL_BYTES_MAX = 16 * 1024 * 1024
"""A host sends the last answer and more with its call; a longer one is no call of a host."""

_ANTHROPIC: Final[dict[str, Event]] = {
    "SessionStart": "session-start",
    "UserPromptSubmit": "prompt",
    "Stop": "stop",
    "SubagentStop": "subagent-stop",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}
EVENTS: Final[dict[str, dict[str, Event]]] = {
    "claude-code": _ANTHROPIC,
    "codex": {name: event for name, event in _ANTHROPIC.items() if event != "session-end"},
    "gemini-cli": {
        "SessionStart": "session-start",
        "BeforeAgent": "prompt",
        "AfterAgent": "stop",
        "PreCompress": "compact",
        "SessionEnd": "session-end",
    },
}
"""The host's name of a moment -> ours; what is not named here is `other`.

`satchel setup` writes a hook at each of them.
"""
HOSTS: Final = tuple(EVENTS)

_SURROGATES = re.compile("[\ud800-\udfff\0]")


class HookUnreadable(SatchelError):
    """A hook was called with something that is no call of this host."""

    code = "hook_unreadable"


class HookLate(SatchelError):
    """A hook had no answer when its time was over."""

    code = "hook_late"


class HookCall(NamedTuple):
    """One call of a hook; what the host did not say is None."""

    host: str
    event: Event
    host_event: str
    """The moment as the host names it: its answer has to repeat it."""
    session_id: str | None = None
    transcript_path: str | None = None
    cwd: str | None = None
    prompt: str | None = None
    source: str | None = None
    """What began, compacted or ended a session: startup, resume, clear, compact, manual, auto, …"""
    model: str | None = None
    agent_id: str | None = None
    """The sub-agent's own name, where it is one."""
    agent_transcript_path: str | None = None
    """The sub-agent's transcript, beside its parent's."""
    last_message: str | None = None
    """The answer that has just ended; it may not be in the transcript yet."""


def checked_host(name: str) -> str:
    """The name of a host whose hooks are known. Raises HookUnreadable."""
    if name not in EVENTS:
        hint = did_you_mean(name, HOSTS) or f"hooks are known of {', '.join(HOSTS)}"
        raise HookUnreadable(f"no host is called {name!r}", hint=hint, field="hook")
    return name


def read(host: str, raw: bytes) -> HookCall:
    """The call that a host wrote to stdin. Raises HookUnreadable, never shows what was in it."""
    said = _object(checked_host(host), raw)
    host_event = _text(said, "hook_event_name")
    if host_event is None:
        raise _unreadable(host, "it names no hook_event_name")
    return HookCall(
        host=host,
        event=EVENTS[host].get(host_event, "other"),
        host_event=host_event,
        session_id=_text(said, "session_id"),
        transcript_path=_text(said, "transcript_path"),
        cwd=_text(said, "cwd"),
        prompt=_text(said, "prompt"),
        source=_text(said, "source") or _text(said, "trigger") or _text(said, "reason"),
        model=_text(said, "model"),
        agent_id=_text(said, "agent_id"),
        agent_transcript_path=_text(said, "agent_transcript_path"),
        last_message=_text(said, "last_assistant_message") or _text(said, "prompt_response"),
    )


def _object(host: str, raw: bytes) -> dict[str, Any]:
    if len(raw) > CALL_BYTES_MAX:
        raise _unreadable(host, f"it has more than {CALL_BYTES_MAX} bytes")
    try:
        said = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _unreadable(host, f"it is not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _unreadable(host, f"it is no JSON at position {error.pos}") from None
    except RecursionError:
        raise _unreadable(host, "it is nested too deep") from None
    if not isinstance(said, dict):
        raise _unreadable(host, "it is no JSON object")
    return said


def _text(said: dict[str, Any], name: str) -> str | None:
    """A field that is text; lone surrogates and NUL, which nothing here can keep, are replaced."""
    value = said.get(name)
    return _SURROGATES.sub("\ufffd", value) if isinstance(value, str) and value else None


def _unreadable(host: str, why: str) -> HookUnreadable:
    return HookUnreadable(
        f"what stdin held is no hook call of {host}: {why}",
        hint="`--hook` is for the host's own settings; `satchel setup` writes them",
        field="hook",
    )
