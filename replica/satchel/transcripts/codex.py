"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, the roll-out of a thread.

A line is `{timestamp, type, payload}`: `session_meta` (the thread, its origin), `turn_context` (the
model from there on), `response_item` (messages, calls of tools and their output), `compacted`,
`event_msg` (of which `token_count` is read). Source: RolloutLine and ResponseItem in the protocol
crate of openai/codex. Roll-outs of 2025 have the items bare, without an envelope.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from satchel.transcripts.draft import (
    TOOL_CHARS_KEPT,
    TOOL_CHARS_READ,
    Draft,
    Usage,
    counted,
    is_ours,
    said,
    tool_metadata,
    tool_text,
)
from satchel.transcripts.pick import (
    Object,
    an_object,
    folder,
    identity,
    moment,
    name,
    parts_text,
    text,
    whole,
)
from satchel.transcripts.records import Record
from satchel.transcripts.turn import Role

HOST: Final = "codex"
ENVELOPES: Final = frozenset(
    {"session_meta", "turn_context", "response_item", "event_msg", "compacted"}
)
_TEXT: Final = frozenset({"input_text", "output_text", "text"})
_OF_THE_HOST: Final = re.compile(
    r"<(?:environment_context|user_instructions|turn_aborted|subagent_notification|skill|"
    r"user_shell_command|permissions instructions|INSTRUCTIONS|hook_prompt)\b"
    r"|# AGENTS\.md instructions"
)
"""How a message begins that goes to the model in the user's name, and no user said."""
_REQUEST: Final = re.compile(
    r"\A# Context from my IDE setup:.*?^## My request for Codex:\s*", re.DOTALL | re.MULTILINE
)


@dataclass(slots=True)
class _Reading:
    """What has been read so far, and what holds from here on."""

    conversation: str
    results: bool
    drafts: list[Draft] = field(default_factory=list)
    provider: str | None = None
    model: str | None = None
    at: int | None = None
    about: Object = field(default_factory=dict)
    known: bool = False
    answered: Draft | None = None
    """The last turn that the model made: the next count of tokens is its."""
    own_calls: set[str] = field(default_factory=set)
    """Calls of satchel's tools: what they answer is remembered already."""
    waiting: Usage | None = None
    counted: Object = field(default_factory=dict)


def parse(records: Iterable[Record], file_id: str, *, results: bool = False) -> list[Draft]:
    """The turns of a roll-out; `results` also those that tools gave. `file_id` is its stem."""
    reading = _Reading(file_id, results)
    for record in records:
        kind, payload = _opened(record.said)
        reading.at = moment(record.said.get("timestamp")) or reading.at
        read = _READERS.get(kind)
        if read is not None:
            read(reading, record.line, payload)
    return reading.drafts


def _opened(said_of: Object) -> tuple[str, Object]:
    """The kind of a line and what it holds; a bare line has its item itself."""
    kind = text(said_of.get("type"))
    if kind in ENVELOPES:
        return kind, an_object(said_of.get("payload"))
    if kind:
        return "response_item", said_of
    return ("session_meta" if "id" in said_of else ""), said_of


def _session(reading: _Reading, line: int, meta: Object) -> None:
    """The first one is the thread's own; a fork repeats that of the thread it comes from."""
    if reading.known:
        return
    reading.known = True
    reading.conversation = identity(meta.get("id")) or reading.conversation
    reading.provider = name(meta.get("model_provider"))
    git, source = an_object(meta.get("git")), an_object(meta.get("source"))
    spawned = an_object(an_object(source.get("subagent")).get("thread_spawn"))
    reading.about = {
        "cwd": folder(meta.get("cwd")),
        "branch": name(git.get("branch")),
        "parent": identity(spawned.get("parent_thread_id")),
        "agent": name(meta.get("agent_role")) or name(meta.get("agent_nickname")),
        "forked_from": identity(meta.get("forked_from_id")),
        "sidechain": True if source.get("subagent") else None,
    }


def _context(reading: _Reading, line: int, context: Object) -> None:
    reading.model = name(context.get("model")) or reading.model
    reading.about["cwd"] = folder(context.get("cwd")) or reading.about.get("cwd")


