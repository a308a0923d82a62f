"""Tools on this machine's satchel, for its operator: doctor and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(writes=False, operator_only=True, outside=True)
def admin_doctor(replica: Replica) -> dict[str, Any]:
    """What is well on this machine, what is not, and how to mend it."""
    from satchel import doctor

    return doctor.told(replica.settings)


@tool(writes=False, operator_only=True)
def admin_config(replica: Replica) -> dict[str, Any]:
    """Every setting, its value and where that came from; passwords are masked."""
    from satchel import config

    return {"settings": config.show(replica.settings)}
