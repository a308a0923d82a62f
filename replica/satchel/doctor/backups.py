"""The backups of this home: how old the newest is, and whether each could be put back.

One that could not is never called rubbish: it may hold the only copy of what never synced.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.backup.making import told
from satchel.doctor.check import Check
from satchel.errors import SatchelError, StoreNewer
from satchel.store.backups import BEFORE

if TYPE_CHECKING:
    from satchel.config import Settings

KEEP = (
    'keep them until you know what is in them: docs/OPERATIONS.md, "The file is damaged", says'
    " how to read what can be read"
)
WHY = "it may hold the only copy of what never synced, and `satchel restore` does not take it"


def backups(settings: Settings) -> Check:
    """What `satchel backup --list` tells. A damaged file that a restore put aside is no fault."""
    found = listed(settings)
    whole = [one for one in found if not one["problem"]]
    aside = [one for one in found if one["problem"] and one["reason"] == BEFORE]
    broken = [one for one in found if one["problem"] and one not in aside]
    parts = [_newest(whole, first=not found)]
    parts += [_aside(aside)] if aside else []
    if not broken:
        return Check(name="backups", ok="ok", found="; ".join(parts))
    parts += [f"{one['backup']}: {one['problem']}" for one in broken]
    fixes = [] if whole else ["`satchel backup` makes a whole one"]
    fixes += dict.fromkeys(_fix(Path(one["backup"])) for one in broken)
    return Check(name="backups", ok="warn", found="; ".join(parts), why=WHY, fix="; ".join(fixes))


def listed(settings: Settings) -> list[dict[str, Any]]:
    """Every backup, the newest first."""
    from satchel.backup.listing import list_

    items: list[dict[str, Any]] = list_(settings)["items"]
    return items


def _newest(whole: list[dict[str, Any]], *, first: bool) -> str:
    if not whole:
        return "none yet: `satchel backup` makes one" if first else "none that can be restored"
    return f"{len(whole)}, the newest {whole[0]['backup']} of {whole[0]['made_at']}"


def _aside(kept: list[dict[str, Any]]) -> str:
    places = ", ".join(f"{one['backup']} ({one['problem']})" for one in kept)
    return f"damaged files that a restore put aside, maybe with what never synced: {places}; {KEEP}"


def _fix(path: Path) -> str:
    """Nothing that deletes."""
    try:
        told(path)
    except StoreNewer as error:
        return error.hint
    except SatchelError:
        return KEEP
    return KEEP
