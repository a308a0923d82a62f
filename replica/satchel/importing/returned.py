"""Memories that were exported as Markdown and come back: what was edited goes into them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from satchel.importing.drafts import Draft, digest_of, with_digest
from satchel.importing.records import Exported, Note
from satchel.importing.report import Outcome
from satchel.memory.lookup import can_see, require_change
from satchel.memory.visibility import Caller
from satchel.store import many, rows
from satchel_sync.tables import MEMORY

if TYPE_CHECKING:
    from apsw import Connection

Held = tuple[str, str | None]
"""The hash of a memory's text now, and its metadata."""


def held(db: Connection, caller: Caller, notes: Sequence[Note]) -> dict[str, Held]:
    """By id, those that notes say they are and that the caller sees."""
    found: Any = db.execute(
        "SELECT t.id, t.content_hash, t.metadata FROM json_each(:keys) AS wanted"
        f" CROSS JOIN memory AS t ON t.id = wanted.value AND {can_see(caller, 'memory')}",
        {
            **caller.params,
            "keys": json.dumps([note.exported.id for note in notes if note.exported]),
        },
    )
    return {key: (str(hashed), metadata) for key, hashed, metadata in found}


def deleted(db: Connection, notes: Sequence[Note]) -> frozenset[str]:
    """Ids that notes say they are and that were deleted or forgotten here: they stay so."""
    named = many.held(db, MEMORY, [note.exported.id for note in notes if note.exported])
    return frozenset(key for key, values in named.items() if values is None)


def meet(db: Connection, caller: Caller, draft: Draft, exported: Exported, held: Held) -> Outcome:
    """Put an edited text in, unless the memory was changed here meanwhile. Raises Refused.

    Unchanged since is what has the text that was exported, or that the last import put there.
    """
    now, metadata = held
    hashed = str(draft.memory.content_hash)
    if hashed in (now, exported.content_hash):
        return "exists"
    if now not in (exported.content_hash, digest_of(metadata)):
        return "kept"
    require_change(db, caller, "memory", exported.id)
    rows.update(
        db,
        MEMORY,
        exported.id,
        content=draft.memory.content,
        title=draft.memory.title,
        content_hash=hashed,
        metadata=with_digest(metadata, hashed),
    )
    return "updated"
