"""Tools on this machine's audit, for its operator: who read and wrote what, and is it whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from satchel.tools.kinds import Range, Time
from satchel.tools.tool import tool

if TYPE_CHECKING:
    from satchel.replica import Replica


@tool(writes=False, operator_only=True)
def audit_log(
    replica: Replica,
    since: Time | None = None,
    until: Time | None = None,
    actor: str | None = None,
    row: str | None = None,
    chain: Literal["writes", "reads"] | None = None,
    limit: Annotated[int, Range(1, 1000)] = 50,
) -> dict[str, Any]:
    """Who read and wrote which rows, the newest first; ids only, never a text.

    since: From then on
    until: Before
    actor: By this agent or user only
    row: About this row (8 or more digits of its id)
    chain: Writes or reads only
    limit: How many at most
    """
    from satchel.audit.log import Wanted, log
    from satchel_crypto.audit_record import CHAINS

    chains = CHAINS if chain is None else (chain,)
    wanted = Wanted(since=since, until=until, actor=actor, row=row, chains=chains, limit=limit)
    return {"items": log(replica.store, wanted)}


@tool(writes=False, operator_only=True, outside=True)
def audit_verify(replica: Replica) -> dict[str, Any]:
    """Check every link of both chains and every row of this machine."""
    from satchel.audit import checking

    return checking.told(replica.store, replica.settings)
