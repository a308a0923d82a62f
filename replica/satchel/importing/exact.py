"""Storing rows as they are, id, times and all: what the operator may, from satchel's own export.

The version of a row is not taken from a file: an import is a write, and gets a stamp of its own. A
row that is here in another version stays.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.importing.records import Whole
from satchel.importing.report import Report
from satchel.memory import text
from satchel.memory.guard import guarded
from satchel.memory.limits import DEPENDS_ON_MAX, IDS_MAX
from satchel.memory.visibility import SCOPES
from satchel.store import many, quarantine, rows
from satchel_sync.tables import BY_NAME, EXTRA, KINDS, Table
from satchel_sync.unknown import of_names

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.config import Settings

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """A row that was checked, in the order of a `Row`."""

    row: Whole
    key: str
    values: Values
    warnings: list[str]


def ready(settings: Settings, row: Whole, ids: Mapping[str, str | None]) -> Ready:
    """Check a row. Raises InvalidInput, Refused."""
    table = BY_NAME[row.kind]
    key = _key(table, row.key)
    said = {name: value for name, value in row.columns.items() if value is not None}
    columns = {name: _value(_tags(table).get(name), name, said[name]) for name in said}
    columns |= {name: _named(ref, ids) for name, ref in row.refs.items()}
    for name, value in columns.items():
        if name in CHECKS and value is not None:
            CHECKS[name](value, name)
    clean, warnings = _guarded(settings, row.kind, columns)
    if row.kind == "memory":
        clean["content_hash"] = _content_hash(columns, clean)
    values = of_names(table, clean)
    if fault := quarantine.inspect(table, key, values):
        column, reason = fault
        raise InvalidInput(f"`{column or row.kind}`: {reason}", field=column)
    return Ready(row, key, values, warnings)


def store(db: Connection, found: Sequence[Ready], report: Report) -> None:
    """Inside the write: insert the rows whose keys nothing here has."""
    for kind in KINDS:
        of_kind = [one for one in found if one.row.kind == kind]
        if of_kind:
            _store(db, BY_NAME[kind], of_kind, report)
    db.execute(
        "DELETE FROM embed_queue WHERE memory_id IN (SELECT e.memory_id FROM json_each(?)"
        " JOIN embedding AS e ON e.id = value JOIN memory AS m ON m.id = e.memory_id"
        " WHERE e.content_hash = m.text_hash)",
        (json.dumps([one.key for one in found if one.row.kind == "embedding"]),),
    )


def _store(db: Connection, table: Table, found: Sequence[Ready], report: Report) -> None:
    held = dict(many.held(db, table, [one.key for one in found]))
    new: dict[str, Ready] = {}
    for one in found:
        if one.key not in held:
            held[one.key] = one.values
            new[one.key] = one
            report.count(table.name, "created")
            report.warn(one.row.place, one.warnings)
            continue
        here = held[one.key]
        if here is None:
            report.count(table.name, "deleted")
        else:
            report.count(table.name, "exists" if here == one.values else "kept")
    lowest = [one for one in new.values() if _is_open_space(table, one)]
    for one in lowest:
        rows.insert_lowest(db, table.row(**{table.key: one.key}))
    many.insert(db, table, [(one.key, one.values) for one in new.values() if one not in lowest])


def _is_open_space(table: Table, one: Ready) -> bool:
    """As its first use makes it: it must never open what another machine closed."""
    return table.name == "space" and all(value is None for value in one.values)


def _key(table: Table, key: object) -> str:
    if table.key != "id":
        return text.name(key, table.key)
    if not isinstance(key, str) or not _UUID.fullmatch(key):
        raise InvalidInput(f"`id` is {str(key)[:60]!r}, no id in 36 lower-case digits", field="id")
    return key


@cache
def _tags(table: Table) -> Mapping[str, str]:
    """Column -> type tag."""
    return {column.name: column.tag for column in table.columns}


def _value(tag: str | None, name: str, value: Any) -> Any:
    """A value of JSON as the column holds it; no tag where there is no such column here."""
    if name == EXTRA:
        return value
    if tag == "b":
        return _bytes(value, name)
    if tag == "r" and type(value) is int:
        value = text.number(value, name)
    if isinstance(value, float):
        value += 0.0
    if isinstance(value, bool | list | dict):
        raise InvalidInput(f"`{name}` cannot be a {type(value).__name__}", field=name)
    return value


def _bytes(value: Any, name: str) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InvalidInput(f"`{name}` is no base64", field=name) from error


def _content_hash(given: Mapping[str, Any], clean: Mapping[str, Any]) -> Any:
    """What the file says; made anew where it is missing, or a secret was taken out of the text."""
    content, hashed = clean.get("content"), given.get("content_hash")
    if content is None or (hashed is not None and content == given.get("content")):
        return hashed
    return text.content_hash(content)


def _named(ref: str | Sequence[str], ids: Mapping[str, str | None]) -> str | None:
    """The memories that refs name; those that are not here are left out."""
    if isinstance(ref, str):
        return ids.get(ref)
    found = [key for one in ref if (key := ids.get(one)) is not None]
    return text.json_list(found)


def _guarded(
    settings: Settings, kind: str, columns: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Secrets in it, as a write of this kind meets them; a history is of what it is about."""
    about = columns.get("kind") if kind == "history" else kind
    mode, setting = settings.memory_secrets, "memory.secrets"
    if about == "chatlog":
        mode, setting = settings.chatlog_secrets, "chatlog.secrets"
    names = {
        "memory": ("content", "title", "source", "metadata", "aliases"),
        "chatlog": ("content", "metadata"),
        "history": ("changes",),
    }.get(kind, ())
    # The guard keeps JSON whole where it is told that a column is JSON.
    given = {("metadata" if name == "changes" else name): columns.get(name) for name in names}
    said = guarded(mode, setting, given)
    clean = dict(said.columns)
    if kind == "history":
        clean = {"changes": clean["metadata"]}
    return {**columns, **clean}, said.warnings


