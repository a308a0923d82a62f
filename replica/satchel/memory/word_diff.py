"""Two wordings of a text as one line of words: `[-gone-]` and `{+new+}`, as `git diff` has them."""

from __future__ import annotations

import re

COMPARED_CHARS_MAX = 20_000
"""Longer texts are not compared: the time grows with the square of their length."""
_PIECES = re.compile(r"\s+|\w+|[^\w\s]")


def word_diff(old: str, new: str) -> str | None:
    """What changed, in the format of git's `--word-diff=plain`; None for very long texts."""
    if len(old) + len(new) > COMPARED_CHARS_MAX:
        return None
    import difflib  # few commands need it

    before, after = _PIECES.findall(old), _PIECES.findall(new)
    parts: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
        if tag == "equal":
            parts += before[a:b]
            continue
        parts += [f"[-{''.join(before[a:b])}-]"] if b > a else []
        parts += [f"{{+{''.join(after[c:d])}+}}"] if d > c else []
    return "".join(parts)
