"""What stands around a candidate: the turns beside it, linked memories, its session."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from satchel.memory.limits import SESSION_GAP_MS
from satchel.memory.search.candidates import Candidate
from satchel.memory.search.sources import Source
from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

NONE = -1
PLACE_MAX = 2**31 - 1
Beside = Mapping[int, tuple[int | None, int | None]]
"""Row of a turn -> rows of the turns before and after it."""


class Around(NamedTuple):
    """Indexes of the pool and numbers of sessions, one a candidate, -1 for none."""

    previous: list[int]
    following: list[int]
    sessions: list[int]
    places: list[int]
    """Where in its conversation; of a memory 0."""


def turns_beside(turns: Source, rows: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
    """The turns before and after these, in their conversations and under the same filter."""
    if not rows:
        return {}

    def nearest(side: str, order: str) -> str:
        return f"""(SELECT t.row FROM chatlog AS t
            WHERE t.conversation_id = c.conversation_id
              AND (t.ordinal, t.id) {side} (c.ordinal, c.id) AND {turns.where}
            ORDER BY t.ordinal {order}, t.id {order} LIMIT 1)"""

    sql = f"""SELECT c.row, {nearest("<", "DESC")}, {nearest(">", "ASC")}
              FROM json_each(:rows) AS k CROSS JOIN chatlog AS c ON c.row = k.value"""
    found = turns.db.execute(sql, {**turns.params, "rows": json.dumps(list(rows))})
    return {row: (before, after) for row, before, after in found}


def around(
    db: Connection, pool: Sequence[Candidate], beside: Beside, own: Sequence[float]
) -> Around:
    """Of a pool in its order; `own` is what each candidate shows by itself."""
    turns = {one.row: n for n, one in enumerate(pool) if one.kind == "chatlog"}
    links = _links(db, pool, own)
    previous, following = [], []
    for n, one in enumerate(pool):
        if one.kind == "chatlog":
            before, after = beside.get(one.row, (None, None))
            ends = [NONE if row is None else turns.get(row, NONE) for row in (before, after)]
        else:
            ends = [*links.get(n, ())[:2], NONE, NONE]
        previous.append(ends[0])
        following.append(ends[1])
    sessions = _sessions(pool)
    return Around(previous, following, sessions, _places(pool, sessions))


def _links(db: Connection, pool: Sequence[Candidate], own: Sequence[float]) -> dict[int, list[int]]:
    """Memories of the pool that are linked with each other, the best first."""
    place = {one.id: n for n, one in enumerate(pool) if one.kind == "memory"}
    if len(place) < 2 or db.execute("SELECT 1 FROM relationship LIMIT 1").get is None:
        return {}
    sql = f"""SELECT r.from_id, r.to_id FROM json_each(:keys) AS k
              CROSS JOIN relationship AS r ON r.from_id = k.value WHERE {alive("r")}"""
    found: dict[int, set[int]] = {}
    for start, end in db.execute(sql, {"keys": json.dumps(list(place))}):
        if end in place and start != end:
            found.setdefault(place[start], set()).add(place[end])
            found.setdefault(place[end], set()).add(place[start])
    return {n: sorted(ends, key=lambda end: (-own[end], pool[end].id)) for n, ends in found.items()}


def _sessions(pool: Sequence[Candidate]) -> list[int]:
    """Numbers from 0 on, in the order of the pool."""
    keys = {**_turn_sessions(pool)}
    keys |= {n: ("memory", one.group, 0) for n, one in enumerate(pool) if one.kind == "memory"}
    numbers: dict[tuple[str, str | None, int], int] = {}
    return [
        NONE if keys[n][1] is None else numbers.setdefault(keys[n], len(numbers))
        for n in range(len(pool))
    ]


def _places(pool: Sequence[Candidate], sessions: Sequence[int]) -> list[int]:
    """Ordinals from the first of the session in the pool on; memories have no places."""
    first: dict[int, int] = {}
    for one, session in zip(pool, sessions, strict=True):
        if one.ordinal is not None:
            first[session] = min(first.get(session, one.ordinal), one.ordinal)
    return [
        min((one.ordinal or 0) - first.get(session, 0), PLACE_MAX) if one.kind == "chatlog" else 0
        for one, session in zip(pool, sessions, strict=True)
    ]


def _turn_sessions(pool: Sequence[Candidate]) -> dict[int, tuple[str, str | None, int]]:
    """Conversations, cut where the turns of the pool lie far apart in time."""
    turns = [n for n, one in enumerate(pool) if one.kind == "chatlog"]
    turns.sort(key=lambda n: (pool[n].group or "", pool[n].at_ms or 0, pool[n].id))
    keys: dict[int, tuple[str, str | None, int]] = {}
    part, last = 0, None
    for n in turns:
        one = pool[n]
        if last and (one.group != last.group or _gap_ms(last, one) > SESSION_GAP_MS):
            part += 1
        keys[n] = ("chatlog", one.group, part)
        last = one
    return keys


def _gap_ms(one: Candidate, other: Candidate) -> int:
    return (other.at_ms or 0) - (one.at_ms or 0)
