"""What was done to a warehouse by its keepers, once an act: `status` and `doctor` read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from satchel_warehouse.database import Connection
from satchel_warehouse.sessions import as_owner

What = Literal["retain", "backup", "restored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One act: at which time (UTC ms, the hub's clock), by which login, and what came of it."""

    at: int
    who: str
    detail: dict[str, Any] = field(default_factory=dict)


def note(db: Connection, what: What, detail: Mapping[str, Any]) -> None:
    """Write an act down. `detail` holds numbers, times and names of kinds: never a row."""
    with as_owner(db):
        db.execute(
            "INSERT INTO satchel.operation (at, what, who, detail)"
            " VALUES (satchel.now_ms(), %s, session_user, %s)",
            (what, json.dumps(dict(detail), ensure_ascii=False, sort_keys=True)),
        )


def latest(db: Connection, what: What) -> Act | None:
    """The newest act of its sort, or None."""
    found = db.execute(
        "SELECT at, who, detail FROM satchel.operation WHERE what = %s"
        " ORDER BY number DESC LIMIT 1",
        (what,),
    ).fetchone()
    return Act(at=found[0], who=found[1], detail=json.loads(found[2])) if found else None
