"""Tools on the sync of this machine: run it, see how it stands, what it put aside and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(outside=True)
def sync_run(replica: Replica) -> dict[str, Any]:
    """Reconcile this replica with its warehouse, both ways; what was moved is the operator's."""
    from satchel import peers
    from satchel.syncing import told

    return told.report(replica.caller, peers.sync_once(replica.settings))


@tool(writes=False)
def sync_status(replica: Replica) -> dict[str, Any]:
    """How the last syncs went and whether this machine gets on; what waits is the operator's."""
    from satchel.syncing import status, told

    return told.standing(replica.caller, status.status(replica.store))


@tool(outside=True, operator_only=True)
def sync_verify(replica: Replica, repair: bool = False) -> dict[str, Any]:
    """Read and compare every row of this replica and the warehouse.

    repair: Sync, and heal what is damaged from the other side
    """
    from satchel import peers

    return peers.sync_verify(replica.settings, repairing=repair)


@tool(writes=False)
def sync_conflicts_list(replica: Replica) -> dict[str, Any]:
    """The writes on this machine that a later one replaced."""
    from satchel.syncing import conflicts

    return {"items": conflicts.listed(replica)}


@tool(positional=("id",), writes=False)
def sync_conflicts_show(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """One lost version beside what is held now, column by column.

    id: A lost version, 8 or more of its first or last digits, or a row's id
    """
    from satchel.syncing import conflicts

    return conflicts.show(replica, id)


@tool(positional=("id",))
def sync_conflicts_restore(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Make a lost version the newest one; what it replaces stays in the row's history.

    id: A lost version, 8 or more of its first or last digits, or a row's id
    """
    from satchel.syncing import conflicts

    return conflicts.restore(replica, id)


@tool(writes=False)
def sync_quarantine(replica: Replica) -> dict[str, Any]:
    """Rows that the warehouse or this replica could not take, and why."""
    from satchel.syncing import held_back

    return {"items": held_back.listed(replica)}


@tool(positional=("id",), writes=False)
def sync_explain(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """Where one row stands: who wrote it, whether it was sent, why it stays.

    id: Of a row of any kind
    """
    from satchel.syncing import explain

    return explain.explain(replica, id)
