"""Tools on the edges between memories: link, unlink, graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from satchel.memory import edges
from satchel.memory.limits import GRAPH_DEPTH_MAX
from satchel.tools.kinds import Id, Json, Range
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(positional=("from_id", "to_id", "type"))
def memory_link(
    replica: Replica,
    from_id: Id,
    to_id: Id,
    type: str,  # noqa: A002 (the column's name)
    weight: float | None = None,
    metadata: Json | None = None,
) -> dict[str, Any]:
    """Link one memory to another.

    from_id: The memory the edge starts at
    to_id: The memory it leads to
    type: relates_to, derived_from, contradicts, ...
    weight: How strong
    metadata: Anything else
    """
    return edges.link(replica, from_id, to_id, type, weight=weight, metadata=metadata)


@tool(positional=("from_id", "to_id", "type"))
def memory_unlink(
    replica: Replica,
    from_id: Id,
    to_id: Id,
    type: str,  # noqa: A002
) -> dict[str, Any]:
    """Remove the edge between two memories.

    from_id: The memory the edge starts at
    to_id: The memory it leads to
    type: The edge's type
    """
    return edges.unlink(replica, from_id, to_id, type)


@tool(positional=("id",), writes=False)
def memory_graph(
    replica: Replica,
    id: Id,  # noqa: A002
    depth: Annotated[int, Range(1, GRAPH_DEPTH_MAX)] = 1,
) -> dict[str, Any]:
    """The memories around one, and the edges between them.

    id: The memory in the middle
    depth: How many edges away
    """
    return edges.graph(replica, id, depth=depth)
