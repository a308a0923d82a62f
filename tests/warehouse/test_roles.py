"""A replica's login can do what the doors do, and nothing else."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_hub import ORIGIN, HubWorld, fresh_database, hello_of, row_of, titled
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg import conninfo

from satchel_sync.changes import Access
from satchel_sync.errors import HubRefused
from satchel_sync.tables import MEMORY, TABLES
from satchel_sync.version import PROTOCOL, PROTOCOL_MIN
from satchel_warehouse import admin, roles, tenants
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import (
    DsnInvalid,
    WarehouseError,
    WarehouseReadOnly,
    WarehouseReconcile,
    WarehouseRefused,
    WarehouseUnreachable,
)
from satchel_warehouse.functions import GROUPS

FORBIDDEN = [
    "SELECT * FROM satchel.memory",
    "SELECT * FROM satchel.login",
    "SELECT * FROM satchel.attempt",
    "SELECT * FROM satchel.replica",
    "SELECT token FROM satchel.token",
    "SELECT * FROM satchel.relayed",
    "SELECT epoch FROM satchel.tenant",
    "DELETE FROM satchel.conflict",
    "INSERT INTO satchel.memory (id) VALUES ('x')",
    "UPDATE satchel.memory SET title = 'x'",
    "DELETE FROM satchel.memory",
    "TRUNCATE satchel.memory",
    "ALTER TABLE satchel.memory DISABLE TRIGGER ALL",
    "COPY satchel.memory TO STDOUT",
    "SELECT satchel.now_ms()",
    "SELECT satchel.add_tenant('mine')",
    "SELECT satchel.give_token(decode(repeat('01', 16), 'hex'), 'mine')",
    "SELECT satchel.deliver('default', decode(repeat('01', 16), 'hex'), '{}')",
    "SELECT satchel.scrub_about('default', 'memory', '{x}', 'x', 1)",
    "SELECT satchel.is_forgotten('default', 'memory', 'x')",
    "SELECT satchel.random_hex(8)",
    "SELECT nextval('satchel.change_seq_1')",
    "CREATE TEMPORARY TABLE incoming_memory (id text)",
    "CREATE TABLE satchel.mine (id text)",
    "CREATE FUNCTION satchel_api.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SET ROLE satchel_owner",
    "CREATE ROLE another LOGIN",
]


@pytest.fixture(scope="module")
def session(world: HubWorld) -> psycopg.Connection[Any]:
    return world.psql(world.login())


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_replica_login_may_not(session: psycopg.Connection[Any], statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        session.execute(statement.encode())


def test_the_incoming_table_takes_rows_and_shows_none(world: HubWorld) -> None:
    world.replica(40)
    session = world.psql(world.hubs[-1]._dsn)
    with session.transaction():
        session.execute("SELECT satchel_api.push_begin_memory(%s)", (f"attempt-{world.attempts}",))
        session.execute("INSERT INTO pg_temp.incoming_memory (id) VALUES ('x')")
        for statement in ("SELECT * FROM pg_temp.incoming_memory", "CREATE TEMP TABLE a (b int)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), session.transaction():
                session.execute(statement.encode())
        raise psycopg.Rollback


def test_push_end_needs_the_table_that_push_begin_made(world: HubWorld) -> None:
    """A superuser can make a look-alike; the door does not read it as the owner."""
    hub = WarehouseHub(world.dsn)
    world.hubs.append(hub)
    world.hello(hub, 41)
    session = world.psql()
    session.execute("CREATE TEMP TABLE incoming_memory (LIKE satchel.memory)")
    with pytest.raises(psycopg.Error, match="push_end without push_begin"):
        session.execute("SELECT satchel_api.push_end_memory(%s, 1)", (f"attempt-{world.attempts}",))


def test_a_tenant_sees_its_own_rows_only(world: HubWorld) -> None:
    ours, theirs = world.replica(42), world.replica(43, tenant="other")
    row = row_of(MEMORY, "same-key", titled(MEMORY, title="ours"))
    other = row_of(MEMORY, "same-key", titled(MEMORY, title="theirs"))
    ours.push(MEMORY, [row])
    world.know(ORIGIN, tenant="other")
    assert theirs.bound()["memory"] == 0
    assert theirs.fetch(MEMORY, ["same-key"]).rows == ()
    theirs.push(MEMORY, [other])
    assert [found.values for found in theirs.pull(MEMORY, 0, 10**6).rows] == [other.values]
    assert [found.values for found in ours.fetch(MEMORY, ["same-key"]).rows] == [row.values]
    assert theirs.manifest(MEMORY, range(256)) == {"same-key": other.stamp}
    assert sum(count for count, _ in theirs.digests({"memory": []})["memory"].buckets.values()) == 1


def test_row_level_security_holds_where_a_door_forgets_the_tenant(world: HubWorld) -> None:
    ours, _ = world.replica(44), world.replica(45, tenant="third")
    ours.push(MEMORY, [row_of(MEMORY, "row-level", titled(MEMORY, title="ours"))])
    world.psql().execute(
        "CREATE FUNCTION satchel_api.careless() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT count(*) FROM satchel.memory';"
        "ALTER FUNCTION satchel_api.careless() OWNER TO satchel_owner"
    )
    sees = [
        world.psql(hub._dsn).execute("SELECT satchel_api.careless()").fetchone()
        for hub in world.hubs[-2:]
    ]
    world.psql().execute("DROP FUNCTION satchel_api.careless()")
    assert sees[0] is not None
    assert sees[0][0] > 0
    assert sees[1] == (0,)


def test_an_attempt_of_another_login_is_no_key(world: HubWorld) -> None:
    world.replica(46)
    attempt = f"attempt-{world.attempts}"
    other = world.psql(world.login())
    with pytest.raises(psycopg.Error, match="no open attempt of this login"):
        other.execute("SELECT satchel_api.bound(%s)", (attempt,))


def test_a_replica_id_is_bound_to_its_first_login(world: HubWorld) -> None:
    world.replica(47)
    with (
        WarehouseHub(world.login()) as thief,
        pytest.raises(WarehouseRefused, match="another login"),
    ):
        thief.hello(hello_of(47, "stolen"))


def test_a_revoked_replica_is_refused_everywhere(world: HubWorld) -> None:
    hub = world.replica(48)
    assert admin.revoke_replica(world.dsn, b"\x30" * 16)
    for call in (hub.bound, lambda: world.hello(hub, 48)):
        with pytest.raises(HubRefused) as caught:
            call()
        assert caught.value.exit_code == 4
    assert not admin.revoke_replica(world.dsn, b"\xfe" * 16)


def test_a_login_without_a_grant_here_is_refused(world: HubWorld) -> None:
    dsn = world.login()
    world.psql().execute("DELETE FROM satchel.login WHERE role_name = %s", (world.logins[-1],))
    with WarehouseHub(dsn) as hub, pytest.raises(WarehouseRefused, match="was granted no replica"):
        hub.hello(hello_of(49, "no-grant"))


def test_hellos_that_do_not_fit(world: HubWorld) -> None:
    hello = hello_of(50, "misfit")
    with WarehouseHub(world.login()) as hub:
        for protocol in (0, PROTOCOL_MIN - 1, PROTOCOL + 1, 99):
            told = hub.hello(replace(hello, protocol=protocol))
            assert (told.access, told.protocol) == (Access.UPGRADE_REQUIRED, PROTOCOL)
        with pytest.raises(WarehouseReconcile):
            hub.hello(replace(hello, hub_id=b"\x07" * 16))
        with pytest.raises(WarehouseRefused, match="hello comes first"):
            hub.bound()
    assert "50" * 16 not in {machine.replica_id for machine in admin.status(world.dsn).machines}


def test_a_read_only_hub_is_exit_10(world: HubWorld) -> None:
    hub = world.replica(51)
    world.psql().execute(
        f"ALTER ROLE {world.logins[-1]} SET default_transaction_read_only = on".encode()
    )
    hub.close()
    with pytest.raises(WarehouseReadOnly) as caught:
        world.hello(hub, 51)
    assert caught.value.exit_code == 10


@pytest.mark.parametrize(
    ("dsn", "error", "exit_code"),
    [
        ("postgresql://u@127.0.0.1:1/x", WarehouseUnreachable, 10),
        ("host=/nowhere dbname=x password=hunter2", WarehouseUnreachable, 10),
        ("postgresql://u:hunter2@example.invalid/x", WarehouseRefused, 4),
        ("postgresql://u:hunter2@h/x?oops=1", DsnInvalid, 2),
        ("hunter2 is no dsn", DsnInvalid, 2),
    ],
)
def test_a_dsn_that_leads_nowhere(dsn: str, error: type[WarehouseError], exit_code: int) -> None:
    hub = WarehouseHub(dsn)
    with pytest.raises(error) as caught:
        hub.now_ms()
    assert caught.value.exit_code == exit_code
    assert "hunter2" not in f"{caught.value!r} {caught.value} {caught.value.hint} {hub!r}"
    assert caught.value.__cause__ is None


PIECE = st.text("ABCDEFGHJKLMNPQRSTUVWXYZ", min_size=6, max_size=9).map("Zz{}".format)
BETWEEN = st.sampled_from(["", *":/@?#&=[]%' ,;\\\0", "=x ", "%40", "é", "\ud800", "/x?sslmode="])
FORMS = st.sampled_from(
    [
        "postgresql://u:{}@127.0.0.1:1/db",
        "postgresql://u:{}@/db?host=/nowhere",
        "postgres://u:1/{}@127.0.0.1:1/db",
        "postgresql:/u:{}@127.0.0.1/db",
        "postgresql://127.0.0.1:1/db?password={}",
        "postgresql://127.0.0.1:1/db?connect_timeout={}",
        "postgresql://127.0.0.1:1/db?sslmode={}",
        "postgresql://u:a@{}@127.0.0.1:1/db",
        "host=127.0.0.1 port=1 password={}",
        "host=/nowhere password='{}'",
        "host=127.0.0.1 port={} dbname=d",
        "{}",
    ]
)


@settings(deadline=None, max_examples=300)
@given(form=FORMS, pieces=st.lists(PIECE, min_size=1, max_size=3), between=BETWEEN)
def test_whatever_the_password_no_piece_of_it_is_told(
    form: str, pieces: list[str], between: str
) -> None:
    hub = WarehouseHub(form.format(between.join(pieces)))
    with pytest.raises(WarehouseError) as caught:
        hub.now_ms()
    told = "".join(traceback.format_exception_only(caught.value)) + caught.value.hint + repr(hub)
    assert not [piece for piece in pieces if piece in told or piece in repr(caught.value)]
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "change",
    [{"replica_id": b""}, {"replica_id": b"x" * 1000}, {"attempt": ""}, {"attempt": "x" * 201}],
)
def test_a_hello_of_odd_size_is_refused(world: HubWorld, change: dict[str, Any]) -> None:
    with WarehouseHub(world.login()) as hub, pytest.raises(WarehouseRefused, match="bytes"):
        hub.hello(replace(hello_of(52, "odd"), **change))


def test_what_a_machine_says_of_itself_is_cut(world: HubWorld) -> None:
    with WarehouseHub(world.login()) as hub:
        hub.hello(replace(hello_of(53, "wordy"), host="h" * 100_000, version="ä" * 100_000))
    (machine,) = (m for m in admin.status(world.dsn).machines if m.replica_id == "35" * 16)
    assert (machine.host, machine.version) == ("h" * 255, "ä" * 255)


def test_a_login_cannot_stop_the_pushes_of_another_tenant(world: HubWorld) -> None:
    """Nothing that a login of another tenant may hold is what a push waits for."""
    ours, theirs = world.replica(54), world.replica(55, tenant="noisy")
    thief = world.psql(theirs._dsn)
    thief.execute("BEGIN")
    for (number,) in world.psql().execute("SELECT number FROM satchel.tenant").fetchall():
        thief.execute("SELECT pg_advisory_xact_lock(1396790340, %s)", (number,))
    thief.execute("SELECT satchel_api.push_begin_memory(%s)", (theirs._attempt,))
    thief.execute("SELECT satchel_api.push_end_memory(%s, 1)", (theirs._attempt,))
    for statement in (
        "SELECT FROM satchel.tenant FOR KEY SHARE",
        "LOCK TABLE satchel.tenant IN ACCESS SHARE MODE",
        "SELECT satchel.lock_tenant('default')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), thief.transaction():
            thief.execute(statement.encode())
    world.psql().execute(f"ALTER ROLE {world.logins[-2]} SET lock_timeout = '2s'".encode())
    ours.close()
    row = row_of(MEMORY, "not stopped", titled(MEMORY, title="x"))
    assert ours.push(MEMORY, [row]).accepted == ("not stopped",)
    thief.execute("ROLLBACK")


def test_a_hello_and_a_grant_wait_for_no_push(world: HubWorld) -> None:
    """They check a foreign key to the tenant's row, which a writer holds."""
    editor = world.psql()
    editor.execute("BEGIN")
    editor.execute("UPDATE satchel.memory SET title = 'held' WHERE false")
    dsn = conninfo.make_conninfo(world.login(), options="-c lock_timeout=2s")
    with WarehouseHub(dsn) as hub:
        hub.hello(hello_of(56, "meanwhile"))
        assert hub.bound().keys() == {table.name for table in TABLES}
    editor.execute("ROLLBACK")


