"""Agents: who they are, what they can, and whether they are alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Refused
from satchel.memory import agent_lease, text, view
from satchel.memory.agent_lease import ACTIVE, OFFLINE, STATES, Lease
from satchel.memory.limits import AGENT_LEASE_MS_MAX, LAST_SEEN_STEP_MS, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, find, select
from satchel.store import rows
from satchel_sync.tables import AGENT, Agent

if TYPE_CHECKING:
    from satchel.replica import Replica


def register(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    description: str | None = None,
    capabilities: Sequence[str] | None = None,
    trust: float | None = None,
    lease_ms: int | None = None,
) -> dict[str, Any]:
    """Make an agent known, or change what is given: the agent with `outcome` created or exists.

    It counts as alive for `lease_ms` after each sign of life. Raises Refused when an agent
    registers another one, or says how far it is to be trusted itself.
    """
    key, now = _own(replica, id), replica.now_ms()
    _refuse_own_trust(replica, trust)
    lease_ms = _lease(lease_ms)
    given: dict[str, Any] = {
        "description": text.optional_long(description, "description"),
        "capabilities": text.json_list(text.names(capabilities, "capabilities")),
        "trust": text.share(trust, "trust"),
    }
    given = {name: value for name, value in given.items() if value is not None}
    with replica.store.write(replica.actor) as db:
        held = rows.get(db, AGENT, key)
        if held is None:
            agent = replace(
                Agent(agent_id=key, registered_at=now, status=ACTIVE, last_seen=now), **given
            )
            rows.insert(db, agent)
        else:
            seen = _seen(held, now)
            rows.update(db, AGENT, key, **given, **seen)
            agent = replace(held, **given, **seen)
        lease = agent_lease.renew(db, key, lease_ms, now)
        outcome = "created" if held is None else "exists"
        return {**_view(agent, lease, now), "outcome": outcome}


def heartbeat(
    replica: Replica,
    id: str,  # noqa: A002
    *,
    lease_ms: int | None = None,
) -> dict[str, Any]:
    """The agent is alive, for its lease from now on; `lease_ms` sets another one.

    This machine knows it exactly; `last_seen`, which travels, moves in steps of five minutes.
    Raises NotFound, Refused.
    """
    key, now, lease_ms = _own(replica, id), replica.now_ms(), _lease(lease_ms)
    with replica.store.write(replica.actor) as db:
        held = find(db, replica.caller, Agent, key)
        seen = _seen(held, now)
        rows.update(db, AGENT, key, **seen)
        lease = agent_lease.renew(db, key, lease_ms, now)
        return _view(replace(held, **seen), lease, now)


def offline(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """The agent has ended. Raises NotFound, Refused."""
    key = _own(replica, id)
    with replica.store.write(replica.actor) as db:
        held = find(db, replica.caller, Agent, key)
        rows.update(db, AGENT, key, status=OFFLINE)
        lease = agent_lease.held(db, [key]).get(key)
        return _view(replace(held, status=OFFLINE), lease, replica.now_ms())


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """One agent. Raises NotFound."""
    with replica.store.read() as db:
        found = find(db, replica.caller, Agent, id)
        lease = agent_lease.held(db, [found.agent_id]).get(found.agent_id)
        return _view(found, lease, replica.now_ms())


def list_agents(
    replica: Replica, *, state: str | None = None, capability: str | None = None
) -> dict[str, Any]:
    """Every agent, or those in a state or with a capability, those that are alive first: `{items}`.

    A state is alive, stale (its lease has run out) or offline (it said so).
    """
    now = replica.now_ms()
    state = None if state is None else text.one_of(state, STATES, "state")
    capability = text.optional_name(capability, "capability")
    with replica.store.read() as db:
        where = can_see(replica.caller, "agent")
        found = select(db, Agent, where, replica.caller.params)
        leases = agent_lease.held(db, [one.agent_id for one in found])
    able = [
        one
        for one in found
        if capability is None or capability in text.stored_list(one.capabilities)
    ]
    shown = [_view(one, leases.get(one.agent_id), now) for one in able]
    shown = [one for one in shown if state in (None, one["state"])]
    shown.sort(key=lambda one: (not one["alive"], one["agent_id"]))
    return {"items": shown[:LIST_ROWS_MAX]}


def _own(replica: Replica, given: str) -> str:
    key = text.name(given, "id")
    if replica.caller.role == "agent" and key != replica.caller.agent_id:
        raise Refused(
            f"this caller is not agent {key!r}",
            hint="who asks comes from the configuration (`--agent`, `SATCHEL_AGENT`)",
            field="id",
        )
    return key


def _refuse_own_trust(replica: Replica, trust: float | None) -> None:
    if trust is not None and replica.caller.role == "agent":
        raise Refused(
            "an agent does not say how far it is to be trusted",
            hint="the operator or a supervisor does",
            field="trust",
        )


def _lease(given: int | None) -> int | None:
    return text.optional_whole(given, "lease", 1, AGENT_LEASE_MS_MAX)


def _seen(held: Agent, now_ms: int) -> dict[str, Any]:
    """Columns of a sign of life; none within a step, for each change would travel."""
    fresh = held.last_seen is not None and now_ms - held.last_seen < LAST_SEEN_STEP_MS
    if fresh and held.status == ACTIVE:
        return {}
    return {"last_seen": now_ms, "status": ACTIVE}


def _view(agent: Agent, lease: Lease | None, now_ms: int) -> dict[str, Any]:
    return {**view.plain(agent), **agent_lease.liveness(agent, lease, now_ms)}
