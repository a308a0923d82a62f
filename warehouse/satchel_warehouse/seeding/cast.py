"""Who takes part: machines, the agents on them, spaces and models; and when they work."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from satchel_sync.tables import Agent, Space
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.made import Made

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
DAYS = 180
"""How far back the organisation's life goes."""
ROLES = ("planner", "coder", "reviewer", "tester", "writer", "support", "analyst", "operator")
SPACES = ("platform", "payments", "search", "website", "support", "research", "legal", "operations")
AGENTS_A_MACHINE = 4


@dataclass(frozen=True)
class Cast:
    """The organisation `tenant` made of `seed`, on so many machines; its life ends at `end_ms`."""

    tenant: str
    seed: int
    machines: int
    end_ms: int

    def draw(self, *names: str | int) -> Draw:
        """A stream of chance for one purpose."""
        return Draw(self.tenant, self.seed, *names)

    @property
    def begin_ms(self) -> int:
        """When it began: midnight (UTC), `DAYS` before its end."""
        return (self.end_ms // DAY_MS - DAYS) * DAY_MS

    @cached_property
    def replica_ids(self) -> tuple[bytes, ...]:
        """The machines' ids."""
        return tuple(self.draw("machine", at).data(16) for at in range(self.machines))

    def host(self, machine: int) -> str:
        """A name that no machine can have (RFC 6761)."""
        return f"seeded-{machine + 1:02}.invalid"

    @cached_property
    def agents(self) -> tuple[tuple[str, ...], ...]:
        """Machine -> the names of the agents that work there."""
        return tuple(
            tuple(
                f"{ROLES[(machine * 3 + at) % len(ROLES)]}-{machine + 1:02}"
                for at in range(AGENTS_A_MACHINE)
            )
            for machine in range(self.machines)
        )

    @cached_property
    def hours(self) -> tuple[int, ...]:
        """Starts of hours in order, busy ones many times: days of work, growing in half a year."""
        first, last = self.begin_ms // HOUR_MS, self.end_ms // HOUR_MS
        return tuple(
            hour * HOUR_MS for hour in range(first, last + 1) for _ in range(_busy(hour, first))
        )

    def moment(self, draw: Draw, part: float) -> int:
        """A moment (UTC ms) when that part (0..1) of all work was done."""
        hour = self.hours[min(int(part * len(self.hours)), len(self.hours) - 1)]
        return hour + draw.below(min(HOUR_MS, self.end_ms - hour + 1))

    def opening(self) -> Iterator[Made]:
        """The rows of which there are few: spaces and agents."""
        for at, name in enumerate(SPACES):
            space = Space(
                name=name,
                description=f"[seeded] what the {name} team shares",
                members=json.dumps([agents[0] for agents in self.agents[:5]]),
                created_at=self.begin_ms + at,
            )
            yield Made(space, self.begin_ms + at, 0)
        for machine, names in enumerate(self.agents):
            for name in names:
                agent = Agent(
                    agent_id=name,
                    description=f"[seeded] a {name.partition('-')[0]}",
                    capabilities='["read", "write"]',
                    trust=0.5 + machine % 5 / 10,
                    registered_at=self.begin_ms + machine,
                    status="active",
                    last_seen=self.end_ms - machine * HOUR_MS,
                )
                yield Made(agent, self.begin_ms + machine, machine)


def uuid7(draw: Draw, at_ms: int) -> str:
    """A UUIDv7 (RFC 9562) of that moment."""
    digits = f"{at_ms & (1 << 48) - 1:012x}7{draw.bits() & 0xFFF:03x}"
    tail = f"{draw.bits() & (1 << 62) - 1 | 1 << 63:016x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:]}-{tail[:4]}-{tail[4:]}"


def _busy(hour: int, first: int) -> int:
    """How much is done in an hour; both are numbers of hours since 1970, which a Thursday began."""
    day, time = divmod(hour, 24)
    growth = 2 + 4 * (day - first // 24) // DAYS
    working = 6 if 8 <= time < 18 else 2 if 18 <= time < 22 else 1
    return growth * (working if (day + 3) % 7 < 5 else 1)
