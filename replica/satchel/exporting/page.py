"""One memory as Markdown: a front matter that `import markdown` reads, its text behind it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from satchel.importing import front_matter
from satchel.memory.moments import iso
from satchel.store.embedded_text import stored_list
from satchel_sync.tables import Memory

SLUG_CHARS_MAX = 60
TIMES = ("valid_from", "valid_to", "recorded_at", "expires_at")
PLAIN = ("scope", "space", "agent_id", "user_id", "session_id", "source", "supersedes")
NUMBERS = ("importance", "confidence")
_NO_WORD = re.compile(r"[^\w]+")


def name(memory: Memory) -> str:
    """`type/words-of-the-title-1a2b3c4d.md`: told apart by the end of the id."""
    words = memory.title or (memory.content or "")[: 2 * SLUG_CHARS_MAX]
    parts = [one for one in (slug(words), memory.id[-8:]) if one]
    return f"{slug(memory.type or '') or 'note'}/{'-'.join(parts)}.md"


def slug(words: str) -> str:
    """Letters and digits of any script, in lower case, with `-` between them."""
    text = unicodedata.normalize("NFC", words).lower()
    return _NO_WORD.sub("-", text)[:SLUG_CHARS_MAX].strip("-_")


def page(memory: Memory, links: Sequence[tuple[str, str]] = ()) -> str:
    """A file: front matter, an empty line, the text."""
    return f"{front_matter.dump(columns(memory, links))}\n{memory.content or ''}\n"


def columns(memory: Memory, links: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """What is known of a memory beside its text, without what is empty; times as ISO-8601."""
    times = {at: iso(ms) for at in TIMES if (ms := getattr(memory, at)) is not None}
    found: dict[str, Any] = {
        "title": memory.title,
        "type": memory.type,
        "aliases": stored_list(memory.aliases),
        "id": memory.id,
        **{one: getattr(memory, one) for one in (*PLAIN, *NUMBERS)},
        "pinned": bool(memory.pinned) or None,
        "local": bool(memory.local) or None,
        **times,
        "content_hash": memory.content_hash,
        "links": [{"type": kind, "to": end} for kind, end in links],
        "metadata": _metadata(memory.metadata),
    }
    return {key: value for key, value in found.items() if value not in (None, [], {}, "")}


def _metadata(text: str | None) -> Any:
    """As values; what is no JSON, as a hand may leave it, as text."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return text
