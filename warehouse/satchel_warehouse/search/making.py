"""The SQL of search: words beside rows, the doors of a search; made anew after a migration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from satchel_sync.tables import CHATLOG, EMBEDDING, MEMORY, RELATIONSHIP, Table

SESSION_GAP_MS = 6 * 60 * 60 * 1000
"""Turns further apart are of two sessions (satchel.memory.limits): a test holds them equal."""
Fill = Callable[[str, Table], str]

_HOLDS = """
        (t.expires_at IS NULL OR t.expires_at > (f ->> 'now')::bigint)
        AND (t.valid_from IS NULL OR t.valid_from <= @instant@)
        AND (t.valid_to IS NULL OR t.valid_to > @instant@)"""
_INSTANT = (
    "coalesce((f ->> 'as_of')::bigint,"
    " greatest((f ->> 'now')::bigint, t.recorded_at, t.retired_at))"
)
_KINDS: Mapping[str, Mapping[str, str]] = {
    "memory": {
        "at": "coalesce(t.recorded_at, t.valid_from, 0)",
        "speaker": "left(lower(t.agent_id), 200)",
        "lead_name": "satchel.leading_name(t.content)",
        "text": "concat_ws(' ', t.title, t.aliases, t.content)",
        "shown": "{0}.title, {0}.aliases, {0}.content, {0}.agent_id, {0}.recorded_at",
        "holds": _HOLDS.replace("@instant@", _INSTANT),
        "type": "t.type",
        "time": "t.recorded_at",
        "literal": "concat_ws(chr(10), t.title, t.content, t.aliases)",
    },
    "chatlog": {
        "at": "coalesce(t.said_at, 0)",
        "speaker": "satchel.named_role(t.role)",
        "lead_name": "satchel.leading_name(t.content)",
        "text": "t.content",
        "shown": "{0}.content, {0}.role, {0}.said_at",
        "holds": "coalesce(t.said_at <= (f ->> 'as_of')::bigint, true)",
        "type": "NULL::text",
        "time": "t.said_at",
        "literal": "t.content",
    },
}
"""Kind -> what of a row its words, its filter and its literal text are."""
_ROWS: tuple[tuple[Table, str, str], ...] = (
    (MEMORY, "id", ""),
    (CHATLOG, "id", ""),
    (EMBEDDING, "memory_id", "AND t.model = _model"),
    (RELATIONSHIP, "from_id", "AND t.to_id = ANY (_ids)"),
)
"""Kinds that a search reads whole rows of, and by what."""


def statements(fill: Fill, read: Callable[[str], str]) -> list[str]:
    """The functions and triggers of search in the order in which they are made; repeatable.

    `fill` fills a template of a kind, `read` reads an SQL file.
    """
    words, doors = read("search_words_kind.sql"), read("search_text_doors.sql")
    rows = [
        fill(read("search_rows.sql").replace("@by@", by).replace("@and@", more), table)
        for table, by, more in _ROWS
    ]
    kinds = {"memory": MEMORY, "chatlog": CHATLOG}
    text_words = [fill(_told(words, name), table) for name, table in kinds.items()]
    text_doors = [fill(_told(doors, name), table) for name, table in kinds.items()]
    return [
        read("search_words.sql").replace("@kinds@", "\n".join(text_words)),
        read("search_vectors.sql").replace("@session_gap_ms@", str(SESSION_GAP_MS)),
        read("search_doors.sql").replace("@kinds@", "\n".join([*text_doors, *rows])),
    ]


def _told(template: str, kind: str) -> str:
    parts = dict(_KINDS[kind])
    shown = parts.pop("shown")
    parts |= {f"shown_{row}": shown.format(row) for row in "tb"}
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template
