"""What a merge has lost of a session, read back from its history.

A row wins as a whole: where two machines let somebody join, or one ends the session while another
lets somebody in, the later version lacks what the other said. But nobody ever leaves a session and
none is opened again, so all that was ever said of it holds; and history rows travel, never merge.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.memory import text
from satchel.memory.lookup import select
from satchel.store.sql import alive
from satchel_sync.tables import History, Session

if TYPE_CHECKING:
    from apsw import Connection


def merged(db: Connection, session: Session) -> Session:
    """The session with all who ever joined it, and closed if it ever was."""
    where = f"t.kind = 'session' AND t.key = :key AND {alive('t')}"
    entries = select(db, History, where, {"key": session.id}, "ORDER BY t.at, t.id")
    told = [_changes(entry) for entry in entries]
    members = text.stored_list(session.agent_ids)
    for side in (side for changes in told for side in changes.get("agent_ids", ())):
        members += [one for one in text.stored_list(side) if one not in members]
    ends = [at for changes in told for at in changes.get("closed_at", ()) if type(at) is int]
    closed_at = session.closed_at if session.closed_at is not None else max(ends, default=None)
    return replace(session, agent_ids=text.json_list(members), closed_at=closed_at)


def _changes(entry: History) -> dict[str, list[Any]]:
    """Column -> [old, new]; what somebody else wrote there and is none counts as empty."""
    try:
        found = json.loads(entry.changes or "{}")
    except ValueError:
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {name: pair for name, pair in pairs if isinstance(pair, list)}
