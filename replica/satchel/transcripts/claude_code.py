"""Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, a record of the conversation a line.

The format is not documented by its maker; this is what its files show. A record is `{type: user |
assistant, uuid, sessionId, timestamp, cwd, gitBranch, isSidechain, message: {role, content}}`. One
answer of the model comes as several records with one `message.id`, a content block each, and each
repeats the answer's `usage`. A sub-agent's records have `isSidechain`, and an `agentId` where they
lie in a file of their own.
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
    dollars,
    folder,
    identity,
    moment,
    name,
    objects,
    parts_text,
    text,
)
from satchel.transcripts.records import Record
from satchel.transcripts.turn import Role

HOST: Final = "claude-code"
_TEXT: Final = frozenset({"text"})
_REMINDER: Final = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
_COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS: Final = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_OF_THE_HOST: Final = re.compile(
    r"<(?:local-command-|bash-|task-notification|user-memory-input|command-)"
    r"|\[Request interrupted by user"
)
"""How a user's record begins that no user said."""


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    file_id: str
    results: bool
    drafts: list[Draft] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    answers: dict[str, Draft] = field(default_factory=dict)
    """By `message.id`: the first turn of an answer; it carries what the answer took."""
    own_calls: set[str] = field(default_factory=set)
    """Calls of satchel's tools: what they answer is remembered already."""


def parse(records: Iterable[Record], file_id: str, *, results: bool = False) -> list[Draft]:
    """The turns of a transcript; `results` also those that tools gave. `file_id` is its stem."""
    reading = _Reading(file_id, results)
    for record in records:
        read = _READERS.get(text(record.said.get("type")))
        if read is not None and not _is_known(reading, record.said):
            read(reading, record)
    return reading.drafts


def _is_known(reading: _Reading, said_of: Object) -> bool:
    """Whether the record is there already: hosts repeat some when they compact."""
    key = identity(said_of.get("uuid"))
    if key is None or said_of.get("isMeta") is True:
        return said_of.get("isMeta") is True
    if key in reading.seen:
        return True
    reading.seen.add(key)
    return False


def _user(reading: _Reading, record: Record) -> None:
    if not _is_human(record.said):
        return
    content = an_object(record.said.get("message")).get("content")
    summary = record.said.get("isCompactSummary") is True
    spoken = _spoken(parts_text(content, _TEXT))
    if spoken:
        draft = _draft(reading, record, "system" if summary else "user", spoken)
        if summary:
            draft.metadata["compact"] = True
    for block in objects(content) if reading.results else ():
        if block.get("type") == "tool_result":
            _result(reading, record, block)


def _queued(reading: _Reading, record: Record) -> None:
    """What the user typed while the model was at work; it becomes no record of a user."""
    attached = an_object(record.said.get("attachment"))
    is_prompt = attached.get("commandMode") in (None, "prompt") and _is_human(attached)
    if attached.get("type") == "queued_command" and is_prompt:
        spoken = _spoken(parts_text(attached.get("prompt"), _TEXT))
        if spoken:
            _draft(reading, record, "user", spoken)


def _is_human(said_of: Object) -> bool:
    """Newer versions tell where the words of a user come from; what is unknown may be a user's."""
    return an_object(said_of.get("origin")).get("kind") not in ("task-notification", "system")


def _spoken(given: str) -> str:
    """What the user said: a command of theirs as it was typed, nothing that the host put there."""
    command = _COMMAND.search(given)
    if command:
        arguments = _ARGUMENTS.search(given)
        words = arguments[1].strip() if arguments else ""
        return said(f"{command[1].strip()} {words}") if words else ""
    spoken = said(_REMINDER.sub("", given))
    return "" if _OF_THE_HOST.match(spoken) else spoken


def _assistant(reading: _Reading, record: Record) -> None:
    message = an_object(record.said.get("message"))
    if record.said.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return
    content = message.get("content")
    made: list[Draft] = []
    spoken = said(parts_text(content, _TEXT))
    if spoken:
        made.append(_draft(reading, record, "assistant", spoken))
    for block in objects(content):
        if block.get("type") == "tool_use":
            called = name(block.get("name")) or "tool"
            draft = _draft(reading, record, "tool", tool_text(called, block.get("input")))
            draft.kept_chars_max = TOOL_CHARS_KEPT
            draft.metadata |= tool_metadata(called, block.get("id"))
            made.append(draft)
            if is_ours(called):
                reading.own_calls.add(text(block.get("id")))
    for draft in made:
        draft.model, draft.provider = name(message.get("model")), "anthropic"
    _count(reading, record, message, made)


def _count(reading: _Reading, record: Record, message: Object, made: list[Draft]) -> None:
    """Give an answer's usage to the first of its turns, once."""
    usage = _usage(an_object(message.get("usage")), record.said.get("costUSD"))
    key = identity(message.get("id"))
    first = reading.answers.get(key) if key else None
    if first is None and made:
        first = made[0]
        if key:
            reading.answers[key] = first
    if first is not None and usage is not None:
        if first.usage is None:
            first.usage = usage
        else:
            first.usage.raise_to(usage)


def _usage(told: Object, cost: object) -> Usage | None:
    if not told and cost is None:
        return None
    cached, cache_written = "cache_read_input_tokens", "cache_creation_input_tokens"
    return Usage(
        read=counted(told, "input_tokens", cached, cache_written),
        written=counted(told, "output_tokens"),
        cached=counted(told, cached),
        cache_written=counted(told, cache_written),
        cost=dollars(cost),
    )


def _result(reading: _Reading, record: Record, block: Object) -> None:
    given = parts_text(block.get("content"), _TEXT)[:TOOL_CHARS_READ].strip()
    if given and text(block.get("tool_use_id")) not in reading.own_calls:
        draft = _draft(reading, record, "tool", given)
        draft.kept_chars_max = TOOL_CHARS_KEPT
        draft.metadata |= tool_metadata(None, block.get("tool_use_id")) | {"result": True}
        if block.get("is_error") is True:
            draft.metadata["error"] = True


def _draft(reading: _Reading, record: Record, role: Role, content: str) -> Draft:
    said_of = record.said
    session = identity(said_of.get("sessionId")) or reading.file_id
    agent = identity(said_of.get("agentId"))
    original = identity(an_object(said_of.get("forkedFrom")).get("sessionId"))
    metadata = {"cwd": folder(said_of.get("cwd")), "branch": name(said_of.get("gitBranch"))}
    draft = Draft(
        conversation=original or session,  # a fork repeats what was said before it
        role=role,
        text=content,
        line=record.line,
        said_at=moment(said_of.get("timestamp")),
        metadata={key: value for key, value in metadata.items() if value},
    )
    if agent or said_of.get("isSidechain") is True:
        draft.metadata |= {"parent": draft.conversation, "sidechain": True}
        draft.conversation += f":{agent or 'sidechain'}"
        kind = text(said_of.get("attributionAgent")) or text(said_of.get("agentType"))
        if kind:
            draft.metadata["agent"] = name(kind)
    reading.drafts.append(draft)
    return draft


_READERS: Final[dict[str, Callable[[_Reading, Record], None]]] = {
    "user": _user,
    "assistant": _assistant,
    "attachment": _queued,
}
