"""What changed in a row, as its machine wrote it down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from satchel_sync.digest import derived_id
from satchel_sync.tables import History
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.made import Made


def past(
    draw: Draw,
    kind: str,
    key: str,
    event: str,
    changes: Mapping[str, Sequence[object]],
    actor: str | None,
    at: int,
    machine: int,
) -> Made:
    """A history row of one change."""
    told = json.dumps(changes, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    row = History(
        id=derived_id(kind, key, draw.bits()),
        kind=kind, key=key, event=event, changes=told, actor=actor, at=at,
    )  # fmt: skip
    return Made(row, at, machine, rank=3)
