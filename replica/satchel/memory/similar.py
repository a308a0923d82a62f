"""What is near in meaning to a new memory, and which of it the new one may replace.

Near is the cosine of two short texts by the exact index; of a long text nothing is replaced. What
differs is read from the words (difference.py). The scan runs in a snapshot before the write; inside
the write only its finds, and what other processes stored meanwhile, are looked at again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, sees, select
from satchel.memory.shared_words import folded, long_words, most_are_in
from satchel_sync.tables import Embedding, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.difference import Difference
    from satchel.replica import Replica

REPLACED_ABOVE = 0.92
"""The cosine over which a text that says the same, or the contrary, takes the other's place."""
TOLD_ABOVE = 0.75
"""The cosine over which the same words with another number, date or name are told of: of a short
text one number makes a third."""
LOOKED_AT = 8
TOLD_MAX = 5


class Near(NamedTuple):
    """What a scan found: rows, and the change of the vectors up to which it looked."""

    rows: tuple[int, ...]
    change: int
    model_id: str
    dims: int
    vector: bytes


class Likeness(NamedTuple):
    """A memory that says nearly the same."""

    memory: Memory
    cosine: float
    differs: Difference

    def told(self) -> dict[str, Any]:
        """As the answer of a write shows it."""
        return {"id": self.memory.id, "score": self.cosine, "differs": self.differs}

    def reason(self) -> str:
        """Why it was replaced, for its history."""
        return f"{self.differs}, similarity {self.cosine:.4f}"


def scan(replica: Replica, draft: Memory, made: Sequence[Embedding] | None) -> Near | None:
    """The nearest memories of the same type and owner; None where there is no vector to compare."""
    if not made:
        return None
    from satchel.embedding.vectors import of_model
    from satchel.vectors.source import SOURCES  # without a vector nothing of it is needed

    where, params = _comparable(replica, draft)
    with replica.store.read() as db:
        own = of_model(made, replica.standing(db).in_use)
        one = own[0]
        if len(own) > 1 or one.vector is None or one.model is None or one.dims is None:
            return None
        change = db.execute(SOURCES["memory"].newest).get or 0
        rows = replica.vectors.nearest(
            db,
            replica.caller,
            "memory",
            one.model,
            one.dims,
            one.vector,
            LOOKED_AT,
            where,
            params,
        )
    return Near(tuple(rows), change, one.model, one.dims, one.vector)


def likenesses(
    db: Connection, replica: Replica, draft: Memory, near: Near | None
) -> list[Likeness]:
    """Inside the write: those near enough, nearest first, as they are now."""
    if near is None:
        return []
    rows = [*near.rows, *_stored_since(db, near)]
    chunks = replica.vectors.chunks(
        db, "memory", near.model_id, near.dims, near.vector, list(dict.fromkeys(rows))
    )
    close = {row: one.cosine for row, one in chunks.items() if one.cosine > TOLD_ABOVE}
    if not close:
        return []
    where, params = _comparable(replica, draft)
    numbers = {"rows": json.dumps(list(close))}
    source = f"t.row IN (SELECT value FROM json_each(:rows)) AND {where}"
    held = select(db, Memory, source, {**params, **numbers})
    found = (_likeness(one, draft, close[_row(db, one)]) for one in held)
    enough = [one for one in found if one is not None]
    return sorted(enough, key=lambda one: (-one.cosine, one.memory.id))


def _likeness(held: Memory, draft: Memory, cosine: float) -> Likeness | None:
    """How the two differ, None where that is no news."""
    from satchel.memory.difference import difference  # few writes have anything near

    old, new = _said(held, draft), _said(draft, held)
    near = cosine > REPLACED_ABOVE
    if held.content_hash == draft.content_hash:
        return None
    if not near and not most_are_in(long_words(old), folded(new)):
        return None
    differs = difference(old, new)
    return Likeness(held, cosine, differs) if near or differs not in ("words", "order") else None


def replaced(
    db: Connection, replica: Replica, draft: Memory, found: Sequence[Likeness]
) -> Likeness | None:
    """The one memory that the new one takes the place of, if it may."""
    if replica.settings.memory_supersede == "off" or not (draft.agent_id or draft.user_id):
        return None
    return next((one for one in found if _gives_way(db, replica, one, draft)), None)


def _gives_way(db: Connection, replica: Replica, found: Likeness, draft: Memory) -> bool:
    """Near enough, of the same author, not pinned, and no less sure or lasting than the new one."""
    from satchel.memory.difference import REPLACING

    old = found.memory
    return (
        found.cosine > REPLACED_ABOVE
        and found.differs in REPLACING
        and not old.pinned
        and old.retired_at is None  # it may hold until the day on which another one begins
        and (old.agent_id, old.user_id) == (draft.agent_id, draft.user_id)
        and _of_the_same(old, draft)
        and _starts_later(old, draft)
        and _lasts_as_long(old, draft)
        and _is_as_sure(old, draft)
        and sees(db, replica.caller, "memory", old.id, "write")
    )


def _of_the_same(old: Memory, draft: Memory) -> bool:
    """Whether nothing beside the texts says that they are about two things."""
    return old.source == draft.source and old.metadata == draft.metadata


def _starts_later(old: Memory, draft: Memory) -> bool:
    """What was true before the other began says nothing of its end."""
    return old.valid_from is None or (draft.valid_from or 0) >= old.valid_from


def _lasts_as_long(old: Memory, draft: Memory) -> bool:
    """A note for a day never ends what was to last."""
    if draft.expires_at is None:
        return True
    return old.expires_at is not None and draft.expires_at >= old.expires_at


def _is_as_sure(old: Memory, draft: Memory) -> bool:
    """Whether the new one does not say that it is less sure."""
    return draft.confidence is None or draft.confidence >= (old.confidence or 0.0)


def _comparable(replica: Replica, draft: Memory) -> tuple[str, dict[str, Any]]:
    """SQL: visible memories of the same type in the same place that hold now; its parameters."""
    where = f"""t.type IS :draft_type AND t.scope IS :draft_scope AND t.local IS :draft_local
        AND t.space IS :draft_space AND t.session_id IS :draft_session
        AND (t.scope NOT IN ('agent', 'user') OR t.user_id IS :draft_user)
        AND (t.scope IS NOT 'agent' OR t.agent_id IS :draft_agent)
        AND {can_see(replica.caller, "memory")} AND {answers("t")}"""
    params = {
        **replica.caller.params,
        **Moment(now=replica.now_ms()).params,
        "draft_type": draft.type,
        "draft_scope": draft.scope,
        "draft_local": draft.local,
        "draft_space": draft.space,
        "draft_session": draft.session_id,
        "draft_user": draft.user_id,
        "draft_agent": draft.agent_id,
    }
    return where, params


def _stored_since(db: Connection, near: Near) -> list[int]:
    """Memories whose vectors came or changed since the scan."""
    from satchel.vectors.source import SOURCES, params_of

    params = {**params_of(near.model_id, near.dims), "counter": near.change}
    found = db.execute(SOURCES["memory"].changes, params)
    return [row for _, row, *_ in found if isinstance(row, int)]


def _row(db: Connection, memory: Memory) -> int:
    return int(db.execute("SELECT row FROM memory WHERE id = ?", (memory.id,)).get)


def _said(one: Memory, other: Memory) -> str:
    """The text, below its title where both have one."""
    content = one.content or ""
    return f"{one.title}\n{content}" if one.title and other.title else content