def _item(reading: _Reading, line: int, item: Object) -> None:
    kind = text(item.get("type"))
    if kind == "message":
        _message(reading, line, item)
    elif kind in _CALLS:
        called, given = _CALLS[kind](item)
        draft = _draft(reading, line, "tool", tool_text(called, given))
        draft.kept_chars_max = TOOL_CHARS_KEPT
        draft.metadata |= tool_metadata(called, item.get("call_id"))
        _answered(reading, draft)
        if is_ours(called, text(item.get("namespace"))):
            reading.own_calls.add(text(item.get("call_id")))
    elif kind in ("function_call_output", "custom_tool_call_output") and reading.results:
        _output(reading, line, item)


def _message(reading: _Reading, line: int, item: Object) -> None:
    role, spoken = item.get("role"), said(parts_text(item.get("content"), _TEXT))
    if role == "user":
        spoken = "" if _OF_THE_HOST.match(spoken) else _REQUEST.sub("", spoken)
        if spoken:
            _draft(reading, line, "user", spoken)
    elif role == "assistant" and spoken:
        _answered(reading, _draft(reading, line, "assistant", spoken))


def _output(reading: _Reading, line: int, item: Object) -> None:
    output = item.get("output")
    if isinstance(output, dict):  # before 2026: {content, success}
        output = output.get("content")
    given = parts_text(output, _TEXT)[:TOOL_CHARS_READ].strip()
    if given and text(item.get("call_id")) not in reading.own_calls:
        draft = _draft(reading, line, "tool", given)
        draft.kept_chars_max = TOOL_CHARS_KEPT
        draft.metadata |= tool_metadata(None, item.get("call_id")) | {"result": True}


def _compacted(reading: _Reading, line: int, told: Object) -> None:
    summary = said(text(told.get("message")))
    if summary:
        _draft(reading, line, "system", summary).metadata["compact"] = True


def _event(reading: _Reading, line: int, event: Object) -> None:
    """A count of tokens belongs to the answer before it; the same count may be told again."""
    info = an_object(event.get("info"))
    if event.get("type") != "token_count" or not info:
        return
    total = an_object(info.get("total_token_usage"))
    last = an_object(info.get("last_token_usage")) or _since(total, reading.counted)
    if total and total == reading.counted:
        return
    reading.counted = total
    usage = Usage(
        read=counted(last, "input_tokens"),
        written=counted(last, "output_tokens"),
        cached=counted(last, "cached_input_tokens"),
    )
    if reading.answered is None:
        reading.waiting = _sum(reading.waiting, usage)
    else:
        reading.answered.usage = _sum(reading.answered.usage, usage)


def _since(total: Object, before: Object) -> Object:
    """What was used since the count before, where only sums are told."""
    return {
        key: max(0, (whole(value) or 0) - (whole(before.get(key)) or 0))
        for key, value in total.items()
    }


def _sum(one: Usage | None, other: Usage) -> Usage:
    if one is not None:
        other.add(one)
    return other


def _answered(reading: _Reading, draft: Draft) -> None:
    draft.model, draft.provider = reading.model, reading.provider or "openai"
    reading.answered = draft
    if reading.waiting is not None:
        draft.usage, reading.waiting = reading.waiting, None


def _draft(reading: _Reading, line: int, role: Role, content: str) -> Draft:
    draft = Draft(
        conversation=reading.conversation,
        role=role,
        text=content,
        line=line,
        said_at=reading.at,
        metadata={key: value for key, value in reading.about.items() if value},
    )
    reading.drafts.append(draft)
    return draft


def _shell(item: Object) -> tuple[str, object]:
    return "shell", an_object(item.get("action")).get("command")


_READERS: Final[dict[str, Callable[[_Reading, int, Object], None]]] = {
    "session_meta": _session,
    "turn_context": _context,
    "response_item": _item,
    "compacted": _compacted,
    "event_msg": _event,
}
_CALLS: Final[dict[str, Callable[[Object], tuple[str, object]]]] = {
    "function_call": lambda item: (name(item.get("name")) or "tool", item.get("arguments")),
    "custom_tool_call": lambda item: (name(item.get("name")) or "tool", item.get("input")),
    "local_shell_call": _shell,
    "web_search_call": lambda item: ("web_search", item.get("action")),
}
