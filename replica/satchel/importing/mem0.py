"""Exports of mem0: answers of `get_all` and of the export API, OpenMemory's backup, raw payloads.

What they have in common: somewhere a list of objects with a text and mostly an id.

- a bare list (the oldest), `{"results": […], "relations": […]}` with and without `count` and
  `next`, `{"memories": […]}`: items have `memory`, some `content` or `text`, and `id`, `hash`,
  `metadata`, `user_id`, `agent_id`, `run_id`, `categories`, `created_at`, `updated_at`;
- OpenMemory's `memories.json`: `user`, `apps` and `categories` beside `memories`, which name them
  by id; its `memories.jsonl` names them outright;
- points of a vector store: `{"id", "payload": {"data": …}}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from satchel.errors import InvalidInput
from satchel.importing.documents import Found, walk
from satchel.importing.files import read_whole, text_of
from satchel.importing.records import Fault, Note, Place, Source
from satchel.importing.values import TextNames, given, mapping

LISTS = frozenset({"results", "memories", "relations", "points", "data"})
TEXTS = ("memory", "content", "text", "data")
KEPT = ("run_id", "app_id", "app", "actor_id", "role", "updated_at", "state", "source_app")
"""What goes into the metadata beside the record's own; not `hash`, the MD5 of a text with all its
secrets in it."""
GONE = "deleted"


class _Beside:
    """What stands beside OpenMemory's list of memories: whose they are, and what ids mean."""

    def __init__(self, rest: Mapping[str, Any]) -> None:
        self.user = given(mapping(rest.get("user")).get("user_id")) or given(rest.get("user_id"))
        self.apps = _names(rest.get("apps"))
        self.categories = _names(rest.get("categories"))
        self.names = TextNames()


def open_source(path: Path | None) -> Source:
    """The memories of an export, and relations between entities as facts."""
    found = list(walk(text_of(read_whole(path)), LISTS))
    rests = [one.value for one in found if isinstance(one, Found) and one.list_name == "{}"]
    left_out: dict[str, int] = {}
    beside = _Beside(rests[0] if rests else {})
    items = [one for one in found if isinstance(one, Fault) or one.list_name != "{}"]
    return Source(_records(items, beside, left_out), total=len(items), left_out=left_out)


def _records(
    items: list[Found | Fault], beside: _Beside, left_out: dict[str, int]
) -> Iterator[Note | Fault]:
    for found in items:
        if isinstance(found, Fault):
            yield found
        elif not isinstance(found.value, Mapping):
            kind = type(found.value).__name__
            yield Fault(found.place, InvalidInput(f"it is {kind}, not an object"))
        elif found.list_name == "relations":
            yield _relation(found.place, found.value, beside)
        elif found.value.get("state") == GONE or given(found.value.get("deleted_at")):
            left_out["deleted memories"] = left_out.get("deleted memories", 0) + 1
        else:
            yield _memory(found.place, found.value, beside)


def _memory(place: Place, item: Mapping[str, Any], beside: _Beside) -> Note | Fault:
    item = {**mapping(item.get("payload")), **item}
    text = next((item[name] for name in TEXTS if given(item.get(name))), None)
    if text is None:
        keys = ", ".join(sorted(map(str, item))[:8])
        hint = f"a memory has one of: {', '.join(TEXTS)}"
        return Fault(place, InvalidInput(f"no text is in it (it has: {keys})", hint=hint))
    user = beside.user or given(item.get("user_id"))
    ref = item.get("id")
    kept = {name: item[name] for name in KEPT if item.get(name) not in (None, "")}
    if app := beside.apps.get(str(item.get("app_id"))):
        kept["app"] = app
    return Note(
        place=Place(line=place.line, record=str(ref) if ref is not None else None),
        ref=str(ref) if ref is not None else beside.names.name(str(text)),
        content=text,
        metadata={**kept, **_categories(item, beside), **mapping(item.get("metadata"))},
        valid_from=item.get("created_at"),
        expires_at=item.get("expiration_date"),
        scope="user" if user else None,
        user=user,
        agent=given(item.get("agent_id")),
    )


def _relation(place: Place, item: Mapping[str, Any], beside: _Beside) -> Note | Fault:
    """Mem0's graph is of names, not of memories: what it says of them is a fact."""
    target = item.get("target", item.get("destination"))
    ends = (given(item.get("source")), given(item.get("relationship")), given(target))
    if None in ends:
        fault = InvalidInput("a relation has `source`, `relationship` and `target`")
        return Fault(place, fault)
    words = [str(end) for end in ends]
    user = given(item.get("user_id")) or beside.user
    return Note(
        place=Place(line=place.line, record=" ".join(words)),
        ref="relation:" + json.dumps(words),
        name=" ".join(words),
        type="fact",
        content=" ".join(word.replace("_", " ") for word in words),
        metadata=dict(zip(("subject", "relationship", "object"), words, strict=True)),
        scope="user" if user else None,
        user=user,
    )


def _categories(item: Mapping[str, Any], beside: _Beside) -> dict[str, Any]:
    """Names; OpenMemory has ids in their place."""
    named, ids = item.get("categories"), item.get("category_ids")
    if isinstance(named, list) and named:
        return {"categories": named}
    if isinstance(ids, list) and ids:
        return {"categories": [beside.categories.get(str(one), one) for one in ids]}
    return {}


def _names(rows: object) -> dict[str, str]:
    """Id -> name of a list of objects that have both."""
    found = [mapping(row) for row in rows] if isinstance(rows, list) else []
    return {str(row.get("id")): str(row["name"]) for row in found if given(row.get("name"))}
