"""Tools on agents: register, heartbeat, list, get, offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from satchel.memory import agents
from satchel.tools.kinds import Range, Share, Text
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica

Lease = Annotated[int, Range(1, 7 * 86_400)]
State = Literal["alive", "stale", "offline"]


@tool(positional=("id",))
def agent_register(
    replica: Replica,
    id: str,  # noqa: A002 (the column's name)
    description: Text | None = None,
    capabilities: list[str] | None = None,
    trust: Share | None = None,
    lease: Lease | None = None,
) -> dict[str, Any]:
    """Make an agent known, or tell more about it.

    id: The agent's name
    description: What it does
    capabilities: What it can
    trust: How far it is to be trusted, 0 to 1; no agent says that of itself
    lease: Seconds for which it counts as alive after each sign of life; 900 if it never said
    """
    return agents.register(
        replica,
        id,
        description=description,
        capabilities=capabilities,
        trust=trust,
        lease_ms=None if lease is None else lease * 1000,
    )


@tool(positional=("id",))
def agent_heartbeat(
    replica: Replica,
    id: str,  # noqa: A002
    lease: Lease | None = None,
) -> dict[str, Any]:
    """Say that an agent is alive.

    id: The agent's name
    lease: Seconds for which it counts as alive from now on, and after each further sign of life
    """
    return agents.heartbeat(replica, id, lease_ms=None if lease is None else lease * 1000)


@tool(writes=False)
def agent_list(
    replica: Replica, state: State | None = None, capability: str | None = None
) -> dict[str, Any]:
    """List the agents and whether each is alive.

    state: Only these: stale is one whose lease has run out, offline one that said so
    capability: Only those that can do this
    """
    return agents.list_agents(replica, state=state, capability=capability)


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
