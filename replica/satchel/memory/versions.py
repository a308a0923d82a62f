"""Promoted versions in the store: kept once for each group of readers, linked, found, undone."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from satchel.errors import Conflict, NotFound
from satchel.memory import view
from satchel.memory.deleted import require_not_forgotten
from satchel.memory.edges import PROMOTED_FROM, edge
from satchel.memory.interval import Moment, answers
from satchel.memory.limits import TIME_MS_MIN
from satchel.memory.lookup import select
from satchel.memory.moments import iso
from satchel.memory.storing import leave_queued, store_new
from satchel.store import rows
from satchel.store.sql import alive
from satchel_sync.digest import derived_id
from satchel_sync.tables import MEMORY, RELATIONSHIP, Memory, Relationship

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

Outcome = Literal["created", "exists", "restored"]
PLACE = {
    "agent": ("agent_id",),
    "session": ("session_id",),
    "space": ("space",),
    "user": ("user_id",),
    "org": (),
}
"""Scope -> the columns that say who its readers are."""
OWNER = ("scope", "space", "session_id", "agent_id", "user_id")


class Kept(NamedTuple):
    """What became of a version; `id` is the memory that its readers see."""

    id: str
    outcome: Outcome
    warnings: list[str]


def version_id(origin: str, version: Memory) -> str:
    """One id for each origin and group of readers: two machines make the same row."""
    return derived_id("promote", origin, version.scope or "", *_readers(version))


def same_readers(one: Memory, other: Memory) -> bool:
    """Whether two memories are seen by the same ones."""
    return (one.scope, _readers(one)) == (other.scope, _readers(other))


def keep(db: Connection, replica: Replica, version: Memory) -> Kept:
    """Inside the write: store a version, unless its readers have the text already.

    Raises Conflict where theirs was superseded since, Refused where it was forgotten.
    """
    now = replica.now_ms()
    twin = _twin(db, version, now)
    if twin is not None:
        return Kept(twin.id, "exists", [])
    held: Memory | None = rows.get(db, MEMORY, version.id)
    if held is None:
        require_not_forgotten(db, "memory", version.id)
        store_new(db, replica, version, None)
        return Kept(version.id, "created", [])
    if view.is_current(held, now):
        return Kept(held.id, "exists", [f"its text differs: `memory update {held.id}` changes it"])
    if held.retired_at is not None and same_readers(held, version):
        raise Conflict(
            f"its version {held.id} was superseded at {iso(held.retired_at)}",
            hint=f"`satchel memory history {held.id}` shows by whom; supersede what is there now",
            field="id",
        )
    columns = (one.name for one in fields(version) if one.name not in ("id", "local"))
    rows.update(db, MEMORY, held.id, **{name: getattr(version, name) for name in columns})
    leave_queued(db, replica, held.id)
    return Kept(held.id, "restored", [])


def link(db: Connection, version: str, origin: str, agent_id: str | None) -> None:
    """Inside the write: say what a version repeats."""
    one = edge(version, origin, PROMOTED_FROM, agent_id=agent_id)
    if rows.get(db, RELATIONSHIP, one.id) is None:
        rows.insert(db, one)


def promotion_of(db: Connection, named: Memory) -> Relationship:
    """The edge from a version to its original, found from either end; what stands comes first.

    Raises NotFound where there is none, Conflict naming the versions where there are several.
    """
    found = _promotions(db, named.id, "true")
    found = [one for one in found if one.from_id == named.id] or found
    if len(found) > 1:
        found = _promotions(db, named.id, "m.retired_at IS NULL") or found[:1]
    if not found:
        raise NotFound(
            f"memory {named.id} is no promoted version, and has none",
            hint=f"`satchel memory graph {named.id}` shows what it is linked with",
            field="id",
        )
    if len(found) > 1:
        raise Conflict(
            f"memory {named.id} was promoted to: {', '.join(str(one.from_id) for one in found)}",
            hint="name the version that is to be taken back",
            field="id",
        )
    return found[0]


def take_back(db: Connection, version: Memory, original: Memory, now_ms: int) -> None:
    """Inside the write: the version belongs to the original's owner, and was never true."""
    never = TIME_MS_MIN if version.valid_from is None else version.valid_from
    rows.update(
        db,
        MEMORY,
        version.id,
        valid_from=never,
        valid_to=never,
        valid_to_was=version.valid_to,
        retired_at=now_ms,
        **{name: getattr(original, name) for name in OWNER},
    )


def _promotions(db: Connection, key: str, which: str) -> list[Relationship]:
    """Edges from versions `m`, to or from this memory."""
    version = f"m.id = t.from_id AND {alive('m')} AND {which}"
    where = f"""t.type = :type AND :key IN (t.from_id, t.to_id) AND {alive("t")}
        AND EXISTS (SELECT 1 FROM memory AS m WHERE {version})"""
    return select(db, Relationship, where, {"type": PROMOTED_FROM, "key": key}, "ORDER BY t.id")


def _twin(db: Connection, version: Memory, now_ms: int) -> Memory | None:
    """The oldest current memory that says the same to the same readers, whoever wrote it."""
    columns = ("scope", "local", "content_hash", *PLACE[version.scope or "org"])
    same = " AND ".join(f"t.{name} IS :{name}" for name in columns)
    params: dict[str, Any] = {name: getattr(version, name) for name in columns}
    where = f"{same} AND {alive('t')} AND {answers('t')}"
    found = select(
        db, Memory, where, {**params, **Moment(now=now_ms).params}, "ORDER BY t.id LIMIT 1"
    )
    return found[0] if found else None


def _readers(memory: Memory) -> tuple[str, ...]:
    return tuple(getattr(memory, name) or "" for name in PLACE.get(memory.scope or "", OWNER))
