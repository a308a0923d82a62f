"""Machines that meet their hub by bundles: in memory, and on real files and a real Postgres."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fix_files import put_back, saved
from fix_machines import Fleet, Machine
from fix_sync import FakeClock, memory_values

from satchel.store.carrier import CarriedReplica
from satchel_crypto.plain import PlainSealer
from satchel_sync.bundles.inbound import accept, receive
from satchel_sync.bundles.manifest import Manifest
from satchel_sync.bundles.outbound import dispatching, pushing
from satchel_sync.bundles.parcel import Parcel
from satchel_sync.bundles.ports import Carrier, Depot
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import write
from satchel_sync.digest import BUCKETS
from satchel_sync.in_memory.depot import MemoryDepot
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.session import sync
from satchel_sync.stamp import Stamp
from satchel_sync.tables import MEMORY, TABLES
from satchel_warehouse.depot import WarehouseDepot

BUNDLE_ID = bytes(range(16))
MADE_AT_MS = 1_800_000_000_000
Versions = Mapping[str, Mapping[str, Stamp]]


def quiet(phase: str, kind: str, done: int, of: int) -> None:
    """A progress that shows nothing."""


def bundle_of(parcel: Parcel) -> bytes:
    """The bytes of a plain bundle."""
    file = io.BytesIO()
    write(file, parcel, PlainSealer(), bundle_id=BUNDLE_ID, made_at_ms=MADE_AT_MS)
    return file.getvalue()


def parcel_of(data: bytes) -> Parcel:
    """The verified parcel of a bundle's bytes."""
    return Bundle.open(io.BytesIO(data)).verified(PlainSealer(), quiet)


def manifest_of(data: bytes) -> Manifest:
    """The manifest of a bundle's bytes."""
    return Bundle.open(io.BytesIO(data)).manifest


class Site(Protocol):
    """A hub and machines a, b, c without a network between them."""

    def carrier(self, name: str) -> Carrier: ...
    def depot(self) -> Depot: ...
    def put(self, name: str, key: str, text: str) -> None: ...
    def delete(self, name: str, key: str) -> None: ...
    def text(self, name: str, key: str) -> str | None: ...
    def queued(self, name: str) -> int: ...
    def later(self, ms: int) -> None:
        """Move every machine's clock."""
        ...

    def online(self, name: str) -> dict[str, Any]:
        """One sync over a network."""
        ...

    def save_hub(self) -> None: ...
    def rewind_hub(self) -> None: ...
    def save_file(self, name: str) -> object: ...
    def put_back_file(self, name: str, backup: object) -> None:
        """Unnoticed: as a restore of a whole disk is."""
        ...

    def hub_versions(self) -> Versions: ...
    def epoch(self) -> str: ...
    def journal(self) -> list[tuple[str, str]]: ...
    def take_back(self, name: str) -> None:
        """Revoke a replica and undo it."""
        ...

    def revoke(self, name: str) -> None: ...
    def gone(self, name: str) -> None:
        """A machine that is never heard of again."""
        ...

    def names(self) -> list[str]: ...


# ---- what a person with a stick does ------------------------------------------------------------


def export(site: Site, name: str) -> bytes:
    """A stick from a machine to the hub."""
    return bundle_of(pushing(site.carrier(name)))


def export_for(site: Site, name: str) -> bytes:
    """A stick from the hub to a machine."""
    replica_id = site.carrier(name).identity().replica_id
    return bundle_of(dispatching(site.depot(), replica_id))


def at_hub(site: Site, stick: bytes) -> dict[str, Any]:
    """Import a stick at the hub."""
    return receive(site.depot(), parcel_of(stick))


def at(site: Site, name: str, stick: bytes) -> dict[str, Any]:
    """Import a stick at a machine."""
    return accept(site.carrier(name), parcel_of(stick))


