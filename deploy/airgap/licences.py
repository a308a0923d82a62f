"""The licence texts of all that is in a kit, out of the wheels.

What has none is named: somebody has to look for it. The texts of the crates that are compiled into
satchel-native lie in its wheel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = "licences"
INDEX = "INDEX.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Licensed:
    """One part of the kit; `title` is the folder under licences/ where its texts go."""

    title: str
    licence: str
    texts: dict[str, bytes]


def write(parts: Iterable[Licensed], out: Path) -> list[str]:
    """Write the texts, and a list of all parts; the titles of those without a text."""
    parts = sorted(parts, key=lambda one: one.title)
    for part in parts:
        folder = out / FOLDER / part.title
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in part.texts.items():
            (folder / _plain(name)).write_bytes(text)
    lines = [
        f"{one.title}\t{one.licence or 'unknown'}\t{', '.join(map(_plain, sorted(one.texts)))}\n"
        for one in parts
    ]
    (out / FOLDER / INDEX).write_text("".join(lines), "utf-8", newline="\n")
    return [one.title for one in parts if not one.texts]


def _plain(name: str) -> str:
    """A name without what a file system, or the list of sums, does not take."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name.replace("/", "__"))
