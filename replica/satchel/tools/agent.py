"""Tools on agents: register, heartbeat, list, get, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.memory import agents
from satchel.tools.kinds import Text
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(positional=("id",))
def agent_register(
    replica: Replica,
    id: str,  # noqa: A002 (the column's name)
    description: Text | None = None,
    capabilities: list[str] | None = None,
) -> dict[str, Any]:
    """Make an agent known, or tell more about it.

    id: The agent's name
    description: What it does
    capabilities: What it can
    """
    return agents.register(replica, id, description=description, capabilities=capabilities)


@tool(positional=("id",))
def agent_heartbeat(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Say that an agent is alive.

    id: The agent's name
    """
    return agents.heartbeat(replica, id)


@tool(writes=False)
def agent_list(replica: Replica) -> dict[str, Any]:
    """List the agents and whether each is alive."""
    return agents.list_agents(replica)


@tool(positional=("id",), writes=False)
def agent_get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Read what is known of an agent.

    id: The agent's name
    """
    return agents.get(replica, id)


@tool(positional=("id",))
def agent_offline(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Say that an agent has ended.

    id: The agent's name
    """
    return agents.offline(replica, id)
