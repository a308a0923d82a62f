"""Two organisations in one warehouse: what one asks about the other is answered as if of nobody."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_audit import openssl
from fix_command import run
from fix_hub import HubWorld, hello_of, row_of, titled
from fix_tenants import MARKS, NORTH, SOUTH, filled, reader
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_crypto import random_bytes
from satchel_sync.errors import SyncError
from satchel_sync.tables import MEMORY, TABLES
from satchel_warehouse import admin, tenants
from satchel_warehouse.audit.found import Chain
from satchel_warehouse.database import REPORT_PATH
from satchel_warehouse.depot import WarehouseDepot
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseError, WarehouseRefused


@pytest.fixture(scope="module")
def two(world: HubWorld) -> dict[str, WarehouseHub]:
    """Both tenants, with rows of every kind."""
    return {tenant: filled(world, tenant) for tenant in MARKS}


def told(call: Callable[[], object]) -> str:
    """What a door says; its error, or what it gives."""
    try:
        return repr(call())
    except (WarehouseError, SyncError) as error:
        return f"{type(error).__name__}: {error}; {error.hint}"


def test_to_its_machines_a_tenant_is_a_warehouse_of_its_own(
    world: HubWorld, two: dict[str, WarehouseHub]
) -> None:
    found = {one.name: one for one in tenants.listed(world.dsn)}
    assert found.keys() >= {"default", NORTH, SOUTH}
    assert len({one.hub_id for one in found.values()}) == len(found)
    assert [found[name].machines for name in MARKS] == [1, 1]
    for table in TABLES:
        for tenant, mark in MARKS.items():
            rows = two[tenant].pull(table, 0, 100).rows
            assert [row.key for row in rows] == [f"{mark}-{table.name}"]


def test_several_may_make_a_tenant_at_once(world: HubWorld) -> None:
    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(lambda _: tenants.add(world.dsn, "at once"), range(6)))
    assert len({one.hub_id for one in made}) == 1


def test_keys_of_another_tenant_are_nobody_s(world: HubWorld, two: dict[str, WarehouseHub]) -> None:
    north = two[NORTH]
    for table in TABLES:
        theirs, nobodys = f"{MARKS[SOUTH]}-{table.name}", f"nobody-{table.name}"
        assert north.fetch(table, [theirs]).rows == north.fetch(table, [nobodys]).rows == ()
        assert theirs not in north.manifest(table, range(256))
    theirs = f"{MARKS[SOUTH]}-memory"
    row = row_of(MEMORY, theirs, titled(MEMORY, title="ours"), origin=b"\x01" * 16)
    assert north.push(MEMORY, [row]).accepted == (theirs,)
    (kept,) = two[SOUTH].fetch(MEMORY, [theirs]).rows
    assert kept.values[MEMORY.names.index("title")] == MARKS[SOUTH]


def test_ids_of_another_tenant_are_nobody_s(world: HubWorld, two: dict[str, WarehouseHub]) -> None:
    """A machine's id, its attempts, its rows' origin, its earlier ids."""
    theirs, nobody = b"\x02" * 16, b"\x77" * 16
    north = world.login(NORTH)

    def carried(replica_id: bytes) -> str:
        with WarehouseDepot(north) as depot:
            return told(lambda: depot.dispatch(replica_id)).replace(replica_id.hex(), "ID")

    assert carried(theirs) == carried(nobody)
    with WarehouseDepot(north) as depot:
        assert depot.replicas() == []

    def rows_from(origin: bytes) -> str:
        row = row_of(MEMORY, "from afar", titled(MEMORY, title="x"), origin=origin)
        return told(lambda: two[NORTH].push(MEMORY, [row]).refused).replace(origin.hex(), "ID")

    assert rows_from(theirs) == rows_from(nobody)

    def as_heir_of(replica_id: bytes) -> str:
        said = replace(
            hello_of(3, uuid4().hex), replica_id=random_bytes(16), predecessors=(replica_id,)
        )
        with WarehouseHub(north) as hub:
            welcome = hub.hello(said)
        return repr((welcome.standing, welcome.access, welcome.epoch))

    admin.revoke_replica(world.dsn, theirs)
    try:
        assert as_heir_of(theirs) == as_heir_of(nobody), "nor is it told that it was revoked"
    finally:
        admin.revoke_replica(world.dsn, theirs, undo=True)


def test_a_machine_of_another_tenant_is_not_taken_over(
    world: HubWorld, two: dict[str, WarehouseHub]
) -> None:
    """Its id is taken, so it is refused: in the words for an id of the own tenant's."""
    with WarehouseHub(world.login(NORTH)) as thief:
        foreign = told(lambda: thief.hello(hello_of(2, uuid4().hex)))
        own = told(lambda: thief.hello(hello_of(1, uuid4().hex)))
    assert foreign == own
    assert foreign.startswith("WarehouseRefused: ")
    stands = "SELECT tenant, encode(replica_id, 'hex') FROM satchel.replica ORDER BY 2"
    assert ("south", "02" * 16) in world.psql().execute(stands).fetchall()


