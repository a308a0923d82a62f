"""The file of the MCP knowledge-graph server (`server-memory`): entities, observations, relations.

JSON lines of `{"type": "entity", "name", "entityType", "observations"}` and `{"type": "relation",
"from", "to", "relationType"}`; the answer of its `read_graph` (`{"entities", "relations"}`) too. An
entity becomes a memory, its observations the lines of it; a relation an edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from satchel.errors import InvalidInput, SatchelError
from satchel.importing.documents import Found, walk
from satchel.importing.files import read_whole, text_of
from satchel.importing.records import Edge, Fault, Note, Place, Source
from satchel.importing.values import given

LISTS = {"entities": "entity", "relations": "relation"}
OBSERVATION_KEYS = ("content", "text", "observation")
"""Where forks of the server keep the text of an observation that is no plain text."""


@dataclass
class _Entity:
    """An entity of all the lines that name it."""

    place: Place
    kind: str | None
    observations: dict[str, None] = field(default_factory=dict)


def open_source(path: Path | None) -> Source:
    """The entities of a file, then its relations."""
    entities: dict[str, _Entity] = {}
    edges: list[Edge] = []
    faults: list[Fault] = []
    for found in walk(text_of(read_whole(path)), LISTS):
        if isinstance(found, Fault):
            faults.append(found)
            continue
        try:
            _take(found, entities, edges)
        except SatchelError as error:
            faults.append(Fault(found.place, error))
    records: Iterator[Note | Edge | Fault] = iter(
        [*faults, *(_note(name, one) for name, one in entities.items()), *edges]
    )
    return Source(records, total=len(faults) + len(entities) + len(edges))


def _take(found: Found, entities: dict[str, _Entity], edges: list[Edge]) -> None:
    value = found.value
    if found.list_name == "{}":
        return
    if not isinstance(value, Mapping):
        raise InvalidInput(f"it is {_kind(value)}, not an object")
    match value.get("type") if found.list_name == "" else LISTS[found.list_name]:
        case "entity":
            _take_entity(value, found.place, entities)
        case "relation":
            ends = [_text(value, name) for name in ("from", "to", "relationType")]
            edges.append(Edge(place=found.place, start=ends[0], end=ends[1], type=ends[2]))
        case other:
            raise InvalidInput(
                f"`type` is {str(other)[:60]!r}, must be entity or relation", field="type"
            )


def _take_entity(value: Mapping[str, Any], place: Place, entities: dict[str, _Entity]) -> None:
    name = _text(value, "name")
    observations = value.get("observations", [])
    if not isinstance(observations, list):
        raise InvalidInput("`observations` must be a list", field="observations")
    said = [_observation(one, n) for n, one in enumerate(observations)]
    held = entities.setdefault(name, _Entity(place, given(value.get("entityType"))))
    held.observations.update(dict.fromkeys(said))


def _observation(value: object, number: int) -> str:
    if isinstance(value, Mapping):
        value = next((value[key] for key in OBSERVATION_KEYS if key in value), None)
    if not isinstance(value, str):
        field_name = f"observations[{number}]"
        raise InvalidInput(f"`{field_name}` is {_kind(value)}, not text", field=field_name)
    return value


def _note(name: str, entity: _Entity) -> Note:
    head = f"{name} ({entity.kind})" if entity.kind else name
    return Note(
        place=Place(line=entity.place.line, record=name),
        ref=name,
        title=name,
        type=entity.kind or "entity",
        content="\n".join([head, *(f"- {one}" for one in entity.observations)]),
        metadata={"entity": name, "entity_type": entity.kind},
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found.strip():
        raise InvalidInput(f"`{name}` is missing, or is no text", field=name)
    return found


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__
