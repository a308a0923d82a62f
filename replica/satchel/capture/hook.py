"""A host's call at the end of a turn, before it compacts, or when a session ends."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.capture.files import Target, require_turns
from satchel.capture.keep import Captured, capture
from satchel.hooks.call import HookCall, HookUnreadable
from satchel.transcripts.draft import said
from satchel.transcripts.finding import beside, of_session
from satchel.transcripts.pick import identity, text
from satchel.transcripts.reading import read

if TYPE_CHECKING:
    from satchel.replica import Replica
    from satchel.transcripts.turn import Transcript

FLUSH_WAIT_S = 0.5
"""How long a hook waits for the answer that it is called about."""
FLUSH_STEP_S = 0.02
ENDS = ("session-start", "session-end", "prompt")
"""Moments at which a transcript may not be there: nothing was said in it yet."""


def notified(host: str, given: str) -> HookCall:
    """The call of Codex's older `notify`, which gives its JSON as the last word of the command.

    It names the thread only: `{"type": "agent-turn-complete", "thread-id": …}`. Raises
    HookUnreadable, never shows what was in it.
    """
    try:
        told = json.loads(given)
    except (ValueError, RecursionError):
        told = None
    session = identity(told.get("thread-id")) if isinstance(told, dict) else None
    if session is None or host != "codex":
        raise HookUnreadable(
            "what was typed behind `--hook` is no notification of codex",
            hint="`notify` in Codex's config.toml adds it; other hooks write to stdin",
            field="hook",
        )
    return HookCall(host=host, event="stop", host_event=text(told.get("type")), session_id=session)


def capture_call(
    replica: Replica, call: HookCall, target: Target, environment: Mapping[str, str]
) -> Captured:
    """Keep what the session's transcript holds, and those of its sub-agents.

    What cannot be read is raised after the rest was kept. Raises TranscriptUnreadable and what
    `capture` raises.
    """
    captured, failure = Captured(), None
    for number, path in enumerate(_paths(call, environment)):
        try:
            last = call.last_message if number == 0 else None  # the others are of sub-agents
            found = _settled(call.host, path, target, last)
            for transcript in _with_origins(found, target, environment):
                turns = transcript.turns
                captured.add(capture(replica, turns, scope=target.scope, space=target.space))
                require_turns(transcript, path)
        except Exception as error:  # noqa: BLE001 (raised below: one file must not hold up others)
            failure = failure or error
    if failure is not None:
        raise failure
    return captured


def _settled(host: str, path: Path, target: Target, last: str | None) -> Transcript:
    """The transcript with the answer that has just ended, if it comes in time.

    Claude Code calls before the end of it is written (its issues 15812 and 40655); what comes later
    is kept by the next call.
    """
    size, transcript = _size(path), _read(host, path, target)
    until = time.monotonic() + FLUSH_WAIT_S
    while not _has_last(transcript, last) and time.monotonic() < until:
        time.sleep(FLUSH_STEP_S)
        if _size(path) != size:
            size, transcript = _size(path), _read(host, path, target)
    return transcript


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # reading it tells why
        return 0


def _has_last(transcript: Transcript, message: str | None) -> bool:
    message = said(message or "")
    if not message:
        return True
    answers = (one.content for one in reversed(transcript.turns) if one.role == "assistant")
    last = next(answers, "")
    return bool(last) and (last in message or message in last)


def _with_origins(
    transcript: Transcript, target: Target, environment: Mapping[str, str]
) -> Iterator[Transcript]:
    """The transcripts of threads that this one was forked from, the first one first, then this.

    What a fork repeats is told from what was said in it by what is kept of its origin.
    """
    chain, seen = [transcript], set[str | None]((None,))
    while (origin := _origin(chain[-1])) not in seen:
        seen.add(origin)
        paths = of_session(transcript.host, str(origin), environment)
        if not paths:
            break
        chain.append(_read(transcript.host, paths[0], target))
    yield from reversed(chain)


def _origin(transcript: Transcript) -> str | None:
    origin = transcript.turns[0].metadata.get("forked_from") if transcript.turns else None
    return origin if isinstance(origin, str) else None


def _read(host: str, path: Path, target: Target) -> Transcript:
    return read(path, host, results=target.results, follow=False)


def _paths(call: HookCall, environment: Mapping[str, str]) -> list[Path]:
    """The transcripts to read. A host that keeps none says null, or names a file never written."""
    if call.agent_transcript_path is not None:
        return [Path(call.agent_transcript_path)]
    if call.transcript_path is None:
        session = call.session_id if call.host == "codex" else None
        return of_session(call.host, session, environment) if session else []
    path = Path(call.transcript_path)
    if call.event in ENDS and not path.exists():
        return []
    return [path, *beside(call.host, path, call.session_id)]
