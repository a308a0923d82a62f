"""The licence of a model: what its folder says, or who packs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from satchel.errors import InvalidInput, Refused

CARD = "README.md"
"""A model card: its front matter may name the licence."""
FILES = ("COPYING*", "LICENCE*", "LICENSE*", "NOTICE*")
SPDX = (
    *("AFL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC-BY-NC-4.0"),
    *("CC-BY-NC-ND-4.0", "CC-BY-NC-SA-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC0-1.0", "ISC"),
    *("MIT", "MPL-2.0", "Unlicense"),
)
"""Identifiers that model cards use, in lower case, as the SPDX list spells them."""
_SAID = re.compile(r"^licen[sc]e:\s*[\"']?([A-Za-z0-9.+-]+)[\"']?\s*$", re.MULTILINE)
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """An SPDX expression, files with the text, or both."""

    expression: str | None
    files: tuple[Path, ...]


def of(folder: Path, given: str | None) -> Licence:
    """The licence of the model in this folder; `given` stands above what it says.

    Raises InvalidInput for what is no SPDX expression, Refused where nobody tells it.
    """
    if given is not None and not _EXPRESSION.fullmatch(given):
        raise InvalidInput(
            f"{given!r} is no SPDX expression", hint="for example `Apache-2.0`", field="license"
        )
    files = tuple(sorted({path for name in FILES for path in folder.glob(name) if path.is_file()}))
    expression = given or _of_card(folder / CARD)
    if expression is None and not files:
        raise Refused(
            f"nothing in {folder} tells the model's licence",
            hint="`--licence Apache-2.0`, or put its LICENSE file into the folder",
            field="license",
        )
    return Licence(expression=expression, files=files)


def _of_card(card: Path) -> str | None:
    """What the front matter says, between the first two lines of `---`."""
    if not card.is_file():
        return None
    parts = card.read_text("utf-8", errors="replace").split("---", 2)
    found = _SAID.search(parts[1]) if len(parts) == 3 and not parts[0].strip() else None
    said = found.group(1).lower() if found else None
    return next((one for one in SPDX if one.lower() == said), None)
