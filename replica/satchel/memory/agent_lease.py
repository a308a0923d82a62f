"""Whether an agent is alive: a lease from its last sign of life, exact on the machine it is on.

A lease stays on its machine. What travels is `agent.last_seen`, in steps of five minutes: elsewhere
an agent counts as alive for a quarter of an hour after the last sign that arrived.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from satchel.memory.limits import ALIVE_MS

if TYPE_CHECKING:
    from apsw import Connection

    from satchel_sync.tables import Agent

ACTIVE, OFFLINE = "active", "offline"
"""`agent.status`: what an agent has said of itself."""
STATES = ("alive", "stale", "offline")
"""How it is: within its lease, not heard of for longer, or ended by its own word."""


@dataclass(frozen=True, slots=True)
class Lease:
    """How long a sign of life counts, and when this machine heard the last one (UTC ms)."""

    lease_ms: int
    seen_at: int


def renew(db: Connection, agent_id: str, lease_ms: int | None, now_ms: int) -> Lease:
    """Note a sign of life; without `lease_ms` the lease is as long as it was."""
    known = held(db, [agent_id]).get(agent_id)
    lease = Lease(lease_ms or (known.lease_ms if known else ALIVE_MS), now_ms)
    db.execute(
        "INSERT INTO agent_lease(agent_id, lease_ms, seen_at) VALUES(?, ?, ?)"
        " ON CONFLICT(agent_id) DO UPDATE SET lease_ms = excluded.lease_ms,"
        " seen_at = excluded.seen_at",
        (agent_id, lease.lease_ms, lease.seen_at),
    )
    return lease


def held(db: Connection, agents: Collection[str]) -> dict[str, Lease]:
    """The leases that this machine knows of these agents."""
    found: list[Any] = db.execute(
        "SELECT agent_id, lease_ms, seen_at FROM agent_lease"
        " WHERE agent_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(agents)),),
    ).fetchall()
    return {agent_id: Lease(lease_ms, seen_at) for agent_id, lease_ms, seen_at in found}


def liveness(agent: Agent, lease: Lease | None, now_ms: int) -> dict[str, Any]:
    """`state`, `alive`, `alive_until`, `last_seen` and `lease_s`, None where that is not known.

    Pure. Of what was heard here and what has travelled the later counts.
    """
    seen, until = agent.last_seen, None if agent.last_seen is None else agent.last_seen + ALIVE_MS
    if lease is not None and lease.seen_at >= (seen or 0):
        seen, until = lease.seen_at, lease.seen_at + lease.lease_ms
    within = until is not None and now_ms < until
    state = "offline" if agent.status == OFFLINE else "alive" if within else "stale"
    return {
        "last_seen": seen,
        "state": state,
        "alive": state == "alive",
        "alive_until": until,
        "lease_s": None if lease is None else lease.lease_ms / 1000,
    }
