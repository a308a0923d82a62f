"""Edges between memories: link, unlink, and the graph around one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from satchel.errors import NotFound
from satchel.memory import audit, text, view
from satchel.memory.limits import GRAPH_DEPTH_MAX, GRAPH_NODES_MAX
from satchel.memory.lookup import can_see, find, require_change, resolve, select
from satchel.store import rows
from satchel_sync.digest import derived_id
from satchel_sync.tables import RELATIONSHIP, Memory, Relationship

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

SUPERSEDES = "supersedes"
DERIVED_FROM = "derived_from"
"""From a summary to what it was made of."""
PROMOTED_FROM = "promoted_from"
"""From a promoted version to the memory that it repeats."""


def edge(
    start: str,
    end: str,
    type: str,  # noqa: A002 - the column's name
    *,
    weight: float | None = None,
    metadata: str | None = None,
    agent_id: str | None = None,
) -> Relationship:
    """An edge; its id follows from its ends and type, so that two machines make the same one."""
    return Relationship(
        id=derived_id(start, end, type),
        from_id=start,
        to_id=end,
        type=type,
        weight=weight,
        metadata=metadata,
        agent_id=agent_id,
    )


def link(
    replica: Replica,
    from_id: str,
    to_id: str,
    type: str,  # noqa: A002
    *,
    weight: float | None = None,
    metadata: Mapping[str, Any] | str | None = None,
) -> dict[str, Any]:
    """Link one memory to another: the edge with `outcome` created, exists or updated.

    Linking again changes weight and metadata where they are given. Raises NotFound, Refused.
    """
    name = text.name(type, "type")
    weight, note = text.number(weight, "weight"), text.json_object(metadata)
    with replica.store.write(replica.actor) as db:
        start = resolve(db, replica.caller, "memory", from_id)
        end = resolve(db, replica.caller, "memory", to_id)
        wanted = edge(
            start, end, name, weight=weight, metadata=note, agent_id=replica.caller.agent_id
        )
        held = rows.get(db, RELATIONSHIP, wanted.id)
        if held is None:
            rows.insert(db, wanted)
            return {**view.plain(wanted), "outcome": "created"}
        given = {"weight": weight, "metadata": note}
        given = {key: value for key, value in given.items() if value is not None}
        if given:
            require_change(db, replica.caller, "relationship", wanted.id)
        changed = bool(given) and rows.update(db, RELATIONSHIP, wanted.id, **given)
        return {**view.plain(held), **given, "outcome": "updated" if changed else "exists"}


def unlink(
    replica: Replica,
    from_id: str,
    to_id: str,
    type: str,  # noqa: A002
) -> dict[str, Any]:
    """Delete an edge: `{id, outcome}`. Raises NotFound, Refused."""
    name = text.name(type, "type")
    with replica.store.write(replica.actor) as db:
        start = resolve(db, replica.caller, "memory", from_id)
        end = resolve(db, replica.caller, "memory", to_id)
        key = derived_id(start, end, name)
        if rows.get(db, RELATIONSHIP, key) is None:
            raise NotFound(
                f"no edge {name!r} from {start} to {end}", hint=f"`satchel memory graph {start}`"
            )
        require_change(db, replica.caller, "relationship", key)
        rows.delete(db, RELATIONSHIP, key)
    return {"id": key, "outcome": "deleted"}


def graph(replica: Replica, id: str, *, depth: int = 1) -> dict[str, Any]:  # noqa: A002
    """The memories up to `depth` edges away: `{root, nodes, edges, truncated}`."""
    depth = text.whole(depth, "depth", 1, GRAPH_DEPTH_MAX)
    with replica.store.read() as db:
        root = find(db, replica.caller, Memory, id)
        distance, found, truncated = {root.id: 0}, dict[str, Relationship](), False
        ring = [root.id]
        for step in range(1, depth + 1):
            ring, truncated = _step(db, replica, ring, step, distance, found)
            if not ring or truncated:
                break
        nodes = _nodes(db, replica, distance)
    audit.record(replica, "graph", [("memory", node["id"]) for node in nodes])
    shown = [one for one in found.values() if {one.from_id, one.to_id} <= distance.keys()]
    return {
        "root": root.id,
        "nodes": nodes,
        "edges": [view.plain(one) for one in sorted(shown, key=lambda one: one.id)],
        "truncated": truncated,
    }


def _step(
    db: Connection,
    replica: Replica,
    ring: list[str],
    step: int,
    distance: dict[str, int],
    found: dict[str, Relationship],
) -> tuple[list[str], bool]:
    """One edge further: the newly reached ids, and whether the graph is full."""
    reached: list[str] = []
    for one in _touching(db, replica, ring):
        found[one.id] = one
        for key in (one.from_id, one.to_id):
            if key is None or key in distance:
                continue
            if len(distance) >= GRAPH_NODES_MAX:
                return reached, True
            distance[key] = step
            reached.append(key)
    return reached, False


def _touching(db: Connection, replica: Replica, ids: list[str]) -> list[Relationship]:
    where = f"""(t.from_id IN (SELECT value FROM json_each(:ids))
                 OR t.to_id IN (SELECT value FROM json_each(:ids)))
                AND {can_see(replica.caller, "relationship")}"""
    params = {**replica.caller.params, "ids": json.dumps(ids)}
    both_ends = f"""AND EXISTS (SELECT 1 FROM memory AS t2 WHERE t2.id = t.from_id
                      AND {can_see(replica.caller, "memory", "t2")})
                    AND EXISTS (SELECT 1 FROM memory AS t3 WHERE t3.id = t.to_id
                      AND {can_see(replica.caller, "memory", "t3")})"""
    return select(db, Relationship, where + both_ends, params, "ORDER BY t.id")


def _nodes(db: Connection, replica: Replica, distance: Mapping[str, int]) -> list[dict[str, Any]]:
    where = f"""t.id IN (SELECT value FROM json_each(:ids))
                AND {can_see(replica.caller, "memory")}"""
    params = {**replica.caller.params, "ids": json.dumps(list(distance))}
    now = replica.now_ms()
    nodes = [
        {
            "id": row.id,
            "title": row.title or (row.content or "")[:80],
            "type": row.type,
            "scope": row.scope,
            "space": row.space,
            "agent_id": row.agent_id,
            "recorded_at": row.recorded_at,
            "current": view.is_current(row, now),
            "distance": distance[row.id],
        }
        for row in select(db, Memory, where, params)
    ]
    return sorted(nodes, key=lambda node: (node["distance"], node["id"]))