GUESSED = (SOUTH, "austral", "austral-2", "austral-host", "02" * 16)
UNTOLD = (
    "austral-host",
    "austral-version",
    *(f"austral-{one.name}" for one in TABLES if one is not MEMORY),
)
"""What stands in rows and records of the other tenant."""


@pytest.fixture(scope="module")
def caller(world: HubWorld, two: dict[str, WarehouseHub]) -> psycopg.Connection[Any]:
    """A session of a machine's of the north."""
    return world.psql(two[NORTH]._dsn)


@pytest.fixture(scope="module")
def doors(world: HubWorld) -> list[tuple[str, list[str]]]:
    """Every door that asks: its name, and the types that it takes."""
    found = world.psql().execute(DOORS).fetchall()
    assert len(found) > 40
    return found


@settings(deadline=None, max_examples=15)
@given(words=st.lists(st.sampled_from(GUESSED), min_size=8, max_size=8), bare=st.booleans())
def test_no_door_tells_more_of_another_tenant_than_of_nobody(
    caller: psycopg.Connection[Any],
    doors: list[tuple[str, list[str]]],
    two: dict[str, WarehouseHub],
    words: list[str],
    bare: bool,
) -> None:
    """Every door, called by hand with what one may guess of the other tenant."""
    for name, types in doors:
        given = [fitting(kind, word) for kind, word in zip(types, words, strict=False)]
        if not bare and types[:1] == ["text"]:
            given[0] = two[NORTH]._attempt
        call = f"SELECT * FROM satchel_api.{name}({', '.join(f'%s::{kind}' for kind in types)})"
        try:
            answer = repr(caller.execute(call.encode(), given).fetchall())
        except psycopg.Error as error:
            answer = str(error)
        quoted = [word for word in UNTOLD if word in answer and word not in words]
        assert quoted == [], (name, given, answer)


DOORS = """
SELECT proname, ARRAY(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t)
FROM pg_proc WHERE pronamespace = 'satchel_api'::regnamespace AND proname !~ '^push_'
    AND proname NOT IN ('hello', 'bundle_unpack', 'bye')
"""


def fitting(kind: str, word: str) -> Any:
    """A value of that type, made of a word."""
    if kind.endswith("[]"):
        return [1] if "int" in kind else ["memory", word]
    return {
        "jsonb": f'{{"{word}": 1, "memory": 0}}',
        "integer": 1,
        "bigint": 0,
        "smallint": 1,
        "boolean": True,
        "bytea": word.encode(),
    }.get(kind, word)


# ---- auditors -----------------------------------------------------------------------------------


def chains(found: list[Chain]) -> dict[tuple[str, str], tuple[int, int, list[str]]]:
    return {
        (one.name.tenant, one.name.chain): (one.records, one.signed, [f.fault for f in one.faults])
        for one in found
    }


def test_an_auditor_checks_the_chains_of_its_tenant(
    world: HubWorld, two: dict[str, WarehouseHub]
) -> None:
    everything = chains(admin.audit(world.dsn, openssl()))
    assert everything == {
        (tenant, chain): (count, count, faults)
        for tenant in MARKS
        for chain, count, faults in (("writes", 3, ["refused"]), ("reads", 2, []))
    }
    for tenant in MARKS:
        found = chains(admin.audit(reader(world, "auditor", tenant), openssl(), path=REPORT_PATH))
        assert found == {name: told for name, told in everything.items() if name[0] == tenant}
    assert admin.audit(reader(world, "auditor", "default"), openssl(), path=REPORT_PATH) == []
    for kind in ("reporter", "replica"):
        with pytest.raises(WarehouseRefused, match="permission denied for schema audit"):
            admin.audit(reader(world, kind, NORTH), openssl(), path=REPORT_PATH)


def test_what_a_dba_changed_is_found_by_an_auditor(
    world: HubWorld, two: dict[str, WarehouseHub], tmp_path: Path
) -> None:
    """Through the command, with the auditor's DSN only."""
    auditor = {"SATCHEL_WAREHOUSE_REPORT_DSN": reader(world, "auditor", SOUTH)}
    verify = ("audit", "verify", "--warehouse")
    before = run(*verify, SATCHEL_HOME=str(tmp_path), **auditor)
    assert {(one["tenant"], one["chain"]) for one in before.json["chains"]} == {
        (SOUTH, "writes"),
        (SOUTH, "reads"),
    }
    with world.psql() as db:
        db.execute("SET session_replication_role = replica")
        db.execute(
            "UPDATE satchel.audit SET body = replace(body, 'una', 'eve') WHERE chain = 'reads'"
        )
    told = run(*verify, SATCHEL_HOME=str(tmp_path), **auditor)
    assert (told.code, told.error["code"]) == (1, "audit_broken")
    faults = {one["chain"]: [f["fault"] for f in one["faults"]] for one in told.json["chains"]}
    assert faults == {"writes": ["refused"], "reads": ["changed"]}
