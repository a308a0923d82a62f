"""From a note to the memory that it becomes: checked as a write is, its id made from its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.importing.target import Target, owner_of
from satchel.importing.values import time_ms
from satchel.memory import text
from satchel.memory.guard import guarded
from satchel.memory.merging import TYPE_DEFAULT
from satchel.memory.ownership import Owner
from satchel_sync.digest import derived_id, text_hash
from satchel_sync.tables import Memory

if TYPE_CHECKING:
    from satchel.importing.records import Note
    from satchel.replica import Replica

IMPORT = "import"
"""Key of the metadata under which is kept where a memory came from, and the digest of it there."""
DIGEST_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as it would be written, for `owner` who is not settled yet, and what to tell."""

    memory: Memory
    owner: Owner
    digest: str
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Origin:
    """The format, and the name of the source where its refs are unique within it only."""

    format: str
    source: str


def draft_of(replica: Replica, note: Note, origin: Origin, target: Target) -> Draft:
    """Check a note and make its memory. Raises InvalidInput, Refused."""
    now = replica.now_ms()
    owner = owner_of(note, target, replica.caller)
    columns = _columns(note, target, now)
    said: dict[str, Any] = {
        "content": text.content(note.content),
        "title": text.optional_text(note.title, "title"),
        "source": text.optional_text(target.source, "source") or origin.format,
        "aliases": text.json_list(text.names(list(note.aliases), "aliases")),
    }
    origin_of = {"format": origin.format, "record": note.name or note.ref}
    said["metadata"] = text.json_object({**note.metadata, IMPORT: origin_of})
    checked = guarded(replica.settings.memory_secrets, "memory.secrets", said)
    digest = _digest(checked.columns, columns, note)
    checked.columns["metadata"] = with_digest(checked.columns["metadata"], digest)
    memory = Memory(
        id=_id(origin, text.content(note.ref, "id"), owner, target),
        scope=owner.scope,
        agent_id=owner.agent_id,
        user_id=owner.user_id,
        session_id=owner.session_id,
        space=owner.space,
        local=text.flag(target.local, "local"),
        recorded_at=now,
        content_hash=text.content_hash(checked.columns["content"]),
        **columns,
        **checked.columns,
    )
    return Draft(memory, owner, digest, checked.warnings)


def _columns(note: Note, target: Target, now: int) -> dict[str, Any]:
    """What is no text of a memory; an interval that ends before it begins is empty."""
    valid_from = time_ms(note.valid_from, "valid_from")
    valid_from = now if valid_from is None else valid_from
    valid_to = time_ms(note.valid_to, "valid_to")
    return {
        "type": text.name(target.type or note.type or TYPE_DEFAULT, "type"),
        "importance": text.share(note.importance, "importance"),
        "confidence": text.share(note.confidence, "confidence"),
        "pinned": text.flag(note.pinned, "pinned"),
        "valid_from": valid_from,
        "valid_to": None if valid_to is None else max(valid_to, valid_from),
        "retired_at": now if note.replaced and valid_to is not None else None,
        "expires_at": time_ms(note.expires_at, "expires_at"),
    }


def digest_of(metadata: str | None) -> str | None:
    """The digest that a memory's metadata keeps of its source, or None."""
    try:
        kept = json.loads(metadata or "{}").get(IMPORT)
    except (ValueError, AttributeError, RecursionError):
        return None
    found = kept.get("digest") if isinstance(kept, dict) else None
    return found if isinstance(found, str) else None


def with_digest(metadata: str | None, digest: str) -> str | None:
    """The metadata with the digest of what it was imported from."""
    try:
        held = json.loads(metadata or "{}")
    except (ValueError, RecursionError):
        return metadata  # as a hand may have left it
    if not isinstance(held, dict):
        return metadata
    kept = held.get(IMPORT)
    kept = kept if isinstance(kept, dict) else {}
    return text.json_object({**held, IMPORT: {**kept, "digest": digest}})


def _id(origin: Origin, ref: str, owner: Owner, target: Target) -> str:
    """The same source for the same owner makes the same memory, however often it is imported."""
    whose = (owner.agent_id, owner.user_id, owner.session_id, owner.space)
    local = "local" if target.local else ""
    parts = (origin.format, origin.source, ref, owner.scope, *(one or "" for one in whose), local)
    return derived_id("import", *parts)


def _digest(said: Mapping[str, Any], columns: Mapping[str, Any], note: Note) -> str:
    """By which a record that changed in the source is told; the time of an import is not in it.

    Of the text as it is stored: a hash of a secret that was taken out of it could be guessed at.
    """
    seen = {**columns, **said, "valid_from": note.valid_from, "valid_to": note.valid_to}
    return text_hash(json.dumps(seen | {"retired_at": note.replaced}, sort_keys=True, default=str))[
        :DIGEST_DIGITS
    ]
