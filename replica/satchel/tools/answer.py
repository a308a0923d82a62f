"""Answers at the door: frozen dataclasses and rows become plain JSON, times become ISO-8601."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

TIMES = frozenset(
    (
        "valid_from",
        "valid_to",
        "valid_to_was",
        "recorded_at",
        "retired_at",
        "expires_at",
        "said_at",
        "opened_at",
        "closed_at",
        "created_at",
        "completed_at",
        "due_at",
        "lease_until",
        "claimed_until",
        "acked_at",
        "registered_at",
        "last_seen",
        "alive_until",
        "at",
        "since",
        "until",
        "as_of",
        "known_at",
    )
)
"""Keys whose int value is UTC milliseconds."""

JSON_COLUMNS = frozenset(
    (
        "metadata",
        "aliases",
        "capabilities",
        "context_ids",
        "agent_ids",
        "depends_on",
        "members",
        "grants",
    )
)
"""Keys whose text value is JSON, kept byte for byte in the store and shown as JSON."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def jsonable(value: Any, key: str = "") -> Any:
    """`value` as plain JSON types. `key` is the name it stands under."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return None  # written by hand; JSON has no word for it
    if key in JSON_COLUMNS:
        return _json_or_text(value) if isinstance(value, str) else value
    if isinstance(value, int) and not isinstance(value, bool) and key in TIMES:
        return iso(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): _under(str(name), item, key) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item) for item in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    """A dataclass's fields; one that may be absent (it defaults to None) is left out when it is."""
    shown = ((one, getattr(value, one.name)) for one in dataclasses.fields(value))
    return {
        one.name: jsonable(item, one.name)
        for one, item in shown
        if item is not None or one.default is not None
    }


def _under(name: str, value: Any, parent: str) -> Any:
    """A mapping's value; under `changes` it is a field's [old, new]."""
    if parent == "changes" and isinstance(value, list | tuple):
        return [jsonable(item, name) for item in value]
    return jsonable(value, name)


def iso(time_ms: int) -> str:
    """UTC milliseconds as ISO-8601 with offset; a time no calendar has stays a number's text."""
    try:
        moment = _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return str(time_ms)
    return moment.isoformat(timespec="milliseconds")


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
