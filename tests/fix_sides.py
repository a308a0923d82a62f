"""Both sides of a sync under their contracts: each in memory, and the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest
from fix_hub import HubWorld, hello_of
from fix_sync import NOON_MS, FakeClock, memory_values

from satchel.store import rows
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import AuditRecord, PushAnswer, Row, Settled
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.ports import Hub, Replica
from satchel_sync.tables import BY_NAME, MEMORY, Memory, Table
from satchel_warehouse import admin
from satchel_warehouse.endpoint import WarehouseHub


class Doors(Protocol):
    """A hub's doors and what its administrator can do and see."""

    def connect(self, number: int) -> Hub:
        """A connection of one machine; no hello is said."""
        ...

    def revoke(self, replica_id: bytes) -> None:
        """Refuse a replica."""
        ...

    def take_back(self, replica_id: bytes) -> None:
        """Undo that."""
        ...

    def relayed(self) -> int:
        """Rows that were taken of origins which the hub does not know."""
        ...

    def journal(self) -> list[tuple[str, str]]:
        """(kind, key) of the conflict journal."""
        ...

    def damage(self, key: str, content: str) -> None:
        """Write a memory past the triggers."""
        ...

    def audit(self, replica_id: bytes) -> list[tuple[str, AuditRecord]]:
        """(chain, record) of a machine in order, chain by chain."""
        ...

    def audit_heads(self, replica_id: bytes) -> list[tuple[int, str]]:
        """(number, signature) of its signed heads."""
        ...

    def trouble(self) -> list[tuple[bytes, str, str, int]]:
        """(machine, chain, what, number) of audit records that were refused."""
        ...

    def cuts(self) -> list[tuple[bytes, str, int]]:
        """(machine, chain, number) of the last record that a machine pruned before it came."""
        ...


class MemoryDoors:
    """The doors of a hub in memory."""

    def __init__(self) -> None:
        self.hub = MemoryHub(FakeClock())

    def connect(self, number: int) -> Hub:
        return self.hub.connect()

    def revoke(self, replica_id: bytes) -> None:
        self.hub.state.revoke(replica_id)

    def take_back(self, replica_id: bytes) -> None:
        self.hub.state.take_back(replica_id)

    def relayed(self) -> int:
        return sum(self.hub.state.relayed.values())

    def journal(self) -> list[tuple[str, str]]:
        return [(kind, key) for kind, key, _ in self.hub.state.losers]

    def damage(self, key: str, content: str) -> None:
        self.hub.damage(MEMORY, key, memory_values(content))

    def audit(self, replica_id: bytes) -> list[tuple[str, AuditRecord]]:
        kept = self.hub.state.audit.records
        return [
            (chain, record) for one, chain in kept if one == replica_id
            for record in kept[one, chain]
        ]  # fmt: skip

    def audit_heads(self, replica_id: bytes) -> list[tuple[int, str]]:
        kept = self.hub.state.audit.heads
        mine = [heads for (one, _), heads in kept.items() if one == replica_id]
        return [(head.seq, head.signature) for heads in mine for head in heads]

    def trouble(self) -> list[tuple[bytes, str, str, int]]:
        return [(t.replica_id, t.chain, t.what, t.seq) for t in self.hub.state.audit.trouble]

    def cuts(self) -> list[tuple[bytes, str, int]]:
        kept = self.hub.state.audit.cuts
        return [(one, chain, cut.seq) for (one, chain), cuts in kept.items() for cut in cuts]


@dataclass
class WarehouseDoors:
    """The doors of the warehouse, each machine with a login of its own."""

    world: HubWorld
    logins: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Let the hub's clock show about what those of the machines do."""
        self.world.psql().execute(
            "UPDATE satchel.hub SET clock_correction_ms = %s - satchel.now_ms()", (NOON_MS,)
        )

    def connect(self, number: int) -> Hub:
        if number not in self.logins:
            self.logins[number] = self.world.login()
        hub = WarehouseHub(self.logins[number])
        self.world.hubs.append(hub)
        return hub

    def revoke(self, replica_id: bytes) -> None:
        assert admin.revoke_replica(self.world.dsn, replica_id)

    def take_back(self, replica_id: bytes) -> None:
        self.world.psql().execute(
            "UPDATE satchel.replica SET revoked_at = NULL, must_reconcile = true"
            " WHERE replica_id = %s",
            (replica_id,),
        )

    def relayed(self) -> int:
        found = self.world.psql().execute("SELECT coalesce(sum(rows), 0) FROM satchel.relayed")
        return int(found.fetchall()[0][0])

    def journal(self) -> list[tuple[str, str]]:
        found = self.world.psql().execute("SELECT kind, key FROM satchel.conflict")
        return [(str(kind), str(key)) for kind, key in found]

    def damage(self, key: str, content: str) -> None:
        db = self.world.psql()
        db.execute("SET session_replication_role = replica")
        db.execute("UPDATE satchel.memory SET content = %s WHERE id = %s", (content, key))

    def audit(self, replica_id: bytes) -> list[tuple[str, AuditRecord]]:
        found = self.world.psql().execute(
            "SELECT chain, seq, body, link, mac FROM satchel.audit WHERE replica_id = %s"
            " ORDER BY chain, seq",
            (replica_id,),
        )
        return [(chain, AuditRecord(*record)) for chain, *record in found]

    def audit_heads(self, replica_id: bytes) -> list[tuple[int, str]]:
        found = self.world.psql().execute(
            "SELECT seq, signature FROM satchel.audit_head WHERE replica_id = %s"
            " ORDER BY received_at, chain, seq",
            (replica_id,),
        )
        return [(int(seq), str(signature)) for seq, signature in found]

    def trouble(self) -> list[tuple[bytes, str, str, int]]:
        query = "SELECT replica_id, chain, what, seq FROM satchel.audit_trouble ORDER BY at"
        return [(bytes(one), *rest) for one, *rest in self.world.psql().execute(query)]

    def cuts(self) -> list[tuple[bytes, str, int]]:
        query = "SELECT replica_id, chain, seq FROM satchel.audit_cut ORDER BY at"
        return [(bytes(one), *rest) for one, *rest in self.world.psql().execute(query)]


