"""Machines whose writes and reads are audited, and the hub that keeps the chains of all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from fix_audit import openssl
from fix_hub import HubWorld
from fix_machines import Machine
from fix_memory import StillClock

from satchel.audit import beside, chain, place
from satchel.audit.auditor import MachineAuditor
from satchel.audit.outbox import AuditOutbox
from satchel.config import Settings
from satchel.memory.visibility import Caller
from satchel.replica import DATABASE_FILE, Replica
from satchel.store.activity import Trace
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_crypto.audit_record import CHAINS
from satchel_sync.ports import Hub
from satchel_sync.session import sync
from satchel_warehouse.admin import audit as look
from satchel_warehouse.audit import found
from satchel_warehouse.audit.found import Own
from satchel_warehouse.endpoint import WarehouseHub


@dataclass
class Audited(Machine):
    """A machine whose writes and reads are audited."""

    settings: Settings

    @staticmethod
    def at(home: Path, dsn: str, clock: StillClock | None = None) -> Audited:
        """Open or make the machine in that home."""
        settings = Settings(home=home, durability="process")
        clock = clock or StillClock(SYSTEM_CLOCK.now_ms())
        store = Store.open(
            home / DATABASE_FILE,
            durability="process",
            clock=clock,
            auditor=MachineAuditor(settings),
        )
        return Audited(store, clock, WarehouseHub(dsn), settings)

    @property
    def replica(self) -> Replica:
        return Replica(self.store, self.settings, Caller(None, "una", "operator"))

    def endpoint(self, *, adopt: bool = False) -> SqliteReplica:
        """The replica as a sync sees it."""
        return SqliteReplica(self.store, adopt=adopt, audit=AuditOutbox(self.store, self.settings))

    def sync(self, hub: Hub | None = None) -> dict[str, Any]:
        return sync(self.endpoint(), hub or self.hub, self.clock)

    def read(self, *keys: str) -> None:
        """Leave the trace of a read."""
        rows = tuple(("memory", key) for key in keys)
        trace = Trace(at=self.clock.now_ms(), actor="una", tool="memory_search", rows=rows)
        activity = self.replica.activity
        while not activity.record(trace):
            pass  # another one is writing for long
        activity.close()

    def work(self, number: int) -> None:
        """A write and a read."""
        self.put(f"m{number}", f"text {number}")
        self.read(f"m{number}")

    def held(self) -> dict[str, list[tuple[int, str, bytes]]]:
        """Chain -> (number, body, link) of what this machine holds under its id of now."""
        kept = {}
        for name in CHAINS:
            with place.opened(self.store, name) as db:
                assert db is not None
                rows = chain.records(db, self.store.replica_id)
                kept[name] = [(one.seq, one.body, one.link) for one in rows]
        return kept

    def close(self) -> None:
        self.hub.close()
        self.store.close()


@dataclass
class Audience:
    """The hub of audited machines."""

    world: HubWorld
    folder: Path
    machines: dict[str, Audited] = field(default_factory=dict)

    def machine(self, name: str) -> Audited:
        """The machine of that name, made when it is first named."""
        if name not in self.machines:
            self.machines[name] = Audited.at(self.folder / name, self.world.login())
        return self.machines[name]

    def holds(self, machine: Audited) -> dict[str, list[tuple[int, str, bytes]]]:
        """What the hub holds of a machine, as `held`."""
        query = (
            "SELECT seq, body, link FROM satchel.audit WHERE replica_id = %s AND chain = %s"
            " ORDER BY seq"
        )
        with psycopg.connect(self.world.dsn) as db:
            return {
                name: db.execute(query, (machine.store.replica_id, name)).fetchall()
                for name in CHAINS
            }

    def require_whole(self) -> None:
        """Two quiet rounds, and the hub holds every record of every machine; nothing is wrong."""
        for machine in [*self.machines.values()] * 2:
            report = machine.sync()
            assert (report["exit"], report["audit"]["refused"]) == (0, {})
        for machine in self.machines.values():
            assert self.holds(machine) == machine.held()
            own = {
                key: Own(last=one.last, sent=one.sent, link_at=one.link_at)
                for key, one in beside.own(machine.store).items()
            }
            assert [one.faults for one in self.looked(own)] == [[]] * len(self.looked(own))
            assert beside.waiting(machine.store) == {}

    def looked(self, own: dict[tuple[str, str], Own] | None = None) -> list[found.Chain]:
        """What an auditor finds."""
        return look(self.world.dsn, openssl(), own=own)

    def faults(self) -> list[tuple[str, str]]:
        """(chain, fault) of all that is wrong at the hub."""
        return [(one.name.chain, what.fault) for one in self.looked() for what in one.faults]


@contextmanager
def gathered(world: HubWorld, folder: Path) -> Iterator[Audience]:
    """An audience without machines; what was opened in it is closed."""
    made = Audience(world, folder)
    try:
        yield made
    finally:
        for machine in made.machines.values():
            machine.close()
