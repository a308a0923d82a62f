"""A hook's recall: what matters at this moment of a host's session, given once and traced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from satchel.hooks import project
from satchel.hooks.answer import CONTEXT_EVENTS
from satchel.hooks.lines import Shown, shown
from satchel.memory import audit, recall

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.hooks.call import HookCall
    from satchel.memory.search.hits import Hit
    from satchel.replica import Replica

TRACE = "recall"
"""The name of this kind of read in the audit."""
HELD_SOURCES = frozenset(("resume",))
"""A session that begins so still has in its context what was given before."""
SESSION_MS = 24 * 60 * 60 * 1000


def in_time(settings: Settings) -> Settings:
    """Settings for a hook: an engine that loads for seconds, or asks a server, is left out."""
    from satchel.embedding import is_quick

    if settings.embedding == "off" or is_quick(settings):
        return settings
    return replace(settings, embedding="off")


def for_hook(replica: Replica, call: HookCall, max_tokens: int) -> Shown:
    """What the host's model is given now; each memory once in a session, until it is compacted."""
    if call.event not in CONTEXT_EVENTS:
        return Shown("", [], 0)
    if replica.embedding_state == "cold":  # the model in use is another than the configured one
        replica.settings = replace(replica.settings, embedding="off")
    session = _session(call)
    if call.event == "session-start" and call.source not in HELD_SOURCES:
        replica.activity.not_given(session)
    told = shown(_unseen(replica, call, session), max_tokens)
    if told.hits:
        _trace(replica, told.hits, session)
    return told


def for_text(replica: Replica, prompt: str | None, cwd: str, max_tokens: int) -> Shown:
    """The same for a prompt that somebody typed, or for this folder without one."""
    k = replica.settings.recall_hits
    hits = (
        recall.for_prompt(replica, prompt, k)
        if prompt is not None
        else recall.at_start(replica, project.names(cwd), k)
    )
    told = shown(hits, max_tokens)
    if told.hits:
        _trace(replica, told.hits)
    return told


def _unseen(replica: Replica, call: HookCall, session: str) -> list[Hit]:
    k = replica.settings.recall_hits
    had = replica.activity.given_since(session, replica.now_ms() - SESSION_MS)
    if call.event == "prompt":
        return recall.for_prompt(replica, call.prompt or "", k, had)
    return recall.at_start(replica, project.names(call.cwd), k, had)


def _session(call: HookCall) -> str:
    """Who was given something: this session of this host, beside the callers that tools know."""
    return f"hook:{call.host}:{call.session_id or ''}"


def _trace(replica: Replica, hits: Sequence[Hit], session: str | None = None) -> None:
    """Who was given what, for the audit and for the guard against storing it again.

    It is not counted as a use: what is shown unasked would stay on top for having been shown.
    """
    ids, now = [hit.id for hit in hits], replica.now_ms()
    for caller in (audit.given_to(replica.caller), session):
        if caller is not None:
            replica.activity.given(caller, ids, now)
    audit.record(replica, TRACE, [(hit.kind, hit.id) for hit in hits])
