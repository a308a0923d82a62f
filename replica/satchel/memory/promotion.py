"""Promotion: what one agent or group knows, given to more; with where it came from, and back.

A promoted version is a row of its own, linked with the memory that it repeats; promoting twice, or
on two machines, makes one. Demoting takes it back from those it was given to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from satchel.errors import Conflict, InvalidInput
from satchel.memory import ownership, text, versions, view
from satchel.memory.guard import Guarded, guarded
from satchel.memory.lookup import find_to_change
from satchel.memory.merging import TYPE_DEFAULT
from satchel.memory.moments import iso
from satchel.memory.versions import Kept
from satchel.store import rows
from satchel_sync.subjects import origins
from satchel_sync.tables import MEMORY, Chatlog, Memory

if TYPE_CHECKING:
    from satchel.memory.ownership import Owner
    from satchel.replica import Replica

WIDER = ("session", "space", "user", "org")
PROMOTED = "promoted"
"""Key in a version's metadata: what it repeats, who promoted it, when and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    """`id` is what the readers see, `from_id` the memory or turn that it repeats.

    `exists`: they have this text already; `restored`: it was demoted or had expired.
    """

    id: str
    from_id: str
    outcome: versions.Outcome
    scope: str | None
    space: str | None
    session_id: str | None
    warnings: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demoted:
    """`id` is the version that was taken back; deleted where the original is gone."""

    id: str
    from_id: str | None
    outcome: Literal["retracted", "deleted"]


def promote(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    scope: str | None = None,
    space: str | None = None,
    session: str | None = None,
    reason: str | None = None,
) -> Promoted:
    """Give a memory to more readers: a linked version in another scope, space or session.

    Without a scope: the given space or session, else `org`. The original stays as it is. Raises
    NotFound, Refused (not the caller's to give), Conflict (no longer current, or the version was
    superseded), InvalidInput.
    """
    owner = _target(replica, scope, space, session)
    said = _guarded(replica, reason=text.optional_text(reason, "reason"))
    with replica.store.write(replica.actor) as db:
        held = find_to_change(db, replica.caller, Memory, id)
        _require_current(replica, held)
        placed = ownership.placed(db, replica.caller, owner)
        settled = ownership.settle(db, replica.caller, placed, local=held.local is not None)
        version = _version(replica, held, settled, said.columns["reason"])
        kept = versions.keep(db, replica, version)
        if kept.id == version.id:
            versions.link(db, kept.id, held.id, replica.caller.agent_id)
    return _promoted(replica, held.id, version, kept, said)


def promote_turn(
    replica: Replica,
    id: str,  # noqa: A002
    *,
    content: str | None = None,
    title: str | None = None,
    type: str | None = None,  # noqa: A002
    scope: str | None = None,
    space: str | None = None,
    session: str | None = None,
    reason: str | None = None,
) -> Promoted:
    """Make a memory of a chat turn: its text, or `content` in its place; valid since it was said.

    Without a scope, space or session its readers are those of the turn. Raises NotFound, Refused
    (the turn is not the caller's to give), Conflict, InvalidInput.
    """
    owner = _target(replica, scope, space, session) if scope or space or session else None
    said = _guarded(
        replica,
        content=None if content is None else text.content(content),
        title=text.optional_text(title, "title"),
        reason=text.optional_text(reason, "reason"),
    )
    kind = text.name(TYPE_DEFAULT if type is None else type, "type")
    with replica.store.write(replica.actor) as db:
        turn = find_to_change(db, replica.caller, Chatlog, id)
        settled = _owner_of(turn)
        if owner is not None:
            placed = ownership.placed(db, replica.caller, owner)
            settled = ownership.settle(db, replica.caller, placed)
        version = replace(_of_turn(replica, turn, settled, said.columns), type=kind)
        kept = versions.keep(db, replica, version)
    return _promoted(replica, turn.id, version, kept, said)


def demote(replica: Replica, id: str) -> Demoted:  # noqa: A002
    """Take a promoted version back; named by its own id, or by that of its original.

    Afterwards it is seen by those who see the original, and no search shows it; twice changes
    nothing. The link stays: where an edit on another machine outdoes this, it is done once more.
    Raises NotFound, Refused, Conflict (several versions, or superseded since).
    """
    with replica.store.write(replica.actor) as db:
        link = versions.promotion_of(db, find_to_change(db, replica.caller, Memory, id))
        version = find_to_change(db, replica.caller, Memory, link.from_id)
        original = rows.get(db, MEMORY, link.to_id or "")
        if original is None:
            rows.delete(db, MEMORY, version.id)
            return Demoted(id=version.id, from_id=None, outcome="deleted")
        if version.retired_at is None:
            versions.take_back(db, version, original, replica.now_ms())
        elif not versions.same_readers(version, original):
            raise Conflict(
                f"memory {version.id} was superseded at {iso(version.retired_at)}",
                hint="what came after it is another's word; `memory restore` takes that back",
                field="id",
            )
    return Demoted(id=version.id, from_id=original.id, outcome="retracted")


def _target(replica: Replica, scope: str | None, space: str | None, session: str | None) -> Owner:
    """Who gets it. Raises InvalidInput for a scope that is no wider than an agent's own."""
    if scope is None:
        scope = "space" if space else "session" if session else "org"
    text.one_of(scope, WIDER, "scope")
    return ownership.decide(replica.caller, scope=scope, space=space, session=session)


def _guarded(replica: Replica, **given: str | None) -> Guarded:
    return guarded(replica.settings.memory_secrets, "memory.secrets", given)


def _version(replica: Replica, held: Memory, owner: Owner, reason: str | None) -> Memory:
    """The memory as others are to see it; its author stays the author."""
    origin = {"kind": "memory", "id": held.id, "scope": held.scope, "agent": held.agent_id}
    version = replace(
        held,
        scope=owner.scope,
        space=owner.space,
        session_id=owner.session_id,
        user_id=held.user_id or owner.user_id,
        metadata=_provenance(replica, held.metadata, origin, reason),
        recorded_at=replica.now_ms(),
        pinned=None,
        supersedes=None,
    )
    if held.scope == "org" or versions.same_readers(held, version):
        raise InvalidInput(
            f"memory {held.id} is seen by all of those already",
            hint="promote it to a wider scope, another space or session",
            field="scope",
        )
    return replace(version, id=versions.version_id(held.id, version))


def _of_turn(replica: Replica, turn: Chatlog, owner: Owner, said: dict[str, Any]) -> Memory:
    content = said["content"] or text.content(turn.content)
    hashed = text.content_hash(content)
    place = {"conversation_id": turn.conversation_id, "ordinal": turn.ordinal, "role": turn.role}
    origin = {"kind": "chatlog", "id": turn.id, **place}
    version = Memory(
        id="",
        title=said["title"],
        content=content,
        content_hash=hashed,
        metadata=_provenance(replica, None, origin, said["reason"]),
        source=f"chatlog {turn.conversation_id} #{turn.ordinal}",
        scope=owner.scope,
        agent_id=owner.agent_id,
        user_id=owner.user_id,
        session_id=owner.session_id,
        space=owner.space,
        valid_from=turn.said_at,
        recorded_at=replica.now_ms(),
    )
    return replace(version, id=versions.version_id(f"{turn.id} {hashed}", version))


def _owner_of(turn: Chatlog) -> Owner:
    session = turn.conversation_id if turn.scope == "session" else None
    return ownership.Owner(turn.scope or "", turn.agent_id, turn.user_id, session, turn.space)


def _provenance(
    replica: Replica, metadata: str | None, origin: dict[str, Any], reason: str | None
) -> str | None:
    """The metadata with what is repeated, by whom, when and why; `through`: what that repeats."""
    through = list(origins(json.dumps({PROMOTED: text.stored_object(metadata).get(PROMOTED)})))
    origin |= {"through": through} if through else {}
    told = {**origin, "by": replica.actor, "at": iso(replica.now_ms()), "reason": reason}
    known = {name: value for name, value in told.items() if value is not None}
    return text.json_object({**text.stored_object(metadata), PROMOTED: known})


def _require_current(replica: Replica, held: Memory) -> None:
    if not view.is_current(held, replica.now_ms()):
        raise Conflict(
            f"memory {held.id} is no longer current",
            hint=f"`satchel memory history {held.id}` shows what came after it",
            field="id",
        )


def _promoted(
    replica: Replica, origin: str, version: Memory, kept: Kept, said: Guarded
) -> Promoted:
    if kept.outcome != "exists" and replica.embedding_state == "warm":
        from satchel.embedding.queue import drain

        drain(replica, only=[kept.id], quick=True)
    return Promoted(
        id=kept.id,
        from_id=origin,
        outcome=kept.outcome,
        scope=version.scope,
        space=version.space,
        session_id=version.session_id,
        warnings=said.warnings + kept.warnings,
    )
