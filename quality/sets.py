"""All quality sets by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from quality import cranfield, locomo, longmemeval, notes, precision, synthetic
from quality.question import QualitySet


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where data lies that is not ours to copy."""

    data: Path
    longmemeval: Path | None = None
    cranfield: Path | None = None


def every(places: Places) -> Mapping[str, QualitySet]:
    """Name -> set, in the order of the page; none has read its data yet."""
    held = [
        *locomo.sets(places.data),
        *precision.sets(places.data),
        *notes.sets(),
        *synthetic.sets(),
        *longmemeval.sets(places.longmemeval or places.data / longmemeval.FILE),
        *cranfield.sets(places.cranfield or places.data / cranfield.FOLDER),
    ]
    return {one.name: one for one in held}