def test_grant_keeps_to_logins_of_its_own(world: HubWorld) -> None:
    for name in ("postgres", "satchel_owner"):
        with pytest.raises(WarehouseRefused):
            roles.grant(world.dsn, name)
    world.login()
    tenants.add(world.dsn, "other")
    with pytest.raises(WarehouseRefused, match="belongs to the tenant"):
        roles.grant(world.dsn, world.logins[-1], tenant="other")
    again = roles.grant(world.dsn, world.logins[-1], password="hunter2")
    assert "hunter2" not in repr(again)
    stored = world.psql().execute(
        "SELECT rolpassword FROM pg_authid WHERE rolname = %s", (world.logins[-1],)
    )
    assert str(stored.fetchone()).startswith("('SCRAM-SHA-256$")


def test_an_administrator_who_is_no_superuser_can_make_a_warehouse(cluster: str) -> None:
    name = "satchel_test_" + uuid4().hex[:12]
    with psycopg.connect(cluster, autocommit=True) as db:
        db.execute(f"CREATE ROLE {name} LOGIN CREATEROLE".encode())
        for role in GROUPS:
            if db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                db.execute(f"GRANT {role} TO {name} WITH ADMIN TRUE".encode())
    try:
        with fresh_database(cluster) as dsn:
            with psycopg.connect(dsn, autocommit=True) as db:
                db.execute(f"ALTER DATABASE {db.info.dbname} OWNER TO {name}".encode())
            mine = conninfo.make_conninfo(dsn, user=name)
            admin.init(mine)
            admin.init(mine)
            login = roles.grant(mine, name + "_replica").login
            tenants.add(mine, "acme")
            for kind, search in (("auditor", False), ("reporter", True), ("reporter", False)):
                roles.grant(mine, f"{name}_{kind}", kind=kind, tenant="acme", search=search)
            report = conninfo.make_conninfo(dsn, user=f"{name}_reporter")
            with psycopg.connect(report) as db:
                assert db.execute("SELECT count(*) FROM report.totals").fetchone() == (0,)
            hub = WarehouseHub(conninfo.make_conninfo(dsn, user=login))
            with hub:
                welcome = hub.hello(hello_of(1, "attempt"))
            assert welcome.hub_id.hex() == admin.status(mine).hub_id
            with psycopg.connect(dsn, autocommit=True) as db:
                for made in (login, f"{name}_auditor", f"{name}_reporter"):
                    db.execute(f"DROP OWNED BY {made} CASCADE".encode())
                    db.execute(f"DROP ROLE {made}".encode())
    finally:
        with psycopg.connect(cluster, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {name} CASCADE".encode())
            db.execute(f"DROP ROLE {name}".encode())
