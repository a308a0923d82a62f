"""Memories and history whose metadata says what they were made of, and some that name nothing."""

from __future__ import annotations

import json

from fix_hub import row_of, titled

from satchel_sync.row import Row
from satchel_sync.subjects import mark, scrubbed
from satchel_sync.tables import HISTORY, MEMORY, RELATIONSHIP

ORIGIN = "origin-1"
MARKED = scrubbed(RELATIONSHIP, mark(ORIGIN))
MADE = {
    "promoted": {"promoted": {"kind": "memory", "id": ORIGIN}},
    "through": {"promoted": {"id": "other", "through": ["first", ORIGIN]}},
    "quoted": {"quoted": {"memory": ["other", ORIGIN], "task": []}, "session": "s"},
    "quoted turn": {"quoted": {"chatlog": [ORIGIN]}, "promoted": "\u0000 \ud83d\ude00"},
}
"""Metadata by name; each names `ORIGIN`."""
OTHERS = {
    "of another": {"promoted": {"id": "other"}},
    "no id": {"promoted": {"id": {"id": ORIGIN}, "through": {"a": 1}}, "quoted": [ORIGIN]},
    "elsewhere": {"note": {"promoted": {"id": ORIGIN}}, "text": f'"promoted": "{ORIGIN}"'},
    "empty": {"promoted": None, "quoted": {}},
}
NO_JSON = '{"promoted": {"id": "origin-1"'


def memory(name: str, metadata: object) -> Row:
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    return row_of(MEMORY, name, titled(MEMORY, content="secret", metadata=text))


def history(name: str, metadata: object) -> Row:
    """History of a memory that has other metadata now, so that only this still tells it."""
    text = metadata if isinstance(metadata, str) else json.dumps(metadata)
    told = json.dumps({"content": ["secret", None], "metadata": [text, None]})
    return row_of(HISTORY, name, titled(HISTORY, kind="memory", key="made anew", changes=told))
