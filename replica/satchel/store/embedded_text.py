"""What is embedded of a memory, and the hash by which a vector is known to be of that text."""

from __future__ import annotations

import json
import unicodedata

UNHASHED = "text_hash IS NULL AND content IS NOT NULL"
"""Memories whose text is new or changed since it was hashed; an index holds them."""
UNEMBEDDABLE = ""
"""`memory.text_hash` of what is no text, or a blank one: no vector has it."""


def embedded_text(title: object, aliases: object, content: object) -> str:
    """The text "title (alias, alias)", a line end, and the content, of what there is.

    What a hand put there that is no text counts as absent; without content there is no text.
    """
    if not isinstance(content, str):
        return ""
    name = title.replace("_", " ") if isinstance(title, str) else ""
    others = ", ".join(stored_list(aliases))
    named = f"{name} ({others})".strip() if others else name
    return "\n".join(part for part in (named, content) if part)


def text_hash(title: object, aliases: object, content: object) -> str:
    """The hash of the embedded text; of content alone it is `content_hash`."""
    whole = normalised(embedded_text(title, aliases, content))
    return _hash(whole) if whole else UNEMBEDDABLE


def stored_list(text: object) -> list[str]:
    """A list of text as it is stored, a JSON array; what is no such thing counts as empty."""
    try:
        found = json.loads(text) if isinstance(text, str) else []
    except (ValueError, RecursionError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def normalised(text: str) -> str:
    """Text by which two memories are the same: composed characters, single white space.

    Not NFKC and not case-folded: `2²` is not `22`, and `-V` is not `-v`.
    """
    # White space as `\s` knows it, at a tenth of the time that a regular expression takes.
    return " ".join(unicodedata.normalize("NFC", text).split())


def content_hash(text: str) -> str:
    """The hash of the normalised text, as `memory.content_hash` holds it."""
    return _hash(normalised(text))


def _hash(text: str) -> str:
    from satchel_sync import digest  # it loads OpenSSL, and who only reads hashes nothing

    return digest.text_hash(text)
