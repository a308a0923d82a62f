"""JSON schemas of answers, from shapes that are short to write and from dataclasses.

A shape is a word (`text`, `integer`, `number`, `boolean`, `object`, `any`; with `?` it may be
null), a list of one shape, a dict of keys (with `?` a key may be left out), or a `Row`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.tools.answer import JSON_COLUMNS, TIMES

Schema = dict[str, Any]
LISTED_KEYS_MAX = 10
_TYPES = {"text": "string", "any": None}
_TAGS = {"t": "text?", "i": "integer?", "r": "number?", "b": "text?"}
_FLAGS = {"memory": ("pinned", "local")}
"""Columns that are shown as true or false."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a kind with all its columns, and what is shown beside them."""

    kind: str
    beside: Mapping[str, Any] = field(default_factory=dict)

    def keys(self) -> dict[str, Any]:
        """Column -> shape."""
        from satchel_sync.tables import BY_NAME

        table = BY_NAME[self.kind]
        shapes = {one.name: _column(self.kind, one.name, one.tag) for one in table.columns}
        return {table.key: "text", **shapes, **self.beside}


def _column(kind: str, name: str, tag: str) -> str:
    if name in JSON_COLUMNS:
        return "any"
    if name in _FLAGS.get(kind, ()):
        return "boolean"
    return "text?" if name in TIMES else _TAGS[tag]


def shallow(whole: Schema) -> Schema:
    """The same without what is inside of its keys: for a listing, where every word counts.

    Of a row, whose columns are many, it says no more than that it is an object.
    """
    properties = {name: _outside(one) for name, one in whole.get("properties", {}).items()}
    few = 0 < len(properties) <= LISTED_KEYS_MAX
    return {"type": "object", "properties": properties} if few else {"type": "object"}


def schema(shape: Any) -> Schema:
    """The JSON schema of a shape."""
    if isinstance(shape, str):
        return _word(shape)
    if isinstance(shape, list):
        return {"type": "array", "items": schema(shape[0])}
    keys = shape.keys() if isinstance(shape, Row) else shape
    return _object({str(name): one for name, one in dict(keys).items()})


def _object(keys: Mapping[str, Any]) -> Schema:
    properties = {name.removesuffix("?"): schema(one) for name, one in keys.items()}
    required = [name for name in keys if not name.endswith("?")]
    return {"type": "object", "properties": properties, "required": required}


def _word(word: str) -> Schema:
    name = word.removesuffix("?")
    kind = _TYPES.get(name, name)
    if kind is None:
        return {}
    return {"type": [kind, "null"] if word.endswith("?") else kind}


def _outside(one: Schema) -> Schema:
    return {name: said for name, said in one.items() if name in ("type", "enum")}


# ---- answers that are dataclasses ---------------------------------------------------------------

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


def annotated(kind: Any) -> Schema:
    """A dataclass as the door shows it: a field that defaults to None is left out when it is."""
    hints = typing.get_type_hints(kind)
    found = dataclasses.fields(kind)
    return {
        "type": "object",
        "properties": {one.name: _hinted(hints[one.name], one.name) for one in found},
        "required": [one.name for one in found if one.default is not None],
    }


def _hinted(hint: Any, name: str) -> Schema:
    plain = [one for one in _options(hint) if one is not type(None)]
    nullable = len(plain) < len(_options(hint))
    if len(plain) != 1:
        return {}
    hint = plain[0]
    origin = typing.get_origin(hint) or hint
    if origin is typing.Literal:
        return {"enum": [*typing.get_args(hint), *([None] if nullable else [])]}
    if dataclasses.is_dataclass(hint):
        return annotated(hint)
    if origin in (list, tuple):
        return {"type": "array", "items": _hinted((*typing.get_args(hint), Any)[0], "")}
    if origin is dict:
        return {"type": ["object", "null"] if nullable else "object"}
    word = "string" if hint is int and name in TIMES else _PLAIN.get(hint)
    if word is None:
        return {}
    return {"type": [word, "null"] if nullable else word}


def _options(hint: Any) -> tuple[Any, ...]:
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)