def trip(site: Site, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """There and back."""
    there = at_hub(site, export(site, name))
    return there, at(site, name, export_for(site, name))


def rounds(site: Site, count: int = 3) -> None:
    """Quiet rounds of trips."""
    for _ in range(count):
        for name in site.names():
            trip(site, name)


def met(site: Site) -> None:
    """Two machines have each written a row, and have met."""
    site.put("a", "x", "one")
    site.put("b", "y", "two")
    rounds(site)


def require_equal(site: Site) -> None:
    """Every machine and the hub hold the same versions, and nothing waits."""
    for name in site.names():
        carrier = site.carrier(name)
        held = {table.name: dict(carrier.manifest(table, range(BUCKETS))) for table in TABLES}
        assert held == site.hub_versions(), name
        assert (site.queued(name), carrier.due(), carrier.quarantined()) == (0, "", 0), name


# ---- in memory ----------------------------------------------------------------------------------


@dataclass
class MemorySite:
    """A hub and replicas in dicts."""

    hub: MemoryHub = field(default_factory=lambda: MemoryHub(FakeClock()))
    replicas: dict[str, MemoryReplica] = field(default_factory=dict)
    backups: list[Any] = field(default_factory=list)

    def carrier(self, name: str) -> MemoryReplica:
        number = len(self.replicas) + 1
        return self.replicas.setdefault(name, MemoryReplica(bytes([number]) * 16, FakeClock()))

    def depot(self) -> Depot:
        return MemoryDepot(self.hub)

    def put(self, name: str, key: str, text: str) -> None:
        self.carrier(name).put(MEMORY, key, memory_values(text))

    def delete(self, name: str, key: str) -> None:
        self.carrier(name).delete(MEMORY, key)

    def text(self, name: str, key: str) -> str | None:
        row = self.carrier(name).file.kinds["memory"].rows.get(key)
        value = row and row.values[MEMORY.names.index("content")]
        return value if isinstance(value, str) else None

    def queued(self, name: str) -> int:
        return sum(len(kept.outbox) for kept in self.carrier(name).file.kinds.values())

    def later(self, ms: int) -> None:
        for clock in (self.hub.clock, *(replica.clock for replica in self.replicas.values())):
            assert isinstance(clock, FakeClock)
            clock.ms += ms

    def online(self, name: str) -> dict[str, Any]:
        return sync(self.carrier(name), self.hub.connect(), self.hub.clock)

    def save_hub(self) -> None:
        self.backups.append(self.hub.snapshot())

    def rewind_hub(self) -> None:
        self.hub.restore(self.backups[-1])

    def save_file(self, name: str) -> object:
        return self.carrier(name).snapshot()

    def put_back_file(self, name: str, backup: Any) -> None:
        self.carrier(name).restore(backup)

    def hub_versions(self) -> Versions:
        rows = self.hub.state.rows
        return {kind: {key: row.stamp for key, row in held.items()} for kind, held in rows.items()}

    def epoch(self) -> str:
        return self.hub.state.epoch

    def journal(self) -> list[tuple[str, str]]:
        return [place[:2] for place in self.hub.state.losers]

    def take_back(self, name: str) -> None:
        self.revoke(name)
        self.hub.state.take_back(self.carrier(name).replica_id)

    def revoke(self, name: str) -> None:
        self.hub.state.revoke(self.carrier(name).replica_id)

    def gone(self, name: str) -> None:
        del self.replicas[name]

    def names(self) -> list[str]:
        return list(self.replicas)


# ---- real ---------------------------------------------------------------------------------------


@dataclass
class RealSite:
    """Real machines and a real hub, whose administrator imports and exports there."""

    fleet: Fleet
    depots: list[WarehouseDepot] = field(default_factory=list)

    def machine(self, name: str) -> Machine:
        return self.fleet.machine(name)

    def carrier(self, name: str) -> CarriedReplica:
        return CarriedReplica(self.machine(name).store, version="test")

    def depot(self) -> Depot:
        self.close()
        self.depots.append(WarehouseDepot(self.fleet.world.dsn))
        return self.depots[-1]

    def close(self) -> None:
        for depot in self.depots:
            depot.hub.close()
        self.depots.clear()

    def put(self, name: str, key: str, text: str) -> None:
        self.machine(name).put(key, text)

    def delete(self, name: str, key: str) -> None:
        self.machine(name).delete(MEMORY, key)

    def text(self, name: str, key: str) -> str | None:
        return self.machine(name).text(key)

    def queued(self, name: str) -> int:
        ((count,),) = self.machine(name).sql("SELECT count(*) FROM outbox")
        return int(count)

    def later(self, ms: int) -> None:
        for machine in self.fleet.machines.values():
            machine.clock.at_ms += ms

    def online(self, name: str) -> dict[str, Any]:
        return self.machine(name).sync()

    def _hang_up(self) -> None:
        self.close()
        for machine in self.fleet.machines.values():
            machine.hub.close()

    def save_hub(self) -> None:
        self._hang_up()
        self.fleet.world.backup()

    def rewind_hub(self) -> None:
        self._hang_up()
        self.fleet.world.rewind()

    def save_file(self, name: str) -> Path:
        return saved(self.machine(name))

    def put_back_file(self, name: str, backup: Any) -> None:
        put_back(self.machine(name), backup, noticed=False)

    def hub_versions(self) -> Versions:
        query = (
            "SELECT {}, encode(satchel.packed(life, hlc, origin, digest), 'hex') FROM satchel.{}"
        )
        return {
            table.name: {
                key: Stamp.parse(version)
                for key, version in self._sql(query.format(table.key, table.name))
            }
            for table in TABLES
        }

    def epoch(self) -> str:
        ((epoch,),) = self._sql("SELECT epoch FROM satchel.tenant")
        return str(epoch)

    def journal(self) -> list[tuple[str, str]]:
        return self._sql("SELECT kind, key FROM satchel.conflict ORDER BY kind, key")

    def take_back(self, name: str) -> None:
        self._set(name, "revoked_at = NULL, must_reconcile = true")

    def revoke(self, name: str) -> None:
        self._set(name, "revoked_at = 1")

    def gone(self, name: str) -> None:
        machine = self.fleet.machines.pop(name)
        machine.hub.close()
        machine.store.close()

    def names(self) -> list[str]:
        return list(self.fleet.machines)

    def _set(self, name: str, what: str) -> None:
        replica_id = self.carrier(name).identity().replica_id
        db = self.fleet.world.psql()
        db.execute(
            f"UPDATE satchel.replica SET {what} WHERE replica_id = %s".encode(), (replica_id,)
        )

    def _sql(self, query: str) -> list[Any]:
        return self.fleet.world.psql().execute(query.encode()).fetchall()
