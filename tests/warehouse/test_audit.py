"""The hub's audit tables: who may write, what SQL by hand may not, retention, two at a time."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fix_audit import Chain, Signer, fork, openssl
from fix_hub import HubWorld, hello_of

from satchel_crypto.audit_record import link_of
from satchel_sync.audit import AuditPart
from satchel_sync.digest import audit_link
from satchel_sync.errors import HubRefused
from satchel_sync.limits import AUDIT_ROWS_MAX
from satchel_warehouse import admin, wire
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.functions import AUDIT_DOMAIN, AUDIT_TABLES
from satchel_warehouse.metadata import metadata

FIRST_NUMBER = 60
_numbers = iter(range(FIRST_NUMBER, 200))
DAY_MS = 86_400_000


def machine(world: HubWorld, tenant: str = "default") -> tuple[WarehouseHub, bytes]:
    """A machine that has said hello, and its id."""
    number = next(_numbers)
    return world.replica(number, tenant), bytes([number]) * 16


def sql(world: HubWorld) -> psycopg.Connection[Any]:
    """The administrator's session; one at a time, as a server has no more than a hundred."""
    for old in world.sessions:
        old.close()
    world.sessions.clear()
    return world.psql()


def stored(world: HubWorld, replica_id: bytes) -> list[int]:
    found = sql(world).execute(
        "SELECT seq FROM satchel.audit WHERE replica_id = %s ORDER BY chain, seq", (replica_id,)
    )
    return [int(seq) for (seq,) in found]


def test_a_link_is_the_same_in_sql_python_and_the_model(world: HubWorld) -> None:
    for body in ("", "{}", "ünï ☃ 𝔘 \x01 '\\u0000'", "x" * 70_000):
        for before in (bytes(32), b"\xff" * 32):
            row = sql(world).execute("SELECT satchel.audit_link(%s, %s)", (before, body))
            wanted = link_of(openssl(), before, body)
            assert (row.fetchone(), audit_link(before, body)) == ((wanted,), wanted)


def test_every_audit_table_is_kept_and_of_one_tenant() -> None:
    named = {table.name for table in metadata.sorted_tables if table.name.startswith("audit")}
    assert named == set(AUDIT_TABLES)
    assert AUDIT_DOMAIN == b"satchel audit\0"


