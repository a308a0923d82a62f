"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.json` or `.jsonl`.

The older form is one document, `{sessionId, projectHash, startTime, messages}`. The newer one has
that head on the first line, then a message a line; a message is written again, with the same `id`,
when its tools have run or its tokens are known, and `{"$set": …}` changes the head, its messages
included. `{"$rewindTo": id}` takes messages back, which were said all the same. Source:
chatRecordingService and chatRecordingTypes in google-gemini/gemini-cli.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    compact,
    identity,
    moment,
    name,
    objects,
    parts_text,
)
from satchel.transcripts.records import Record
from satchel.transcripts.turn import Role

HOST: Final = "gemini-cli"
_TEXT: Final = frozenset({"text"})
_HOOKS: Final = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
"""What hooks added to a message; recall is one of them."""
_OF_THE_HOST: Final = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
_SUMMARY: Final = "<state_snapshot>"
"""How the summary begins that stands for a history that was compressed."""


@dataclass(slots=True)
class _Message:
    """A message: where it was first written, with what its later versions added."""

    line: int
    said: Object


@dataclass(slots=True)
class _Reading:
    file_id: str
    head: Object = field(default_factory=dict)
    messages: dict[str, _Message] = field(default_factory=dict)


def parse(records: Iterable[Record], file_id: str, *, results: bool = False) -> list[Draft]:
    """The turns of a chat; `results` also those that tools gave. `file_id` is its stem."""
    reading = _Reading(file_id)
    for record in records:
        changed = record.said.get("$set")
        if isinstance(changed, dict):
            _head(reading, record.line, changed)
        elif "sessionId" in record.said or "messages" in record.said:
            _head(reading, record.line, record.said)
        else:
            _keep(reading, record.line, record.said)
    return [draft for one in reading.messages.values() for draft in _drafts(reading, one, results)]


def _head(reading: _Reading, line: int, head: Object) -> None:
    reading.head |= {key: value for key, value in head.items() if key != "messages"}
    for message in objects(head.get("messages")):
        _keep(reading, line, message)


def _keep(reading: _Reading, line: int, message: Object) -> None:
    """Add a message, or what a later version of it has; its text stays the first one."""
    key = identity(message.get("id")) or f"line {line}.{len(reading.messages)}"
    held = reading.messages.get(key)
    if held is None:
        reading.messages[key] = _Message(line, dict(message))
        return
    kept = {key: held.said[key] for key in ("content", "timestamp") if held.said.get(key)}
    held.said |= message | kept


def _drafts(reading: _Reading, one: _Message, results: bool) -> Iterable[Draft]:
    kind = one.said.get("type")
    if kind == "user":
        shown = one.said.get("displayContent") or one.said.get("content")
        spoken = said(_HOOKS.sub("", parts_text(shown, _TEXT)))
        if spoken and not spoken.startswith(_OF_THE_HOST):
            is_summary = spoken.startswith(_SUMMARY)
            draft = _draft(reading, one, "system" if is_summary else "user", spoken)
            if is_summary:
                draft.metadata["compact"] = True
            yield draft
    elif kind == "gemini":
        made = list(_answer(reading, one, results))
        for draft in made:
            draft.model, draft.provider = name(one.said.get("model")), "google"
        if made and isinstance(one.said.get("tokens"), dict):
            made[0].usage = _usage(one.said["tokens"])
        yield from made


def _answer(reading: _Reading, one: _Message, results: bool) -> Iterable[Draft]:
    spoken = said(parts_text(one.said.get("content"), _TEXT))
    if spoken:
        yield _draft(reading, one, "assistant", spoken)
    for call in objects(one.said.get("toolCalls")):
        called = name(call.get("name")) or "tool"
        yield _tool(reading, one, call, tool_text(called, call.get("args")), called)
        given = _given(call)[:TOOL_CHARS_READ].strip() if results and not is_ours(called) else ""
        if given:
            draft = _tool(reading, one, call, given, None)
            draft.metadata["result"] = True
            yield draft


def _tool(
    reading: _Reading, one: _Message, call: Object, content: str, called: str | None
) -> Draft:
    draft = _draft(reading, one, "tool", content)
    draft.said_at = moment(call.get("timestamp")) or draft.said_at
    draft.kept_chars_max = TOOL_CHARS_KEPT
    draft.metadata |= tool_metadata(called, call.get("id"))
    if call.get("status") == "error":
        draft.metadata["error"] = True
    return draft


def _given(call: Object) -> str:
    """What a tool answered: the output in its function responses."""
    shown: list[str] = []
    for part in objects(call.get("result")):
        response = an_object(an_object(part.get("functionResponse")).get("response"))
        output = response.get("output") or response.get("error")
        shown.append(output if isinstance(output, str) else compact(output))
    return "\n".join(one for one in shown if one)


def _usage(told: Object) -> Usage:
    """`input` counts the cached ones; thoughts are written, and told apart from the answer."""
    return Usage(
        read=counted(told, "input", "tool"),
        written=counted(told, "output", "thoughts"),
        cached=counted(told, "cached"),
    )


def _draft(reading: _Reading, one: _Message, role: Role, content: str) -> Draft:
    draft = Draft(
        conversation=identity(reading.head.get("sessionId")) or reading.file_id,
        role=role,
        text=content,
        line=one.line,
        said_at=moment(one.said.get("timestamp")) or moment(reading.head.get("startTime")),
    )
    if reading.head.get("kind") == "subagent":
        draft.metadata["sidechain"] = True
    return draft
