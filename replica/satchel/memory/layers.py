"""Layers of one memory: of a private memory and what it was promoted to, the nearest is a hit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.memory.search.ranked import Ranked


def farther(db: Connection, scored: Sequence[Ranked]) -> frozenset[str]:
    """Ids of memories of which a better placed version with the same text passes too.

    Who sees a memory and the version that others were given would else read one text twice.
    """
    passing = {one.candidate.id: one for one in scored if one.passes}
    memories = [key for key, one in passing.items() if one.candidate.kind == "memory"]
    if len(memories) < 2 or db.execute("SELECT 1 FROM relationship LIMIT 1").get is None:
        return frozenset()
    from satchel.memory.edges import PROMOTED_FROM  # with the writes, which a search needs not

    sql = f"""SELECT r.from_id, r.to_id FROM json_each(:keys) AS k
              CROSS JOIN relationship AS r ON r.from_id = k.value AND r.type = :type
              JOIN memory AS new ON new.id = r.from_id
              JOIN memory AS old ON old.id = r.to_id AND old.content_hash = new.content_hash
              WHERE {alive("r")}"""
    group: dict[str, str] = {}
    for pair in db.execute(sql, {"keys": json.dumps(memories), "type": PROMOTED_FROM}):
        if all(key in passing for key in pair):
            first, second = (group.get(key, key) for key in pair)
            group = {key: first if root == second else root for key, root in group.items()}
            group |= dict.fromkeys((*pair, first, second), first)
    best: dict[str, str] = {}
    for key in sorted(group, key=lambda key: (-passing[key].score, key)):
        best.setdefault(group[key], key)
    return frozenset(group) - frozenset(best.values())