@pytest.mark.parametrize("table", AUDIT_TABLES)
@pytest.mark.parametrize("role", ["postgres", "satchel_owner"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET tenant = 'x'", "DELETE FROM {}", "TRUNCATE {}"]
)
def test_nobody_changes_what_was_appended(
    world: HubWorld, table: str, role: str, statement: str
) -> None:
    db = sql(world)
    db.execute(f"SET ROLE {role}".encode())
    with pytest.raises(psycopg.Error, match="only ever appended to"):
        db.execute(statement.format(f"satchel.{table}").encode())


@pytest.mark.parametrize(
    "statement",
    [
        *(f"SELECT * FROM satchel.{table}" for table in AUDIT_TABLES),
        *(f"DELETE FROM satchel.{table}" for table in AUDIT_TABLES),
        *(f"INSERT INTO satchel.{table} (tenant) VALUES ('default')" for table in AUDIT_TABLES),
        "SELECT satchel.expire_audit(1)",
        "SELECT satchel.audit_standing('default', decode(repeat('01', 16), 'hex'))",
        "SELECT satchel.take_audits('default', decode(repeat('01', 16), 'hex'), 'x', '[]')",
        "SELECT satchel.audit_said('{}')",
    ],
)
def test_a_replica_login_has_the_doors_only(
    replica_session: psycopg.Connection[Any], statement: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        replica_session.execute(statement.encode())


@pytest.fixture(scope="module")
def replica_session(world: HubWorld) -> Iterator[psycopg.Connection[Any]]:
    """A session of a replica's login."""
    with psycopg.connect(world.login(), autocommit=True) as session:
        yield session


def test_a_tenants_machines_see_nothing_of_anothers(world: HubWorld) -> None:
    """Row-level security holds also where a function forgets to ask."""
    hub, me = machine(world)
    hub.audit([Chain(me).grow(2).part()])
    machine(world, "audited apart")
    db = sql(world)
    db.execute(
        "CREATE FUNCTION satchel_api.careless_audit() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT count(*) FROM satchel.audit';"
        "ALTER FUNCTION satchel_api.careless_audit() OWNER TO satchel_owner"
    )
    try:
        sees = [
            world.psql(hub._dsn).execute("SELECT satchel_api.careless_audit()").fetchone()
            for hub in world.hubs[-2:]
        ]
    finally:
        db.execute("DROP FUNCTION satchel_api.careless_audit()")
    assert sees[0] is not None
    assert (sees[0][0] >= 2, sees[1]) == (True, (0,))


def test_a_lying_machine_writes_into_no_chain_but_its_own(world: HubWorld) -> None:
    """Whatever it says it is: of the tenant, or of another one."""
    victim_hub, victim = machine(world)
    victim_hub.audit([Chain(victim).grow(2).part()])
    for tenant in ("default", "liars"):
        liar_hub, liar = machine(world, tenant)
        chain = Chain(victim).grow(4)
        refused = liar_hub.audit([chain.part(2), Chain(liar, "reads").grow(1).part()])
        assert refused.refused.keys() == {"writes"}
        assert stored(world, liar) == [1]
        found = sql(world).execute(
            "SELECT tenant, chain, what, seq, login, evidence FROM satchel.audit_trouble"
            " WHERE replica_id = %s",
            (liar,),
        )
        ((told_tenant, *told, login, evidence),) = found.fetchall()
        assert (told_tenant, told) == (tenant, ["writes", "shape", 3])
        assert (login in world.logins, chain.record(3).link.hex() in evidence) == (True, True)
    assert stored(world, victim) == [1, 2]


def test_a_revoked_machine_appends_nothing(world: HubWorld) -> None:
    hub, me = machine(world)
    admin.revoke_replica(world.dsn, me)
    with pytest.raises(HubRefused):
        hub.audit([Chain(me).grow(1).part()])
    with pytest.raises(HubRefused):
        hub.bye({}, [Chain(me).grow(1).part()])
    assert stored(world, me) == []


@pytest.mark.parametrize(
    "parts",
    [
        '{"chain": "writes"}',
        '"writes"',
        "[1]",
        '[{"chain": "WRITES", "records": []}]',
        '[{"chain": "", "records": []}]',
        '[{"chain": "writes"}]',
        '[{"chain": "writes", "records": {}}]',
        '[{"records": []}]',
        f"[{','.join(['{}'] * 17)}]",
        f'[{{"chain": "reads", "records": [{",".join(["{}"] * (AUDIT_ROWS_MAX + 1))}]}}]',
    ],
)
def test_what_is_no_upload_is_refused_whole(world: HubWorld, parts: str) -> None:
    hub, me = machine(world)
    session = world.psql(hub._dsn)
    with pytest.raises(psycopg.Error) as caught:
        session.execute("SELECT satchel_api.audit(%s, %s)", (hub._attempt, parts))
    assert caught.value.sqlstate == "SA001"
    assert stored(world, me) == []


@pytest.mark.parametrize(
    "record",
    [
        "{}",
        "[]",
        "null",
        "7",
        '{"seq": "x", "body": "{}", "link": "", "mac": ""}',
        '{"seq": 1e3, "body": {}, "link": [], "mac": null}',
        '{"seq": 99999999999999999999, "body": "{}", "link": "00", "mac": "00"}',
    ],
)
def test_records_without_shape_are_told_and_stop_nothing(world: HubWorld, record: str) -> None:
    hub, _ = machine(world)
    session = world.psql(hub._dsn)
    parts = f'[{{"chain": "writes", "records": [{record}], "head": 1, "cut": []}}]'
    said = session.execute("SELECT satchel_api.audit(%s, %s)", (hub._attempt, parts)).fetchone()
    assert said is not None
    assert said[0]["refused"]["writes"]["what"] == "shape"


def test_of_one_machine_no_more_than_a_thousand_troubles_are_kept(world: HubWorld) -> None:
    hub, me = machine(world)
    sql(world).execute(
        "INSERT INTO satchel.audit_trouble SELECT 'default', %s, 'writes', 'shape', n, 'x',"
        " int4send(n), 0, 'x', 'x', 0 FROM generate_series(1, 1000) AS n",
        (me,),
    )
    assert hub.audit([fork(Chain(me).grow(3), 2).grow(5).part(1)]).refused
    query = "SELECT count(*) FROM satchel.audit_trouble WHERE replica_id = %s"
    assert sql(world).execute(query, (me,)).fetchone() == (1000,)


def test_two_uploads_of_one_machine_take_turns(world: HubWorld) -> None:
    """A copy of the file waits for the first, and is then found to be a fork."""
    hub, me = machine(world)
    chain = Chain(me).grow(2)
    hub.audit([chain.part()])
    mine, theirs = fork(chain, 2).grow(1), fork(chain, 2).grow(1, "else")
    first = world.psql(hub._dsn)
    first.execute("BEGIN")
    fit, _ = wire.audit_parts([_bare(mine, 2)])
    first.execute("SELECT satchel_api.audit(%s, %s)", (hub._attempt, json.dumps(fit)))
    answers = []
    second = threading.Thread(target=lambda: answers.append(hub.audit([_bare(theirs, 2)])))
    second.start()
    second.join(0.3)
    assert answers == []
    first.execute("COMMIT")
    second.join(20)
    (answer,) = answers
    assert (answer.taken, set(answer.refused)) == (0, {"writes"})
    assert "another one" in answer.refused["writes"]
    assert stored(world, me) == [1, 2, 3]


def test_retention_takes_the_beginning_and_says_where_the_chain_begins(world: HubWorld) -> None:
    hub, me = machine(world)
    chain = Chain(me).grow(4)
    hub.audit([chain.part()])
    assert sql(world).execute("SELECT satchel.expire_audit(1)").fetchone() == (0,)
    age(world, me, upto=3)
    assert sql(world).execute("SELECT satchel.expire_audit(1)").fetchone() == (3,)
    assert stored(world, me) == [4]
    cut = (
        sql(world)
        .execute("SELECT seq, link, why FROM satchel.audit_cut WHERE replica_id = %s", (me,))
        .fetchone()
    )
    assert cut == (3, chain.record(3).link, "expired")
    assert hub.audit([chain.grow(1).part()]).taken == 1, "a retry of what expired is no event"
    age(world, me, upto=9)
    assert sql(world).execute("SELECT satchel.expire_audit(1)").fetchone() == (2,)
    again = WarehouseHub(hub._dsn)
    world.hubs.append(again)
    assert world.hello(again, me[0]).audit == {"writes": chain.held}
    assert again.audit([chain.grow(1).part(5)]).taken == 1
    with pytest.raises(psycopg.Error, match="at least a day"):
        sql(world).execute("SELECT satchel.expire_audit(0)")


def test_after_retention_nothing_can_be_removed_in_the_same_transaction(world: HubWorld) -> None:
    db = sql(world)
    db.execute("SET ROLE satchel_owner")
    db.execute("BEGIN")
    db.execute("SELECT satchel.expire_audit(1000)")
    with pytest.raises(psycopg.Error, match="only ever appended to"):
        db.execute("DELETE FROM satchel.audit")


def test_an_administrator_may_pin_another_key(world: HubWorld) -> None:
    hub, me = machine(world)
    chain = Chain(me).grow(1)
    hub.audit([chain.part()])
    chain.signer = Signer.new()
    assert "another key" in hub.audit([chain.grow(1).part()]).refused["writes"]
    key = json.loads(chain.head().signature)["public_key"]
    sql(world).execute(
        "INSERT INTO satchel.audit_key VALUES ('default', %s, 'ecdsa-p256-sha256', %s, 0)",
        (me, key),
    )
    assert hub.audit([chain.grow(1).part()]).refused == {}
    assert stored(world, me) == [1, 2, 3]


def test_a_program_that_may_only_read_tells_what_it_did(world: HubWorld) -> None:
    number = next(_numbers)
    hub = WarehouseHub(world.login())
    world.hubs.append(hub)
    hub.hello(replace(hello_of(number, "old"), schema=0))
    me = bytes([number]) * 16
    assert hub.bye({}, [Chain(me).grow(1).part()]).taken == 1


def age(world: HubWorld, replica_id: bytes, *, upto: int) -> None:
    """Let records have come two days ago."""
    db = sql(world)
    db.execute("SET session_replication_role = replica")
    db.execute(
        "UPDATE satchel.audit SET received_at = received_at - %s WHERE replica_id = %s"
        " AND seq <= %s AND received_at > satchel.now_ms() - %s",
        (2 * DAY_MS, replica_id, upto, DAY_MS),
    )


def _bare(chain: Chain, after: int) -> AuditPart:
    return replace(chain.part(after), head=None)
