"""Two tenants in one hub, with rows of every kind, and logins of readers for each."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from fix_audit import Chain
from fix_hub import PREFIX, HubWorld, hello_of, row_of, titled
from psycopg import conninfo

from satchel_sync.changes import Loser
from satchel_sync.tables import MEMORY, TABLES, Table, Value
from satchel_warehouse import roles, tenants
from satchel_warehouse.endpoint import WarehouseHub

NORTH, SOUTH = "north", "south"
NUMBERS = {NORTH: 1, SOUTH: 2}
"""Tenant -> the number of its machine."""
MARKS = {NORTH: "boreal", SOUTH: "austral"}
"""Tenant -> a word that is in every text of its rows, and in no other tenant's."""
NOW_MS = 1_790_000_000_000


def reader(world: HubWorld, kind: str, tenant: str = "default", *, search: bool = False) -> str:
    """The DSN of a new login of that kind."""
    name = PREFIX + uuid4().hex[:12]
    if tenant != "default":
        tenants.add(world.dsn, tenant)
    roles.grant(world.dsn, name, kind=kind, tenant=tenant, search=search)
    world.logins.append(name)
    return conninfo.make_conninfo(world.dsn, user=name)


def filled(world: HubWorld, tenant: str) -> WarehouseHub:
    """The hub of a machine of that tenant, after a sync with rows, audit, a conflict, a report."""
    number, mark = NUMBERS[tenant], MARKS[tenant]
    hub = WarehouseHub(world.login(tenant))
    world.hubs.append(hub)
    world.attempts += 1
    attempt = f"{mark}-{world.attempts}"
    hub.hello(replace(hello_of(number, attempt), host=f"{mark}-host", version=f"{mark}-version"))
    origin = bytes([number]) * 16
    for table in TABLES:
        row = row_of(table, f"{mark}-{table.name}", values_of(table, mark), origin=origin)
        assert hub.push(table, [row]).refused == ()
    lost = row_of(MEMORY, f"{mark}-memory", titled(MEMORY, title=mark), hlc=1, origin=origin)
    hub.journal([Loser("memory", lost, lost.stamp, "push", NOW_MS)])
    writes = Chain(origin).grow(3, mark)
    reads = Chain(origin, "reads", signer=writes.signer).grow(2, "read", by=mark)
    assert hub.audit([writes.part(), reads.part()]).refused == {}
    forged = Chain(origin, signer=writes.signer).grow(5, f"{mark} forged")
    assert "writes" in hub.audit([forged.part(3)]).refused
    hub.bye({"exit": 0, "quarantined": 2, "oldest_unsent_s": 3})
    return hub


def values_of(table: Table, mark: str) -> tuple[Value, ...]:
    """A value in every column: no JSON where it ought to be, titles that are shown to all."""
    some: dict[str, Value] = {"t": mark, "i": NOW_MS, "r": 1.5, "b": mark.encode()}
    said: dict[str, Value] = {
        "local": 0,
        "scope": "org",
        "status": "open",
        "valid_to": None,
        "expires_at": None,
    }
    values = (said.get(c.name, some[c.tag]) for c in table.columns)
    return (*values, None)
