"""Secrets in what is written: they are told of, replaced, or the write is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from satchel.errors import Refused
from satchel.redaction import Redacted, redact

Mode = Literal["warn", "redact", "refuse"]
JSON_COLUMNS = ("metadata", "aliases")


@dataclass(frozen=True, slots=True)
class Guarded:
    """The columns as they are to be written, what to tell the writer, how many were replaced."""

    columns: dict[str, Any]
    warnings: list[str]
    redactions: int


def guarded(mode: Mode, setting: str, columns: dict[str, Any]) -> Guarded:
    """Columns that were checked already; what is no text passes. `setting` is the mode's name.

    Raises Refused naming the column and the kinds, never the secret.
    """
    kept, warnings, count = dict(columns), list[str](), 0
    for column, value in columns.items():
        found = redact(value) if isinstance(value, str) else None
        if found is None or not found.found:
            continue
        field = "text" if column == "content" else column
        kinds = ", ".join(found.kinds)
        if mode == "refuse":
            raise Refused(
                f"`{field}` seems to hold a secret ({kinds}): nothing was written",
                hint=f"leave it out; `satchel secret set` is the place for it, or set `{setting}`",
                field=field,
            )
        if mode == "warn":
            warnings.append(
                f"`{field}` seems to hold a secret ({kinds}): it is stored as it is and will be "
                f"synced; to undo it `memory forget` it, to have it replaced set `{setting}`"
            )
            continue
        kept[column] = _in_json(value, found) if column in JSON_COLUMNS else found.text
        count += len(found.found)
        warnings.append(f"`{field}` held a secret ({kinds}): it was replaced")
    return Guarded(kept, warnings, count)


def _in_json(text: str, found: Redacted) -> str:
    """The redacted text where it is still JSON; a secret across several values takes them all."""
    try:
        json.loads(found.text)
    except ValueError:
        marks = [f"[redacted: {kind}]" for kind in found.kinds]
        return json.dumps({"redacted": marks} if text.lstrip().startswith("{") else marks)
    return found.text
