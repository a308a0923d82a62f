"""A warehouse in memory as the other end of bundles: no Postgres is needed to prove a thing."""

from __future__ import annotations

from pathlib import Path

from satchel import config, peers
from satchel.sealing import opener_for, sealer_for
from satchel.store.connection import SYSTEM_CLOCK
from satchel.store.endpoint import SqliteReplica
from satchel_crypto import random_bytes
from satchel_sync.bundles.inbound import receive
from satchel_sync.bundles.outbound import dispatching
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import write
from satchel_sync.checkup import check
from satchel_sync.in_memory.depot import MemoryDepot
from satchel_sync.in_memory.hub import MemoryHub


class Warehouse:
    """A hub in memory; its keys are those of the home `home`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.settings = config.load(flags={"home": str(home)})
        self._hub = MemoryHub(SYSTEM_CLOCK)

    def take(self, file: Path) -> None:
        """Import a replica's bundle. Raises what an import raises."""
        with file.open("rb") as opened:
            bundle = Bundle.open(opened)
            opener = opener_for(self.settings, bundle, plain=False)
            parcel = bundle.verified(opener, lambda *_: None)
            receive(MemoryDepot(self._hub), parcel)

    def give(self, replica_id: str, file: Path) -> None:
        """Write the bundle that the replica has to get."""
        bundle_id = random_bytes(16)
        sealer = sealer_for(self.settings, replica_id, bundle_id, plain=False)
        parcel = dispatching(MemoryDepot(self._hub), bytes.fromhex(replica_id))
        with file.open("xb+") as opened:
            write(opened, parcel, sealer, bundle_id=bundle_id, made_at_ms=SYSTEM_CLOCK.now_ms())

    def verify(self, home: Path) -> int:
        """Compare every row of a replica with the hub's, as `sync verify` does; its exit code."""
        with peers.opened(config.load(flags={"home": str(home)})) as store:
            replica = SqliteReplica(store, version=peers.version())
            report = check(replica, self._hub.connect(), SYSTEM_CLOCK, repairing=False)
        return int(report["exit"])
