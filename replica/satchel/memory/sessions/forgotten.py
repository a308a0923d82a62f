"""What a summary still tells of sources that were forgotten since: found, and taken out of it.

The one who forgets is told of the summary and its versions, and may forget them as well. Where that
is not wanted, the next sweep takes the words of the forgotten ones out, of the past of the summary
and of versions that nobody changed too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.memory import text
from satchel.memory.edges import DERIVED_FROM, PROMOTED_FROM, edge
from satchel.memory.lookup import select
from satchel.store import rows, scrubbing
from satchel.store.scrubbing import FORGOTTEN
from satchel.store.sql import alive
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica


def has_forgotten(db: Connection, summary_id: str, metadata: str | None) -> bool:
    """Whether a source that a summary (with this metadata) quotes or names was forgotten.

    An edge goes with its memory and leaves its id, which follows from both ends.
    """
    quoted: Any = text.stored_object(metadata).get("quoted")
    for kind in ("task", "chatlog"):
        ids = text.stored_list(json.dumps(quoted.get(kind))) if isinstance(quoted, dict) else []
        if any(scrubbing.is_forgotten(db, kind, one) for one in ids):
            return True
    gone = db.execute(f"SELECT id FROM memory AS t WHERE {FORGOTTEN}").fetchall()
    links = [edge(summary_id, str(key), DERIVED_FROM).id for (key,) in gone]
    return any(scrubbing.is_forgotten(db, "relationship", one) for one in links)


def leaking(
    db: Connection, summary: Memory, is_unchanged: Callable[[Memory], bool]
) -> list[Memory]:
    """Versions with lines that the summary, as it is now to be, has no more; without those lines.

    What came later is not in them: nobody promoted that.
    """
    told = set((summary.content or "").splitlines())
    found = []
    for version in _versions(db, summary.id):
        first, *lines = (version.content or "").splitlines() or [""]
        kept = "\n".join([first, *(one for one in lines if one in told)]).strip()
        if kept == version.content or not is_unchanged(version):
            continue
        if has_forgotten(db, summary.id, version.metadata):
            hashed = text.content_hash(kept)
            said = {**text.stored_object(version.metadata), "content_hash": hashed}
            noted = text.json_object(said)
            found.append(replace(version, content=kept, content_hash=hashed, metadata=noted))
    return found


def rewrite(db: Connection, replica: Replica, memory: Memory) -> None:
    """Inside the write: the text as it is given, and nothing of what it was before."""
    columns = ("title", "content", "content_hash", "metadata")
    rows.update(db, MEMORY, memory.id, **{name: getattr(memory, name) for name in columns})
    scrubbing.scrub_past(db, MEMORY, [memory.id], replica.now_ms())


def _versions(db: Connection, key: str) -> Iterator[Memory]:
    """Living versions of a memory, and of those, whatever became of what lies between."""
    waiting, reached = [key], {key}
    sql = f"""SELECT r.from_id FROM relationship AS r
              WHERE r.to_id = ? AND r.type = '{PROMOTED_FROM}' AND {alive("r")} ORDER BY r.id"""
    while waiting:
        for (one,) in db.execute(sql, (waiting.pop(),)).fetchall():
            if isinstance(one, str) and one not in reached:
                reached.add(one)
                waiting.append(one)
                yield from select(db, Memory, f"t.id = :id AND {alive('t')}", {"id": one})
