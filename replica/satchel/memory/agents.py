"""Agents: who they are, what they can, and whether they are alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from satchel.errors import Refused
from satchel.memory import text, view
from satchel.memory.limits import ALIVE_MS, LAST_SEEN_STEP_MS, LIST_ROWS_MAX
from satchel.memory.lookup import can_see, find, select
from satchel.store import rows
from satchel_sync.tables import AGENT, Agent

if TYPE_CHECKING:
    from satchel.replica import Replica

ACTIVE, OFFLINE = "active", "offline"


def register(
    replica: Replica,
    id: str,  # noqa: A002 - the column's name
    *,
    description: str | None = None,
    capabilities: Sequence[str] | None = None,
    trust: float | None = None,
) -> dict[str, Any]:
    """Make an agent known, or change what is given: the agent with `outcome` created or exists.

    Raises Refused when an agent registers another one.
    """
    key, now = _own(replica, id), replica.now_ms()
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
            return {**_view(agent, now), "outcome": "created"}
        seen = _seen(held, now)
        rows.update(db, AGENT, key, **given, **seen)
        return {**_view(replace(held, **given, **seen), now), "outcome": "exists"}


def heartbeat(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """The agent is alive; `last_seen` moves in steps of five minutes. Raises NotFound, Refused."""
    return _mark(replica, id, lambda held, now: _seen(held, now))


def offline(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """The agent has ended. Raises NotFound, Refused."""
    return _mark(replica, id, lambda held, now: {"status": OFFLINE})


def get(replica: Replica, id: str) -> dict[str, Any]:  # noqa: A002
    """One agent. Raises NotFound."""
    with replica.store.read() as db:
        return _view(find(db, replica.caller, Agent, id), replica.now_ms())


def list_agents(replica: Replica) -> dict[str, Any]:
    """Every agent, those that are alive first: `{items}`."""
    now = replica.now_ms()
    with replica.store.read() as db:
        where = can_see(replica.caller, "agent")
        found = select(
            db, Agent, where, replica.caller.params, f"ORDER BY t.agent_id LIMIT {LIST_ROWS_MAX}"
        )
    shown = [_view(one, now) for one in found]
    return {"items": sorted(shown, key=lambda one: (not one["alive"], one["agent_id"]))}


def _mark(replica: Replica, given: str, change: Any) -> dict[str, Any]:
    key, now = _own(replica, given), replica.now_ms()
    with replica.store.write(replica.actor) as db:
        held = find(db, replica.caller, Agent, key)
        changes = change(held, now)
        rows.update(db, AGENT, key, **changes)
        return _view(replace(held, **changes), now)


def _own(replica: Replica, given: str) -> str:
    key = text.name(given, "id")
    if replica.caller.role == "agent" and key != replica.caller.agent_id:
        raise Refused(
            f"this caller is not agent {key!r}",
            hint="who asks comes from the configuration (`--agent`, `SATCHEL_AGENT`)",
            field="id",
        )
    return key


def _seen(held: Agent, now_ms: int) -> dict[str, Any]:
    """Columns of a sign of life; none within a step, for each change would travel."""
    fresh = held.last_seen is not None and now_ms - held.last_seen < LAST_SEEN_STEP_MS
    if fresh and held.status == ACTIVE:
        return {}
    return {"last_seen": now_ms, "status": ACTIVE}


def _view(agent: Agent, now_ms: int) -> dict[str, Any]:
    until = None if agent.last_seen is None else agent.last_seen + ALIVE_MS
    alive = agent.status != OFFLINE and until is not None and now_ms < until
    return {**view.plain(agent), "alive": alive, "alive_until": until}
