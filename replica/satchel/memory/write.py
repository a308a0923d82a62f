"""Writing a memory: check it, embed it where the model is warm, decide what it is, store it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from satchel.memory import given, ownership, similar, text
from satchel.memory.guard import guarded
from satchel.memory.interval import Moment, answers
from satchel.memory.limits import ALIASES_MAX
from satchel.memory.lookup import can_see, sees, select
from satchel.memory.merging import TYPE_DEFAULT, merge
from satchel.memory.ownership import Owner
from satchel.memory.storing import EmbeddingOutcome as EmbeddingOutcome
from satchel.memory.storing import Written as Written
from satchel.memory.storing import (
    embed_now,
    embedding_of,
    give_vectors,
    store_new,
    unchanged,
)
from satchel.memory.storing import leave_queued as leave_queued
from satchel.memory.supersede import BY_SIMILARITY, take_place
from satchel.store import rows
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apsw import Connection

    from satchel.memory.similar import Likeness, Near
    from satchel.replica import Replica
    from satchel_sync.tables import Embedding


@dataclass(frozen=True, slots=True)
class Draft:
    """A checked memory that is not stored yet, whose it is to be, and what to tell its writer."""

    memory: Memory
    owner: Owner
    warnings: list[str]
    from_now: bool
    """Whether nobody said since when it is true."""

    def at(self, now_ms: int) -> Memory:
        """As it is stored at this time: who waited for the lock comes after who had it."""
        since = now_ms if self.from_now else self.memory.valid_from
        return replace(self.memory, recorded_at=now_ms, valid_from=since)


@dataclass(frozen=True, slots=True)
class Around:
    """What was found out about a draft before the transaction, so that no lock waits for it."""

    made: Sequence[Embedding] | None
    near: Near | None
    given: frozenset[str]


class Columns(TypedDict, total=False):
    """What may be said beside the text; times are UTC milliseconds."""

    title: str | None
    type: str | None
    scope: str | None
    space: str | None
    session: str | None
    importance: float | None
    confidence: float | None
    pinned: bool
    valid_from: int | None
    expires_at: int | None
    source: str | None
    metadata: Mapping[str, Any] | str | None
    aliases: list[str] | None
    local: bool
    agent: str | None


def write(replica: Replica, content: str, **columns: Unpack[Columns]) -> Written:
    """Keep a text, once: what becomes of it is told by `Written.outcome`.

    The same normalised text in the same place, still current, is not kept twice, nor what this
    caller was just given; a text that rewords or denies one of the same author takes its place.
    Times are UTC milliseconds. Raises InvalidInput, NotFound (a session or closed space), Refused.
    """
    draft = drafted(replica, content, **columns)
    around = looked(replica, draft.memory, embed_now(replica, draft.memory))
    with replica.store.write(replica.actor) as db:
        return kept(db, replica, draft, around)


def drafted(
    replica: Replica,
    content: str,
    *,
    title: str | None = None,
    type: str | None = None,  # noqa: A002 - the column's name
    scope: str | None = None,
    space: str | None = None,
    session: str | None = None,
    importance: float | None = None,
    confidence: float | None = None,
    pinned: bool = False,
    valid_from: int | None = None,
    expires_at: int | None = None,
    source: str | None = None,
    metadata: Mapping[str, Any] | str | None = None,
    aliases: list[str] | None = None,
    local: bool = False,
    agent: str | None = None,
) -> Draft:
    """Check what is to be written, as `write` takes it. Raises what that raises."""
    caller = replica.caller
    owner = ownership.decide(caller, scope=scope, space=space, session=session, agent=agent)
    owner = _whole_session(replica, owner)
    now = replica.now_ms()
    valid_from = text.time_ms(valid_from, "valid_from")
    content, told = given.without_recall(replica, text.content(content))
    said = guarded(
        replica.settings.memory_secrets,
        "memory.secrets",
        {
            "content": content,
            "title": text.optional_text(title, "title"),
            "source": text.optional_text(source, "source"),
            "metadata": text.json_object(metadata),
            "aliases": text.json_list(text.names(aliases, "aliases")),
        },
    )
    memory = Memory(
        id=rows.new_id(now),
        type=text.name(TYPE_DEFAULT if type is None else type, "type"),
        scope=owner.scope,
        agent_id=owner.agent_id,
        user_id=owner.user_id,
        session_id=owner.session_id,
        space=owner.space,
        local=text.flag(local, "local"),
        importance=text.share(importance, "importance"),
        confidence=text.share(confidence, "confidence"),
        pinned=text.flag(pinned, "pin"),
        valid_from=now if valid_from is None else valid_from,
        recorded_at=now,
        expires_at=text.time_ms(expires_at, "expires_at"),
        content_hash=text.content_hash(said.columns["content"]),
        **said.columns,
    )
    warnings = [*told, *said.warnings, *_warnings(memory, now)]
    return Draft(memory, owner, warnings, valid_from is None)


def looked(replica: Replica, memory: Memory, made: Sequence[Embedding] | None) -> Around:
    """What is near to a draft, and what this caller was given lately."""
    return Around(made, similar.scan(replica, memory, made), given.to_caller(replica))


def kept(db: Connection, replica: Replica, draft: Draft, around: Around) -> Written:
    """Inside the write: decide what the draft is to what is here, and store what it adds."""
    memory = draft.at(replica.now_ms())
    ownership.settle(db, replica.caller, draft.owner, local=memory.local is not None)
    twin = _twin(db, replica, memory, dated=not draft.from_now)
    if twin is not None:
        return _merged(db, replica, twin, draft, around)
    echo = given.echoed(db, replica, memory, around.given) if draft.from_now else None
    if echo is not None:
        return unchanged(db, replica, echo, [*draft.warnings, _ECHO, *_left_out(echo, memory)])
    found = similar.likenesses(db, replica, memory, around.near)
    old = similar.replaced(db, replica, memory, found)
    if old is None:
        embedding = store_new(db, replica, memory, around.made)
    else:
        memory = _heir(old.memory, memory)
        same = (memory.title, memory.aliases) == (draft.memory.title, draft.memory.aliases)
        note = {"reason": old.reason(), "by": BY_SIMILARITY}
        made = around.made if same else None  # vectors are of title and aliases too
        embedding = take_place(db, replica, old.memory, memory, made, note)
    return _stored(memory, old, found, embedding, draft.warnings)


_ECHO = (
    "you were given this text within the last day: it is not stored again as new knowledge;"
    " `memory update` changes it, `memory promote` shows it to others"
)


def _heir(old: Memory, new: Memory) -> Memory:
    """The new memory with what the old one had beside its text, where it says nothing else."""
    aliases = dict.fromkeys([*text.stored_list(new.aliases), *text.stored_list(old.aliases)])
    return replace(
        new,
        supersedes=old.id,
        title=new.title or old.title,
        importance=old.importance if new.importance is None else new.importance,
        aliases=text.json_list(list(aliases)) if len(aliases) <= ALIASES_MAX else new.aliases,
    )


_KEEPS = "it keeps its {}: `memory update {}` changes it"
LAYOUTS_MAX = 32
"""Memories of the same words whose lines are compared."""


def _stored(
    memory: Memory,
    old: Likeness | None,
    found: Sequence[Likeness],
    embedding: EmbeddingOutcome,
    warnings: list[str],
) -> Written:
    others = [one for one in found if one is not old][: similar.TOLD_MAX]
    return Written(
        id=memory.id,
        outcome="created" if old is None else "superseded",
        superseded=[] if old is None else [old.memory.id],
        similar=[one.told() for one in others],
        embedding=embedding,
        warnings=warnings,
    )


def _merged(
    db: Connection, replica: Replica, twin: Memory, draft: Draft, around: Around
) -> Written:
    """The text is here: what came with it is added where it fits, and named where it does not."""
    changes, names = merge(twin, draft.memory, of_its_own=twin.id not in around.given)
    warnings = [_KEEPS.format(one, twin.id) for one in names]
    if not changes or not sees(db, replica.caller, "memory", twin.id, "write"):
        return unchanged(db, replica, twin, [*draft.warnings, *warnings])
    rows.update(db, MEMORY, twin.id, **changes)
    embedding = embedding_of(db, replica, twin.id)
    if changes.keys() & {"title", "aliases"}:
        held = replace(twin, **changes)
        embedding = give_vectors(db, replica, held, around.made)
    return Written(
        id=twin.id,
        outcome="merged",
        superseded=[],
        similar=[],
        embedding=embedding,
        warnings=[*draft.warnings, *warnings],
    )


def _left_out(held: Memory, draft: Memory) -> list[str]:
    """What came with an echo and was not stored."""
    changes, names = merge(held, draft, of_its_own=False)
    return [_KEEPS.format(one, held.id) for one in [*changes, *names]]


def _twin(db: Connection, replica: Replica, draft: Memory, *, dated: bool) -> Memory | None:
    """The current memory with this text in this place: of the same author first, then the oldest.

    What agents share is one: in a space, a session, about a user or for all, another author's
    memory of the same text is the twin. An agent's own rows are its own. What happened on another
    day (`dated`) is another memory, and so is the same code in other lines.
    """
    where = f"""t.content_hash = :hash AND t.scope IS :scope AND t.local IS :local
        AND t.session_id IS :session_id AND t.space IS :space
        AND (t.scope NOT IN ('agent', 'user') OR t.user_id IS :user_id)
        AND (t.scope IS NOT 'agent' OR t.agent_id IS :agent_id)
        AND (NOT :dated OR t.valid_from IS :valid_from)
        AND {can_see(replica.caller, "memory")} AND {answers("t")}"""
    params = {
        **replica.caller.params,
        **Moment(now=replica.now_ms()).params,
        "hash": draft.content_hash,
        "scope": draft.scope,
        "agent_id": draft.agent_id,
        "user_id": draft.user_id,
        "session_id": draft.session_id,
        "space": draft.space,
        "local": draft.local,
        "dated": 1 if dated else 0,
        "valid_from": draft.valid_from,
    }
    order = f"ORDER BY t.agent_id IS :agent_id DESC, t.id LIMIT {LAYOUTS_MAX}"
    found = select(db, Memory, where, params, order)
    return next((o for o in found if text.same_layout(o.content or "", draft.content or "")), None)


def _whole_session(replica: Replica, owner: Owner) -> Owner:
    """The owner with the whole id of its session. Raises NotFound, AmbiguousId, Refused."""
    if owner.session_id is None:
        return owner
    with replica.store.read() as db:
        return ownership.placed(db, replica.caller, owner)


def _warnings(draft: Memory, now_ms: int) -> list[str]:
    """What a writer may not have meant."""
    found = []
    if draft.expires_at is not None and draft.expires_at <= now_ms:
        found.append("it has already expired: no search will show it")
    if draft.valid_from is not None and draft.valid_from > now_ms:
        found.append("it becomes valid in the future: until then no search will show it")
    return found