@pytest.fixture(params=["memory", "warehouse"])
def doors(request: pytest.FixtureRequest) -> Doors:
    """The doors of a fresh hub."""
    if request.param == "memory":
        return MemoryDoors()
    return WarehouseDoors(request.getfixturevalue("hub_world"))


@pytest.fixture
def hub(doors: Doors) -> Hub:
    """A fresh hub to which machine 1 has said hello."""
    hub = doors.connect(1)
    hub.hello(hello_of(1, "attempt"))
    return hub


@dataclass
class Side:
    """A replica under test, how its user writes, deletes and forgets, and its clock."""

    replica: Replica
    put: Callable[[str, str], None]
    delete: Callable[[str], None]
    damage: Callable[[str, str], None]
    clock: FakeClock
    again: Callable[[bool], Replica]
    """The replica as it is after the file was opened anew; with `--adopt` or without."""
    settled: Settled = field(default_factory=Settled)

    def held(self, key: str, table: Table = MEMORY) -> Row:
        """The row of a key."""
        (row,) = self.replica.held(table, [key])
        return row

    def send(self, **answer: object) -> tuple[Row, ...]:
        """Take the outbox and settle it; accepted unless the answer says otherwise."""
        batch = self.replica.outgoing(MEMORY, 0, self.replica.outbox_end())
        assert batch is not None
        given = {"accepted": tuple(row.key for row in batch.rows), "now_ms": NOON_MS} | answer
        self.settled = self.replica.settle(MEMORY, batch.rows, PushAnswer(**given), 0)  # type: ignore[arg-type]
        return batch.rows

    def waiting(self, kind: str = "memory") -> list[str]:
        """Keys in the outbox."""
        batch = self.replica.outgoing(BY_NAME[kind], 0, self.replica.outbox_end())
        return [row.key for row in batch.rows] if batch else []


def memory_side(clock: FakeClock) -> Side:
    """A replica in memory."""
    held = MemoryReplica(b"\x01" * 16, clock)

    def again(adopt: bool) -> Replica:
        made = MemoryReplica(b"\x01" * 16, clock, adopt=adopt)
        made.file = held.file
        return made

    return Side(
        held,
        lambda key, text: held.put(MEMORY, key, memory_values(text)) and None,
        lambda key: held.delete(MEMORY, key) and None,
        lambda key, text: held.damage(MEMORY, key, memory_values(text)),
        clock,
        again,
    )


def sqlite_side(store: Store, clock: FakeClock) -> Side:
    """The real replica."""

    def put(key: str, text: str) -> None:
        with store.write() as db:
            changed = rows.update(db, MEMORY, key, content=text)
            if not changed and rows.get(db, MEMORY, key) is None:
                rows.insert(db, Memory(id=key, content=text))

    def delete(key: str) -> None:
        with store.write() as db:
            rows.delete(db, MEMORY, key)

    def damage(key: str, text: str) -> None:
        with store.write() as db:
            db.execute("UPDATE control SET applying = 1")
            db.execute("UPDATE memory SET content = ? WHERE id = ?", (text, key))
            db.execute("UPDATE control SET applying = 0")

    return Side(
        SqliteReplica(store),
        put,
        delete,
        damage,
        clock,
        lambda adopt: SqliteReplica(store, adopt=adopt),
    )


@pytest.fixture(params=["memory", "sqlite"])
def side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Side]:
    """A fresh replica."""
    clock = FakeClock()
    if request.param == "memory":
        yield memory_side(clock)
        return
    with ExitStack() as stack:
        path = tmp_path / "satchel.db"
        store = stack.enter_context(Store.open(path, durability="process", clock=clock))
        yield sqlite_side(store, clock)
