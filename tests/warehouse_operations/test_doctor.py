"""Each check of the doctor finds its fault; a sound warehouse has none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest
from fix_hub import PREFIX, HubWorld
from psycopg import conninfo, sql

from satchel_warehouse.database import Connection, connect
from satchel_warehouse.errors import WarehouseNotMigrated
from satchel_warehouse.operations import doctoring
from satchel_warehouse.operations.check import Check
from satchel_warehouse.roles import AUDITOR, REPLICA, REPORTER, grant

FRESH = {"backup", "retention", "durability", "vacuum", "reports"}
"""What may warn of a hub that was just made, in a server that forgets."""
FAULTS = {
    # SQL that breaks something -> the check that has to fail or warn, and a word that it says.
    "UPDATE satchel.alembic_version SET version_num = '0001'": ("version", "fail", "0001"),
    "UPDATE satchel.alembic_version SET version_num = '9999'": ("version", "warn", "9999"),
    "UPDATE satchel.hub SET protocol = protocol - 1": ("version", "fail", "protocol"),
    "ALTER FUNCTION satchel_api.now_ms() OWNER TO CURRENT_USER": ("owner", "fail", "now_ms"),
    "ALTER TABLE satchel.task OWNER TO CURRENT_USER": ("owner", "fail", "satchel.task"),
    "GRANT SELECT ON satchel.memory TO PUBLIC": ("rights", "fail", "satchel.memory"),
    "GRANT SELECT ON satchel.token TO satchel_replica": ("rights", "fail", "satchel.token"),
    "GRANT EXECUTE ON FUNCTION satchel.now_ms() TO PUBLIC": ("rights", "fail", "now_ms"),
    "GRANT USAGE ON SCHEMA satchel TO PUBLIC": ("rights", "fail", "satchel to PUBLIC"),
    "ALTER TABLE satchel.task NO FORCE ROW LEVEL SECURITY": ("tenants", "fail", "task"),
    "DROP POLICY tenant_only ON satchel.conflict": ("tenants", "fail", "conflict"),
    "SET LOCAL ROLE satchel_owner; CREATE TABLE satchel.mine (tenant text); RESET ROLE":
        ("tenants", "fail", "mine"),
    "ALTER TABLE satchel.task DISABLE TRIGGER satchel_2_stamp": ("triggers", "fail", "task"),
    "DROP TRIGGER satchel_3_truncate ON satchel.space": ("triggers", "fail", "space"),
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'satchel.task_change_seq'::regclass":
        ("indexes", "warn", "task_change_seq"),
    "INSERT INTO satchel.login (role_name, tenant, granted_at) VALUES ('gone', 'default', 1)":
        ("logins", "warn", "gone"),
    "UPDATE satchel.hub SET clock_correction_ms = 7": ("clock", "warn", "7 ms"),
    "SET LOCAL password_encryption = 'md5'": ("encryption", "fail", "md5"),
    "ALTER FUNCTION satchel.bound(text) RENAME TO elsewhere": ("change numbers", "fail", "bound"),
    "UPDATE satchel.replica SET last_seen = 1": ("machines", "warn", "silent"),
    "UPDATE satchel.replica SET must_reconcile = true": ("machines", "ok", "1 to reconcile"),
}  # fmt: skip


@pytest.fixture(scope="module")
def admin_session(world: HubWorld) -> Iterator[Connection]:
    db = connect(world.dsn, path="warehouse.admin")
    yield db
    db.close()


@contextmanager
def broken(db: Connection, statement: str) -> Iterator[dict[str, Check]]:
    """The checks by their names while a statement is in force."""
    with db.transaction(force_rollback=True):
        db.execute(statement.encode())
        yield {one.name: one for one in doctoring.examined(db)}


def test_a_sound_warehouse_has_no_fault(world: HubWorld, admin_session: Connection) -> None:
    for kind, search in ((REPORTER, True), (REPORTER, False), (AUDITOR, False), (REPLICA, False)):
        world.logins.append(PREFIX + uuid4().hex[:12])
        grant(world.dsn, world.logins[-1], kind=kind, search=search)
    found = doctoring.examined(admin_session)
    assert len(found) == len({one.name for one in found}) == 22
    assert [one for one in found if one.ok != "ok" and one.name not in FRESH] == []
    failed = [(one.name, one.found) for one in found if one.ok == "fail"]
    assert failed == [("durability", "off: fsync")], "as the server of these tests has it"
    assert all(bool(one.why and one.fix) == (one.ok != "ok") for one in found)


@pytest.mark.parametrize("statement", FAULTS)
def test_each_fault_is_found(admin_session: Connection, statement: str) -> None:
    name, verdict, word = FAULTS[statement]
    with broken(admin_session, statement) as found:
        assert (found[name].ok, word in found[name].found + found[name].why) == (verdict, True), (
            found[name]
        )
        others = {one.name for one in found.values() if one.ok == "fail"} - {name, *FRESH}
        assert others == set()


def test_what_a_restore_leaves_wrong_is_found(world: HubWorld, admin_session: Connection) -> None:
    name = sql.Identifier(world.name).as_string()
    for statement in (
        f"GRANT TEMPORARY ON DATABASE {name} TO PUBLIC",
        f"REVOKE TEMPORARY ON DATABASE {name} FROM satchel_owner",
    ):
        with broken(admin_session, statement) as found:
            assert found["rights"].ok == "fail", statement
            assert "init" in found["rights"].fix


def test_a_transaction_that_lasts_is_found_with_its_process(
    world: HubWorld, admin_session: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel_warehouse.operations import checks_of_server

    monkeypatch.setattr(checks_of_server, "TRANSACTION_WARN_S", 0.0)
    with psycopg.connect(world.dsn) as other:
        other.execute("SELECT 1")
        pid = other.info.backend_pid
        found = {one.name: one for one in doctoring.examined(admin_session)}
    assert found["sessions"].ok == "warn"
    assert f"pg_terminate_backend({pid})" in found["sessions"].fix


def test_who_may_not_look_is_told_so_and_nothing_is_raised(world: HubWorld) -> None:
    login = conninfo.conninfo_to_dict(world.login())["user"]
    db = connect(world.dsn, path="warehouse.admin")
    try:
        db.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(str(login))))
        found = doctoring.examined(db)
    finally:
        db.close()
    refused = [one for one in found if one.found == "not looked at"]
    assert len(refused) > 5
    assert all(one.ok == "warn" and "denied" in one.why for one in refused)


def test_a_database_without_a_hub_is_told_from_a_sick_one(cluster: str) -> None:
    with pytest.raises(WarehouseNotMigrated, match="holds no warehouse"):
        doctoring.examine(conninfo.make_conninfo(cluster, dbname="template1"))
