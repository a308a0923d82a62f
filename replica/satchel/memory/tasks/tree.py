"""Parents of tasks after any merge: which links hold, the same on every machine.

Two machines may each make a valid move that together close a ring; no move is refused for it
later. Of a ring the link with the highest version counts as cut, and so does every link to a parent
that is deleted or has not arrived: a forest is left, whatever was merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from satchel.store.sql import alive

if TYPE_CHECKING:
    from apsw import Connection

Cut = Literal["cycle", "missing"]
Version = tuple[int, int, bytes, bytes]


class Link(NamedTuple):
    """A living task's parent, and the version of the task's row."""

    parent: str | None
    version: Version


def cut_links(links: Mapping[str, Link]) -> dict[str, Cut]:
    """The tasks whose link to their parent does not hold, and why. Pure.

    `links` has every living task that can be reached upwards from those asked about.
    """
    cut: dict[str, Cut] = {
        key: "missing" for key, link in links.items() if link.parent and link.parent not in links
    }
    cut |= {max(ring, key=lambda one: (links[one].version, one)): "cycle" for ring in rings(links)}
    return cut


def rings(links: Mapping[str, Link]) -> Iterable[list[str]]:
    """Every ring of parents, once. A task has one parent, so no two rings share a task."""
    seen: set[str] = set()
    for start in links:
        path: dict[str, None] = {}
        key: str | None = start
        while key is not None and key in links and key not in seen and key not in path:
            path[key] = None
            key = links[key].parent
        if key is not None and key in path:
            walked = list(path)
            yield walked[walked.index(key) :]
        seen.update(path)


def cuts(db: Connection, keys: Sequence[str]) -> dict[str, Cut]:
    """`cut_links` of these tasks and of all above them."""
    return cut_links(links_above(db, keys))


def links_above(db: Connection, keys: Sequence[str]) -> dict[str, Link]:
    """The links of these tasks and of all above them, seen by the caller or not."""
    found = db.execute(
        f"""WITH RECURSIVE up(id) AS (
              SELECT value FROM json_each(?)
              UNION
              SELECT t.parent_id FROM up JOIN task AS t ON t.id = up.id
              WHERE t.parent_id IS NOT NULL AND {alive("t")})
            SELECT t.id, t.parent_id, t.life, t.hlc, t.origin, t.digest
            FROM up JOIN task AS t ON t.id = up.id WHERE {alive("t")}""",
        (json.dumps(list(keys)),),
    )
    return {
        str(key): Link(parent, (life, hlc, origin or b"", digest or b""))
        for key, parent, life, hlc, origin, digest in found
    }
