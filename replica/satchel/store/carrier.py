"""This machine's store as bundles meet it: `satchel_sync.bundles.ports.Carrier` over SQLite."""

from __future__ import annotations

from satchel.store import attempts
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Hello


class CarriedReplica(SqliteReplica):
    """A `Store` that syncs by bundles; `version` is the program's, for the hub's records."""

    def __init__(self, store: Store, *, version: str = "") -> None:
        super().__init__(store, version=version, path="bundle")

    def identity(self) -> Hello:
        """Who we are, without an attempt: a bundle is none."""
        with self._store.write() as db:
            return self.identity_in(db)

    def met(self, hub_id: bytes, epoch: str) -> None:
        """Remember the hub of the first bundle; its epoch only if nothing is due."""
        with self._store.write() as db:
            if attempts.hub_id(db) is not None:
                return
            attempts.set_meta(db, "hub_id", hub_id)
            if not attempts.due(db):
                attempts.set_meta(db, "epoch", attempts.word(db, "epoch") or epoch)

    def received(self, token: str, after: str) -> None:
        """Keep the token if the one held is `after`."""
        with self._store.write() as db:
            if attempts.word(db, "token") == after:
                attempts.set_meta(db, "token", token)
