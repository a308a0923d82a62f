"""What a second write of the same text adds to the memory that holds it: gaps, and a voice.

What was left open is filled, what was said otherwise stays and is told. Another agent, user or
source that says the same of its own accord corroborates it: its confidence rises, and the voice is
listed under `corroborated_by` in the metadata, so that it counts once on every machine.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from satchel.memory.limits import ALIASES_MAX, JSON_BYTES_MAX
from satchel.memory.text import json_list, stored_list
from satchel_sync.tables import Memory

VOICES = "corroborated_by"
VOICES_MAX = 50
SAID_ONCE = 0.5
"""The confidence of a voice that does not say how sure it is."""
FILLED = ("title", "source", "importance", "confidence", "expires_at")
TYPE_DEFAULT = "note"


class Merge(NamedTuple):
    """Columns to set on the memory that is held, and names of what it keeps instead."""

    changes: dict[str, Any]
    kept: list[str]


def merge(held: Memory, draft: Memory, *, of_its_own: bool) -> Merge:
    """What `draft`, which has the same text, adds to `held`.

    `of_its_own` is false where the writer was just given `held`: an echo is no second voice.
    """
    voice = _voice(held, draft) if of_its_own else None
    changes, kept = _filled(held, draft, of_its_own=of_its_own, corroborates=voice is not None)
    aliases = dict.fromkeys((*stored_list(held.aliases), *stored_list(draft.aliases)))
    if len(aliases) > len(stored_list(held.aliases)) and len(aliases) <= ALIASES_MAX:
        changes["aliases"] = json_list(list(aliases))
    if draft.pinned and not held.pinned:
        changes["pinned"] = draft.pinned
    metadata, differ = _metadata(held.metadata, draft.metadata, voice)
    if metadata != held.metadata:
        changes["metadata"] = metadata
    if voice is not None:
        changes["confidence"] = corroborated(held.confidence, draft.confidence)
    return Merge(changes, kept + differ)


def corroborated(held: float | None, said: float | None) -> float:
    """The confidence after one more voice: 1 - (1 - a)(1 - b), which is noisy-or.

    Pearl, Probabilistic Reasoning in Intelligent Systems, 1988, chapter 4.3: independent causes,
    each enough. Rounded to four places, so that the order of two voices makes no other bytes.
    """
    a = SAID_ONCE if held is None else held
    b = SAID_ONCE if said is None else said
    return round(1 - (1 - a) * (1 - b), 4)


def _filled(
    held: Memory, draft: Memory, *, of_its_own: bool, corroborates: bool
) -> tuple[dict[str, Any], list[str]]:
    changes: dict[str, Any] = {}
    kept: list[str] = []
    for name in FILLED:
        have, given = getattr(held, name), getattr(draft, name)
        if name == "expires_at" and given is None and have is not None and of_its_own:
            changes[name] = None  # said again without an end: it is to last
        if given in (None, have) or (corroborates and name in ("source", "confidence")):
            continue
        if _may_change(name, have, given):
            changes[name] = given
        else:
            kept.append(name)
    if draft.type not in (TYPE_DEFAULT, held.type):
        kept.append("type")
    return changes, kept


def _may_change(name: str, have: Any, given: Any) -> bool:
    """A gap is filled; an end is only put off, for a memory without one was to last."""
    if name == "expires_at":
        return have is not None and given > have
    return have is None


def _voice(held: Memory, draft: Memory) -> dict[str, str] | None:
    """Who says it, where that is neither who wrote it nor one of those who said it since."""
    who = {"agent": draft.agent_id} if draft.agent_id else {"user": draft.user_id}
    voice = {**who, **({"source": draft.source} if draft.source else {})}
    said = {key: value for key, value in voice.items() if value is not None}
    first = {"agent": held.agent_id} if held.agent_id else {"user": held.user_id}
    voices = [first | ({"source": held.source} if held.source else {}), *_voices(held.metadata)]
    new_who = all(one.get(key) != said.get(key) for one in voices for key in who)
    new_source = draft.source is not None and all(
        one.get("source") != draft.source for one in voices
    )
    known_source = any(one.get("source") is not None for one in voices)
    if not said or len(voices) > VOICES_MAX:
        return None
    return said if new_who or (new_source and known_source) else None


def _voices(metadata: str | None) -> list[dict[str, Any]]:
    found = _object(metadata)
    listed = found.get(VOICES) if found is not None else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _metadata(
    held: str | None, draft: str | None, voice: dict[str, str] | None
) -> tuple[str | None, list[str]]:
    """The held object with the keys that it lacks; it stays as it is, to the byte, without any."""
    have, given = _object(held), _object(draft) or {}
    if have is None:
        return held, ["metadata"] if given else []
    given = {name: value for name, value in given.items() if name != VOICES}
    new: dict[str, Any] = {name: given[name] for name in given if name not in have}
    differ = [f"metadata {name!r}" for name in given if name in have and have[name] != given[name]]
    if voice is not None:
        new[VOICES] = [*_voices(held), voice]
    if not new:
        return held, differ
    merged = json.dumps({**have, **new}, ensure_ascii=False, separators=(",", ":"))
    if len(merged.encode()) > JSON_BYTES_MAX:
        return held, [*differ, "metadata"]
    return merged, differ


def _object(stored: str | None) -> dict[str, Any] | None:
    """The stored object, None for what somebody wrote there by hand and is none."""
    if stored is None:
        return {}
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
