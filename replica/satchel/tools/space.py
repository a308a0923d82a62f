"""Tools on spaces: list, get, grant, revoke, members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from satchel.memory import spaces
from satchel.tools.kinds import Count, Text
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(writes=False)
def space_list(replica: Replica, limit: Count = 50, after: str | None = None) -> dict[str, Any]:
    """List spaces and who may read and write there.

    limit: How many at most
    after: Go on behind the `next` of the answer before
    """
    return spaces.list_spaces(replica, limit=limit, after=after)


@tool(positional=("name",), writes=False)
def space_get(replica: Replica, name: str) -> dict[str, Any]:
    """Read a space: its members and grants, or that it is open to all.

    name: The space
    """
    return spaces.get(replica, name)


@tool(positional=("name", "agents"))
def space_grant(
    replica: Replica,
    name: str,
    agents: list[str],
    right: Literal["read", "write"] = "read",
    description: Text | None = None,
) -> dict[str, Any]:
    """Let agents into a space. The first grant closes it to all others.

    name: The space; an unknown one is made
    agents: Agents, or * for everyone
    right: What they may do there; write includes read
    description: What the space is for
    """
    return spaces.grant(replica, name, agents, right=right, description=description)


@tool(positional=("name", "agents"))
def space_revoke(replica: Replica, name: str, agents: list[str]) -> dict[str, Any]:
    """Take agents' rights in a space away, membership too.

    name: The space
    agents: Agents, or * for what everyone was granted
    """
    return spaces.revoke(replica, name, agents)


@tool(positional=("name",))
def space_members(
    replica: Replica,
    name: str,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    description: Text | None = None,
) -> dict[str, Any]:
    """Add and remove members of a space, who read, write and let others in.

    name: The space; an unknown one is made
    add: Agents that become members
    remove: Agents that are members no more
    description: What the space is for
    """
    return spaces.change_members(replica, name, add=add, remove=remove, description=description)
