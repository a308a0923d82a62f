"""One process of some version: commands as JSON lines on stdin, answers on stdout.

Imports nothing but what it is told by PYTHONPATH. With a home as its argument it opens the replica.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from satchel.config import Settings
from satchel.errors import explain, is_typed
from satchel.memory import change
from satchel.memory.visibility import Caller
from satchel.replica import DATABASE_FILE, Replica
from satchel.store import rows
from satchel.store.connection import SYSTEM_CLOCK, Store
from satchel.store.endpoint import SqliteReplica
from satchel_sync.changes import Welcome
from satchel_sync.phases.pull import pull_table
from satchel_sync.progress import silent
from satchel_sync.session import sync
from satchel_sync.tables import BY_NAME, MEMORY
from satchel_sync.tally import Tally
from satchel_sync.version import SCHEMA
from satchel_warehouse.endpoint import WarehouseHub


class Machine:
    """What a process can do: each public method is a command."""

    def __init__(self, home: Path | None) -> None:
        self.home = home
        self.opened: Store | None = None
        self.hub: WarehouseHub | None = None
        self.welcome: Welcome

    @property
    def store(self) -> Store:
        """The replica, opened when it is first used."""
        assert self.home is not None
        if self.opened is None:
            self.opened = Store.open(self.home / DATABASE_FILE, durability="process")
        return self.opened

    def open(self) -> str:
        """Open the replica; its id."""
        return self.store.replica_id.hex()

    def schema(self) -> int:
        """The schema version that this program speaks."""
        return SCHEMA

    def put(self, kind: str, key: str, **columns: Any) -> None:
        """Add a row, or change columns of it."""
        table = BY_NAME[kind]
        with self.store.write() as db:
            if rows.get(db, table, key) is None:
                rows.insert(db, table.row(**{table.key: key, **_values(columns)}))
            else:
                rows.update(db, table, key, **_values(columns))

    def delete(self, kind: str, key: str) -> None:
        """Delete a row."""
        with self.store.write() as db:
            assert rows.delete(db, BY_NAME[kind], key)

    def restore(self, key: str) -> dict[str, Any]:
        """Restore a memory, as its tool does."""
        operator = Caller(None, "una", "operator")
        return change.restore(Replica(self.store, Settings(home=self.store.home), operator), key)

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """A living row as the program shows it to its user."""
        with self.store.read() as db:
            found = rows.get(db, BY_NAME[kind], key)
        names = (BY_NAME[kind].key, *BY_NAME[kind].names)
        return None if found is None else {name: _plain(getattr(found, name)) for name in names}

    def sync(self, dsn: str) -> dict[str, Any]:
        """One sync over a connection that stays open."""
        if self.hub is None:
            self.hub = WarehouseHub(dsn)
        return sync(SqliteReplica(self.store), self.hub, SYSTEM_CLOCK)

    def pull_only(self, dsn: str) -> None:
        """A sync that is broken off after its pull of memories."""
        with WarehouseHub(dsn) as hub:
            replica = SqliteReplica(self.store)
            welcome = hub.hello(replica.hello())
            replica.welcome(welcome)
            pull_table(replica, hub, MEMORY, welcome.seqs["memory"], Tally(), silent)

    def hello(self, dsn: str) -> None:
        """Begin a sync, and stop there."""
        self.hub = WarehouseHub(dsn)
        replica = SqliteReplica(self.store)
        self.welcome = self.hub.hello(replica.hello())
        replica.welcome(self.welcome)

    def pull_now(self) -> int:
        """A page of memories, in the sync that has begun; how many rows it has."""
        return len(self._begun.pull(MEMORY, 0, self.welcome.seqs["memory"]).rows)

    def fetch_now(self) -> int:
        """A memory by key, in the sync that has begun."""
        self._begun.fetch(MEMORY, ["m05"])
        return 1

    def push_now(self) -> int:
        """The memories that wait, in the sync that has begun."""
        replica = SqliteReplica(self.store)
        batch = replica.outgoing(MEMORY, 0, replica.outbox_end())
        assert batch is not None
        return len(self._begun.push(MEMORY, batch.rows).accepted)

    @property
    def _begun(self) -> WarehouseHub:
        assert self.hub is not None
        return self.hub

    def migrate_hub(self, dsn: str) -> str:
        """Bring a warehouse to this version; its revision."""
        from satchel_warehouse import admin  # half of a start, and one process in ten needs it

        return admin.migrate(dsn).revision


def _values(columns: dict[str, Any]) -> dict[str, Any]:
    """JSON has no bytes: {"blob": hex} stands for them."""
    return {
        name: bytes.fromhex(value["blob"]) if isinstance(value, dict) else value
        for name, value in columns.items()
    }


def _plain(value: Any) -> Any:
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def main() -> None:
    """Answer commands until stdin ends."""
    machine = Machine(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    for line in sys.stdin:
        given = json.loads(line)
        command = getattr(machine, given.pop("command"))
        said: dict[str, Any]
        try:
            said = {"answer": command(**given)}
        except Exception as error:
            if not is_typed(error):
                raise
            told, exit_code = explain(error)
            said = {"error": told | {"type": type(error).__name__, "exit_code": exit_code}}
        print(json.dumps(said), flush=True)
    if machine.hub is not None:
        machine.hub.close()
    if machine.opened is not None:
        machine.opened.close()


if __name__ == "__main__":
    main()
