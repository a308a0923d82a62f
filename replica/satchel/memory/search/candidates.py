"""A candidate: what of a row its score needs. Full rows are read of the hits only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from satchel.memory.limits import SHORT_TEXT_BYTES
from satchel.memory.search.sources import Source
from satchel.memory.text import stored_list

TEXTS = {
    "memory": (
        "t.id",
        "{content}",
        "t.title",
        "t.aliases",
        "NULL",
        "t.agent_id",
        "t.session_id",
        "t.type",
        "t.scope",
    ),
    "chatlog": (
        "t.id",
        "{content}",
        "NULL",
        "NULL",
        "t.role",
        "t.agent_id",
        "t.conversation_id",
        "NULL",
        "t.scope",
    ),
}
NUMBERS = {
    "memory": "octet_length(t.content), NULL, coalesce(t.valid_from, t.recorded_at),"
    " t.recorded_at, t.importance, t.confidence, t.pinned",
    "chatlog": "octet_length(t.content), t.ordinal, t.said_at, t.said_at, NULL, NULL, NULL",
}
CONTENT = f"CASE WHEN octet_length(t.content) <= {SHORT_TEXT_BYTES} THEN t.content END"


class Candidate(NamedTuple):
    """One row of the pool. `text` is None when it is long: the index counts its words then."""

    kind: str
    row: int
    id: str
    text: str | None
    title: str | None
    aliases: tuple[str, ...]
    role: str | None
    agent_id: str | None
    group: str | None
    """The conversation of a turn, the session of a memory."""
    ordinal: int | None
    at_ms: int | None
    """When it was said, or true from."""
    recorded_at_ms: int | None
    importance: float
    confidence: float
    pinned: bool
    type: str | None = None
    """Of a memory."""
    scope: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The title and the aliases."""
        return (self.title, *self.aliases) if self.title else self.aliases

    @property
    def asks(self) -> bool:
        """Whether it is a turn that ends with a question."""
        text = self.text if self.kind == "chatlog" else None
        return text is not None and text.rstrip(" \n\t\"'”’»)").endswith(("?", "？", "؟"))


def read(source: Source, rows: Sequence[int]) -> list[Candidate]:
    """Those of the rows that pass the source's filter, in any order."""
    if not rows:
        return []
    try:
        found = _select(source, rows, "{}")
    except UnicodeDecodeError:
        # Somebody left text here that is no text: one such row must not hide the others.
        found = _select(source, rows, "CAST({} AS BLOB)")
    return [_candidate(source.kind, values) for values in found]


def _select(source: Source, rows: Sequence[int], form: str) -> list[Any]:
    texts = (form.format(name.format(content=CONTENT)) for name in TEXTS[source.kind])
    sql = f"""SELECT t.row, {", ".join(texts)}, {NUMBERS[source.kind]} FROM json_each(:rows) AS k
              CROSS JOIN {source.kind} AS t ON t.row = k.value WHERE {source.where}"""
    given = {**source.params, "rows": json.dumps(list(dict.fromkeys(rows)))}
    return source.db.execute(sql, given).fetchall()


def _candidate(kind: str, values: Sequence[Any]) -> Candidate:
    row, key, content, title, aliases, role, agent_id, group, *rest = values
    type_, scope, size, ordinal, *rest = rest
    at_ms, recorded_at_ms, importance, confidence, pinned = rest
    text = _text(content)
    return Candidate(
        kind,
        row,
        str(_text(key)),
        None if size and size > SHORT_TEXT_BYTES else text or "",
        _text(title),
        tuple(stored_list(_text(aliases))) if aliases else (),
        _text(role),
        _text(agent_id),
        _text(group),
        _whole(ordinal),
        _whole(at_ms),
        _whole(recorded_at_ms),
        _share(importance),
        _share(confidence),
        bool(pinned),
        _text(type_),
        _text(scope),
    )


def _text(value: Any) -> str | None:
    """Anything may stand in a column that somebody wrote by hand."""
    if value is None or value.__class__ is str:
        return value
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _share(value: Any) -> float:
    if value is None:
        return 0.0
    return min(max(float(value), 0.0), 1.0) if isinstance(value, int | float) else 0.0
