"""What only the operator of a machine may ask for: its secrets, its keys, its audit."""

from __future__ import annotations

from satchel.cli.door import Door
from satchel.errors import Refused


def require_operator(door: Door, what: str) -> None:
    """Raise Refused where anybody else asks; advisory isolation opens rows, not this."""
    if door.settings.role != "operator":
        raise Refused(
            f"{what} for the operator of this machine, and the {door.settings.role}"
            f" {door.settings.agent_id or 'without a name'} asked",
            hint="run it without --agent and SATCHEL_AGENT, as the operator",
            field="agent",
        )
