"""Real machines for sync tests: a SQLite file each, a login each, a clock that a test moves."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fix_hub import HubWorld
from fix_lossy import LossyHub
from fix_memory import StillClock

from satchel.config import Settings
from satchel.memory.visibility import Caller
from satchel.replica import DATABASE_FILE, Replica
from satchel.store import rows
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.digest import BUCKETS
from satchel_sync.ports import Hub
from satchel_sync.session import sync
from satchel_sync.stamp import Stamp
from satchel_sync.tables import MEMORY, TABLES, Memory, Table
from satchel_warehouse.endpoint import WarehouseHub

DAY_MS = 24 * 60 * 60 * 1000


@dataclass
class Machine:
    """A replica on disk and its way to the hub."""

    store: Store
    clock: StillClock
    hub: WarehouseHub

    @property
    def replica(self) -> Replica:
        """The store as its operator."""
        return Replica(self.store, Settings(home=self.store.home), Caller(None, "una", "operator"))

    def sync(self, hub: Hub | None = None) -> dict[str, Any]:
        """One sync, over another hub when one is given (a lossy one)."""
        return sync(SqliteReplica(self.store), hub or self.hub, self.clock)

    def lossy(self, break_at: int, *, answer_lost: bool) -> LossyHub:
        """This machine's hub behind a network that fails at call `break_at`."""
        return LossyHub(self.hub, break_at, answer_lost)

    def put(self, key: str, text: str) -> None:
        """Write a memory's text: create, edit or restore."""
        with self.store.write() as db:
            if rows.get(db, MEMORY, key) is None:
                rows.insert(db, Memory(id=key, type="note", content=text, scope="org"))
            else:
                rows.update(db, MEMORY, key, content=text)

    def delete(self, table: Table, key: str) -> None:
        """Delete a row."""
        with self.store.write() as db:
            assert rows.delete(db, table, key)

    def text(self, key: str) -> str | None:
        """The text of a live memory, None if it is dead or was never here."""
        with self.store.read() as db:
            found = rows.get(db, MEMORY, key)
            return None if found is None else found.content

    def sql(self, statement: str, *given: Any) -> list[Any]:
        """Rows of a plain statement."""
        with self.store.read() as db:
            return db.execute(statement, given).fetchall()

    def versions(self) -> dict[str, dict[str, Stamp]]:
        """Kind -> key -> version of all that should be at the hub."""
        replica = SqliteReplica(self.store)
        return {t.name: dict(replica.manifest(t, range(BUCKETS))) for t in TABLES}


@dataclass
class Fleet:
    """Machines that share a hub."""

    world: HubWorld
    folder: Path
    machines: dict[str, Machine] = field(default_factory=dict)

    def machine(self, name: str) -> Machine:
        """The machine of that name, made on first use; its clock shows the time of its making."""
        if name not in self.machines:
            clock = StillClock(SYSTEM_CLOCK.now_ms())
            path = self.folder / name / DATABASE_FILE
            store = Store.open(path, durability="process", clock=clock)
            hub = WarehouseHub(self.world.login())
            self.machines[name] = Machine(store, clock, hub)
        return self.machines[name]

    def pair(self) -> tuple[Machine, Machine]:
        """Two machines, a and b."""
        return self.machine("a"), self.machine("b")

    def quiet(self) -> None:
        """Two rounds of syncs, after which all machines must hold the same versions."""
        for _ in range(2):
            reports = [machine.sync() for machine in self.machines.values()]
        assert [(0, "equal", True)] * len(reports) == [
            (report["exit"], report["digest"], report["noop"] or not report["kinds"])
            for report in [machine.sync() for machine in self.machines.values()]
        ]
        first, *others = [machine.versions() for machine in self.machines.values()]
        assert all(first == other for other in others)

    def journal(self) -> list[tuple[str, str]]:
        """(kind, key) of every entry in the hub's conflict journal."""
        return self.world.psql().execute("SELECT kind, key FROM satchel.conflict").fetchall()

    def close(self) -> None:
        """Close what was opened."""
        for machine in self.machines.values():
            machine.hub.close()
            machine.store.close()


def row_with(memory: Memory, **columns: Any) -> Memory:
    """A copy of a memory with other columns."""
    return replace(memory, **columns)
