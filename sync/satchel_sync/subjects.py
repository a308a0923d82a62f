"""What a row is about: rows that go with a memory when that is forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from satchel_sync.row import Row
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables.kinds import Table

SUBJECT_COLUMNS = {"embedding": ("memory_id",), "relationship": ("from_id", "to_id")}
"""Kind -> columns that hold the id of a memory which the row is about."""
MARK = "linked:"
"""A scrubbed edge of this key and an id: that row was forgotten with all that was made of it."""
PROVENANCE = ("promoted", "quoted")
"""Fields of a memory's metadata that say what it was made of."""


def subjects(table: Table, row: Row) -> tuple[tuple[str, str], ...]:
    """(kind, key) of what a row is about: a history's row, an edge's ends, a vector's memory.

    History of an edge is about its ends too: the edge may be deleted, and says them no more. A
    memory that was made of others is about their marks: it stays where nobody made one.
    """
    if table.name == "history":
        kind, key, changes = (row.values[table.names.index(n)] for n in ("kind", "key", "changes"))
        own = [(str(kind), str(key))] if kind is not None and key is not None else []
        ends = [("memory", memory_id) for memory_id in memories_in(kind, changes)]
        marks = [("relationship", mark(one)) for one in origins_in(kind, changes)]
        return tuple(dict.fromkeys(own + ends + marks))
    if table.name == "memory":
        found_in = row.values[table.names.index("metadata")]
        return tuple(("relationship", mark(one)) for one in origins(found_in))
    columns = SUBJECT_COLUMNS.get(table.name, ())
    found = (row.values[table.names.index(column)] for column in columns)
    return tuple(("memory", str(key)) for key in found if key is not None)


def memories_in(kind: object, changes: object) -> Iterator[str]:
    """Ids of memories that a history's `changes` ({column: [old, new]} as JSON text) name."""
    columns = SUBJECT_COLUMNS.get(kind, ()) if isinstance(kind, str) else ()
    if columns:
        fields = _object(changes)
        yield from (value for column in columns for value in _texts(fields.get(column), 2))


def mark(key: str) -> str:
    """The key of the edge that, scrubbed, says: what was made of this row goes with it."""
    return MARK + key


def marked(key: str) -> str | None:
    """The row whose mark this key of an edge is; None where it is another edge."""
    return key.removeprefix(MARK) if key.startswith(MARK) else None


def origins(metadata: object) -> tuple[str, ...]:
    """Ids of the rows that a memory with this metadata repeats or quotes, each once.

    `promoted` has the `id` of one and, in `through`, what that was promoted from; `quoted` has ids
    by kind.
    """
    if not isinstance(metadata, str) or not any(f'"{name}"' in metadata for name in PROVENANCE):
        return ()
    promoted, quoted = (_object(metadata).get(name) for name in PROVENANCE)
    found: list[str] = []
    if isinstance(promoted, dict):
        found += [*_texts([promoted.get("id")]), *_texts(promoted.get("through"))]
    if isinstance(quoted, dict):
        found += [one for ids in quoted.values() for one in _texts(ids)]
    return tuple(dict.fromkeys(found))


def origins_in(kind: object, changes: object) -> Iterator[str]:
    """Ids that the metadata of a memory named before or after a change, as `origins` has them."""
    if kind == "memory" and isinstance(changes, str) and any(one in changes for one in PROVENANCE):
        for metadata in _texts(_object(changes).get("metadata"), 2):
            yield from origins(metadata)


def _object(text: object) -> dict[str, Any]:
    """A JSON object; empty where the text is none, for anybody may have written it."""
    try:
        found = json.loads(text, parse_constant=_no_json) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _texts(values: object, most: int | None = None) -> list[str]:
    """The texts among the first values of a list."""
    found = values[:most] if isinstance(values, list) else []
    return [value for value in found if isinstance(value, str)]


def _no_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def scrubbed(table: Table, key: str) -> Row:
    """The row of a key that was forgotten: the same on every machine, and final."""
    return Row(key, SCRUBBED, "", (None,) * (len(table.columns) + 1))
