"""The configuration: where it is, and variables that nobody reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from satchel import config
from satchel.doctor.check import Check

if TYPE_CHECKING:
    from satchel.config import Settings


def configuration(settings: Settings) -> Check:
    """Read already; a variable that no setting has warns."""
    path = settings.home / config.CONFIG_FILE
    strange = config.unknown_variables()
    found = f"{path}" if path.exists() else f"no {path}: defaults and environment"
    if not strange:
        return Check(name="config", ok="ok", found=found)
    names = ", ".join(f"{name} ({hint})" if hint else name for name, hint in strange)
    return Check(
        name="config",
        ok="warn",
        found=f"{found}; unknown variables: {names}",
        why="a misspelt variable changes nothing",
        fix="spell it as `satchel config show --origin` does, or unset it",
    )
