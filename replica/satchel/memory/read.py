"""Reading memories: by id, as a list, and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.errors import NotFound
from satchel.memory import audit, paging, text, view
from satchel.memory.interval import Moment, answers
from satchel.memory.limits import IDS_MAX, LIST_ROWS_DEFAULT, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, find, select
from satchel.memory.search import notices
from satchel.memory.search.filters import Filter
from satchel_sync.tables import Chatlog, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


def get(replica: Replica, ids: Sequence[str]) -> dict[str, Any]:
    """Memories (or chat turns) in full, in the order asked for: `{items, missing}`.

    Raises AmbiguousId, or InvalidInput for an id that is too short.
    """
    items: list[dict[str, Any]] = []
    missing: list[str] = []
    with replica.store.read() as db:
        for given in text.names(ids, "ids", IDS_MAX):
            try:
                items.append(_one(db, replica, given))
            except NotFound:
                missing.append(given)
    given_rows = [(item.get("kind", "memory"), item["id"]) for item in items]
    audit.record(replica, "get", given_rows, recalled=True)
    return {"items": items, "missing": missing}


def _one(db: Connection, replica: Replica, given: str) -> dict[str, Any]:
    try:
        return view.memory(find(db, replica.caller, Memory, given), replica.now_ms())
    except NotFound:
        return {"kind": "chatlog", **view.plain(find(db, replica.caller, Chatlog, given))}


def list_memories(
    replica: Replica,
    *,
    type: str | None = None,  # noqa: A002 - the column's name
    scope: str | None = None,
    space: str | None = None,
    spaces: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    session: str | None = None,
    as_of: int | None = None,
    known_at: int | None = None,
    since: int | None = None,
    until: int | None = None,
    superseded: bool = False,
    limit: int = LIST_ROWS_DEFAULT,
    after: str | None = None,
) -> dict[str, Any]:
    """Memories, the newest first: `{items, next}`; `superseded` shows those that ended too.

    With `notices` where a filter asks for what this caller cannot be given.
    """
    limit = text.whole(limit, "limit", 1, LIST_ROWS_MAX)
    now = replica.now_ms()
    wanted = Filter.of(
        now,
        type=type,
        scope=scope,
        spaces=[*(spaces or ()), *([space] if space else ())] or None,
        agents=agents,
        session=session,
        as_of=as_of,
        known_at=known_at,
        since=since,
        until=until,
        any_time=superseded,
    )
    where, params = "true", {}
    if after is not None:
        recorded_at, key = paging.unpack(after, int, str)
        where = "(coalesce(t.recorded_at, 0), t.id) < (:recorded, :key)"
        params = {"recorded": recorded_at, "key": key}
    with replica.store.read() as db:
        wanted = wanted.settled(db, replica.caller)
        told = notices.of_filters(db, replica.caller, wanted)
        found = select(
            db,
            Memory,
            f"{wanted.memory_sql(replica.caller)} AND {where}",
            {**replica.caller.params, **wanted.params, **params, "limit": limit + 1},
            "ORDER BY coalesce(t.recorded_at, 0) DESC, t.id DESC LIMIT :limit",
        )
    page = found[:limit]
    audit.record(replica, "list", [("memory", row.id) for row in page])
    more = len(found) > limit
    return {
        "items": [view.memory(row, now) for row in page],
        "next": paging.pack(page[-1].recorded_at or 0, page[-1].id) if more else None,
        **({"notices": told} if told else {}),
    }


def stats(replica: Replica) -> dict[str, Any]:
    """How much this caller sees: memories by type, scope, space and agent; other kinds."""
    now = replica.now_ms()
    params = {**replica.caller.params, **Moment(now=now).params}
    seen = can_see(replica.caller, "memory")
    with replica.store.read() as db:
        numbers: tuple[Any, ...] = db.execute(
            f"""SELECT count(*), coalesce(sum({answers("t")}), 0), count(t.pinned),
                       count(t.local), coalesce(sum(length(CAST(t.content AS BLOB))), 0)
                FROM memory AS t WHERE {seen}""",
            params,
        ).fetchall()[0]
        total, current, pinned, local, size = numbers
        groups = {name: _group(db, name, seen, params) for name in GROUPED}
        others = {
            f"{kind}_rows": _count(db, replica, kind)
            for kind in ("chatlog", "relationship", "task", "embedding")
        }
        queued = db.execute(
            f"""SELECT count(*) FROM embed_queue AS q
                JOIN memory AS t ON t.id = q.memory_id AND {seen}""",
            replica.caller.params,
        ).get
    return {
        "memories": total,
        "current": current,
        "ended": total - current,
        "pinned": pinned,
        "local": local,
        "content_bytes": size,
        **{f"by_{name.removesuffix('_id')}": counts for name, counts in groups.items()},
        **others,
        "embedding_queue": queued,
    }


GROUPED = ("type", "scope", "space", "agent_id")


def _group(db: Connection, name: str, seen: str, params: dict[str, Any]) -> dict[str, int]:
    sql = f"""SELECT t.{name}, count(*) FROM memory AS t
              WHERE {seen} AND {answers("t")} AND t.{name} IS NOT NULL
              GROUP BY t.{name} ORDER BY count(*) DESC, t.{name} LIMIT 100"""
    found: list[Any] = db.execute(sql, params).fetchall()
    return {str(value): int(count) for value, count in found}


def _count(db: Connection, replica: Replica, kind: str) -> int:
    sql = f"SELECT count(*) FROM {kind} AS t WHERE {can_see(replica.caller, kind)}"
    return int(db.execute(sql, replica.caller.params).get)