# ---- what a column may hold, as the writes of each kind check it --------------------------------


def _choice(*words: str) -> Callable[[Any, str], Any]:
    return lambda value, field: text.one_of(value, words, field)


def _names(count_max: int) -> Callable[[Any, str], Any]:
    """A JSON array of names, as text."""

    def check(value: Any, field: str) -> None:
        try:
            found = json.loads(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"`{field}` is no JSON array", field=field) from error
        text.names(found, field, count_max)

    return check


def _flag(value: Any, field: str) -> None:
    text.whole(value, field, 1, 1)


CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "scope": _choice(*SCOPES),
    "metadata": text.json_object,
    "grants": text.json_object,
    "content": text.content,
    "title": text.optional_text,
    "description": text.optional_long,
    "result": text.optional_long,
    "importance": text.share,
    "confidence": text.share,
    "trust": text.share,
    "pinned": _flag,
    "local": _flag,
    "aliases": _names(100),
    "capabilities": _names(100),
    "members": _names(IDS_MAX),
    "agent_ids": _names(IDS_MAX),
    "context_ids": _names(IDS_MAX),
    "depends_on": _names(DEPENDS_ON_MAX),
    **dict.fromkeys(("type", "role", "status", "conversation_id", "model", "dedup_key"), text.name),
    **dict.fromkeys(("agent_id", "user_id", "space", "to_agent", "from_agent"), text.name),
    **dict.fromkeys(
        (
            *("valid_from", "valid_to", "valid_to_was", "recorded_at", "retired_at"),
            *("expires_at", "registered_at", "last_seen", "due_at", "lease_until", "created_at"),
            *("completed_at", "acked_at", "said_at", "opened_at", "closed_at", "at"),
        ),
        text.time_ms,
    ),
}
"""Column -> what raises InvalidInput for a value that no write would take."""
