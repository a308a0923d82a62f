"""What a machine asks of the hub touches its tenant's rows only, so that these could lie elsewhere.

Each tenant has a partition of its own here. That of the other tenant is locked as no reader can
pass: a door that so much as looks at it waits, and fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from fix_hub import ORIGIN, HubWorld, fresh_hub, hello_of, row_of, titled
from psycopg import conninfo, sql

from satchel_sync.changes import Loser, Row
from satchel_sync.errors import HubUnreachable
from satchel_sync.stamp import SCRUBBED, Stamp
from satchel_sync.tables import BY_NAME, Table
from satchel_warehouse import partitions
from satchel_warehouse.database import Connection
from satchel_warehouse.endpoint import WarehouseHub

KINDS = ("session", "memory", "relationship", "task", "message", "chatlog", "history", "embedding")
"""Those with a key `id`."""
TABLES = [BY_NAME[kind] for kind in KINDS]
OTHER = "elsewhere"


def by_tenant(db: Connection, _: int) -> None:
    """A partition for each of two tenants."""
    for kind in KINDS:
        for tenant in ("default", OTHER):
            made = "CREATE TABLE satchel.{} PARTITION OF satchel.{} FOR VALUES IN ({})"
            names = sql.Identifier(f"{kind}_{tenant}"), sql.Identifier(kind)
            db.execute(sql.SQL(made).format(*names, sql.Literal(tenant)))
    db.execute("SELECT satchel.guard_partitions()")


@pytest.fixture(scope="module")
def sharded(cluster: str) -> Iterator[HubWorld]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "PARTITIONED", KINDS)
        patch.setattr(partitions, "BY_HASH", "PARTITION BY LIST (tenant)")
        patch.setattr(partitions, "make", by_tenant)
        with fresh_hub(cluster, 2) as world:
            # Else a plan for any tenant is kept, which locks the partitions of all, if unread.
            name = sql.Identifier(world.name)
            world.psql().execute(
                sql.SQL("ALTER DATABASE {} SET plan_cache_mode = force_custom_plan").format(name)
            )
            yield world


@pytest.fixture(scope="module")
def locked(sharded: HubWorld) -> Iterator[HubWorld]:
    """The other tenant has rows, and nobody can pass to them."""
    theirs = sharded.replica(2, tenant=OTHER)
    sharded.know(ORIGIN, tenant=OTHER)
    for table in TABLES:
        theirs.push(table, [row_of(table, "theirs", titled(table))])
    theirs.close()
    with psycopg.connect(sharded.dsn) as db:
        for kind in KINDS:
            db.execute(f"LOCK TABLE satchel.{kind}_{OTHER} IN ACCESS EXCLUSIVE MODE".encode())
        yield sharded


def impatient(world: HubWorld, number: int, tenant: str = "default") -> WarehouseHub:
    """A machine's connection that waits for no lock."""
    dsn = world.login(tenant)
    login = sql.Identifier(str(conninfo.conninfo_to_dict(dsn)["user"]))
    world.psql().execute(sql.SQL("ALTER ROLE {} SET lock_timeout = '200ms'").format(login))
    hub = WarehouseHub(dsn)
    world.hubs.append(hub)
    hub.hello(hello_of(number, f"of {number}"))
    return hub


def row(table: Table, key: str, hlc: int = 1 << 40) -> Row:
    return row_of(table, key, titled(table), hlc=hlc)


def doors(hub: WarehouseHub, table: Table) -> dict[str, Callable[[], object]]:
    """Every call of a sync that has to do with a kind."""
    gone = Row("gone", Stamp(*SCRUBBED), "", (None,) * (len(table.names) + 1))
    return {
        "push": lambda: hub.push(table, [row(table, "one"), row(table, "gone")]),
        "push over it": lambda: hub.push(table, [row(table, "one", 1 << 41)]),
        "push below it": lambda: hub.push(table, [row(table, "one", 1 << 39)]),
        "forget": lambda: hub.push(table, [gone]),
        "pull": lambda: hub.pull(table, 0, hub.bound()[table.name]),
        "fetch": lambda: hub.fetch(table, ["one", "theirs"]),
        "manifest": lambda: hub.manifest(table, range(256)),
        "digests": lambda: hub.digests({table.name: []}),
        "damaged": lambda: hub.damaged(table),
        "heal": lambda: hub.heal(table, [row(table, "one", 1 << 41)]),
        "journal": lambda: hub.journal([Loser(table.name, row(table, "x"), SCRUBBED, "pull", 1)]),
    }


def test_a_door_keeps_to_its_tenant(locked: HubWorld) -> None:
    hub = impatient(locked, 1)
    waiting = []
    for table in TABLES:
        for name, call in doors(hub, table).items():
            try:
                call()
            except HubUnreachable as error:
                waiting.append(f"{name} of {table.name}: {error}")
    hub.bye({"ok": True})
    assert waiting == []


def test_the_lock_is_met_by_who_belongs_there(locked: HubWorld) -> None:
    with pytest.raises(HubUnreachable, match="lock timeout"):
        impatient(locked, 3, OTHER)
