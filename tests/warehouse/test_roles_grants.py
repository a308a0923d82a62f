"""`grant` makes logins of three kinds, each of one tenant, with the rights of its kind only."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from fix_command import Run, run
from fix_hub import PREFIX, HubWorld, hello_of
from fix_tenants import reader
from psycopg import conninfo

from satchel_warehouse import admin, roles, tenants
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import (
    LoginInvalid,
    TenantInvalid,
    TenantUnknown,
    WarehouseError,
    WarehouseRefused,
)
from satchel_warehouse.functions import GROUPS, SEARCHERS


def name_of(dsn: str) -> str:
    return str(conninfo.conninfo_to_dict(dsn)["user"])


def groups_of(world: HubWorld, name: str) -> set[str]:
    found = world.psql().execute(
        "SELECT roleid::regrole::text FROM pg_auth_members WHERE member = %s::regrole", (name,)
    )
    return {group for (group,) in found}


@pytest.mark.parametrize("kind", roles.GROUPS)
def test_a_login_is_in_its_group_only(world: HubWorld, kind: str) -> None:
    name = name_of(reader(world, kind, "first"))
    assert groups_of(world, name) == {roles.GROUPS[kind]}
    db = world.psql()
    rights = (
        "SELECT rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication, rolcanlogin"
    )
    found = db.execute(f"{rights} FROM pg_roles WHERE rolname = %s".encode(), (name,)).fetchone()
    assert found == (False, False, False, False, False, True)
    stands = db.execute("SELECT tenant, kind FROM satchel.login WHERE role_name = %s", (name,))
    assert stands.fetchall() == [("first", kind)]
    assert name in next(one.logins for one in tenants.listed(world.dsn) if one.name == "first")


def test_a_login_stays_what_it_is(world: HubWorld) -> None:
    name = name_of(reader(world, "reporter", "first"))
    tenants.add(world.dsn, "second")
    for told, given in (
        ("is a reporter's", {"kind": "auditor", "tenant": "first"}),
        ("is a reporter's", {"kind": "replica", "tenant": "first"}),
        ("belongs to the tenant 'first'", {"kind": "reporter", "tenant": "second"}),
        ("belongs to the tenant 'first'", {"kind": "reporter"}),
    ):
        with pytest.raises(WarehouseRefused, match=told):
            roles.grant(world.dsn, name, **given)
    assert groups_of(world, name) == {"satchel_reporter"}


def test_roles_of_others_are_left_alone(world: HubWorld) -> None:
    db = world.psql()
    name = PREFIX + uuid4().hex[:12]
    db.execute(f"CREATE ROLE {name} NOLOGIN".encode())
    world.logins.append(name)
    for taken in (name, "postgres", *GROUPS):
        for kind in roles.GROUPS:
            with pytest.raises(WarehouseRefused, match=f"exists and is no {kind}'s login"):
                roles.grant(world.dsn, taken, kind=kind)
    assert groups_of(world, name) == set()


def test_search_is_given_and_taken_away(world: HubWorld) -> None:
    dsn = reader(world, "reporter", "first", search=True)
    name = name_of(dsn)
    assert groups_of(world, name) == {"satchel_reporter", SEARCHERS}
    again = roles.grant(world.dsn, name, kind="reporter", tenant="first")
    assert (again.search, groups_of(world, name)) == (False, {"satchel_reporter"})
    for kind in ("replica", "auditor"):
        with pytest.raises(LoginInvalid):
            roles.grant(world.dsn, name, kind=kind, tenant="first", search=True)


HOSTILE = [
    ("", LoginInvalid),
    ("x" * 64, LoginInvalid),
    ("ä" * 32, LoginInvalid),
    ("a\0b", LoginInvalid),
    ("a\ud800", LoginInvalid),
    ("pg_mine", LoginInvalid),
    ("public", LoginInvalid),
    ("none", LoginInvalid),
]


@pytest.mark.parametrize(("name", "error"), HOSTILE, ids=lambda value: ascii(value)[:20])
def test_names_that_cannot_be(world: HubWorld, name: str, error: type[WarehouseError]) -> None:
    with pytest.raises(error) as caught:
        roles.grant(world.dsn, name)
    assert caught.value.exit_code == 2
    if not name.startswith(("pg_", "public", "none")):
        with pytest.raises(TenantInvalid):
            tenants.add(world.dsn, name)
    with pytest.raises(TenantUnknown):
        roles.grant(world.dsn, "somebody", tenant=name)


@pytest.mark.parametrize("name", ["seeded", "seeded-2", "seededfarms"])
def test_a_tenant_that_could_be_taken_for_made_up(world: HubWorld, name: str) -> None:
    with pytest.raises(TenantInvalid, match="no report counts it") as caught:
        tenants.add(world.dsn, name)
    assert "warehouse seed" in (caught.value.hint or "")
    assert name not in {one.name for one in tenants.listed(world.dsn)}


@pytest.mark.parametrize(
    "name", ["', 'default', 1); --", 'a"b; DROP ROLE x', "\\", "Ünïcode 名", "%s", "a b", "'"]
)
def test_names_are_data(world: HubWorld, name: str) -> None:
    login = f"{PREFIX}{name}"
    tenants.add(world.dsn, name)
    made = roles.grant(world.dsn, login, kind="reporter", tenant=name, password="hunter2")
    world.logins.append(login)
    assert "hunter2" not in repr(made)
    (found,) = [one for one in tenants.listed(world.dsn) if one.name == name]
    assert found.logins == {login: "reporter"}
    db = world.psql(conninfo.make_conninfo(world.dsn, user=login))
    assert db.execute("SELECT count(*) FROM report.machines").fetchone() == (0,)


def test_a_reader_is_no_replica(world: HubWorld) -> None:
    for kind in ("reporter", "auditor"):
        with WarehouseHub(reader(world, kind)) as hub, pytest.raises(WarehouseRefused) as caught:
            hub.hello(hello_of(7, f"as a {kind}"))
        assert caught.value.exit_code == 4
    # Nor where a DBA put it into the group of replicas by hand.
    dsn = reader(world, "reporter")
    world.psql().execute(f"GRANT satchel_replica TO {name_of(dsn)}".encode())
    with WarehouseHub(dsn) as hub, pytest.raises(WarehouseRefused, match="granted no replica"):
        hub.hello(hello_of(7, "by hand"))


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def warehouse(world: HubWorld, tmp_path: Path) -> Any:
    """`satchel warehouse` as the administrator."""

    def command(*words: str, **more: str) -> Run:
        home = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_ADMIN_DSN": world.dsn}
        return run("warehouse", *words, **(home | more))

    return command


def test_the_commands(world: HubWorld, warehouse: Any, tmp_path: Path) -> None:
    name, file = PREFIX + uuid4().hex[:12], tmp_path / "password"
    told = warehouse("grant", "--reporter", name, "--tenant", "acme")
    assert (told.code, told.error["code"]) == (3, "tenant_unknown")
    assert "tenant add" in told.error["hint"]

    made = warehouse("tenant", "add", "acme")
    assert (made.code, made.json["name"], made.json["machines"]) == (0, "acme", 0)
    assert warehouse("tenant", "add", "acme").json["hub_id"] == made.json["hub_id"]

    told = warehouse("grant", "--reporter", name, "--tenant", "acme", "--search")
    world.logins.append(name)
    assert told.code == 0, told.err
    assert told.json.keys() == {"login", "kind", "tenant", "search", "password"}
    assert (told.json["kind"], told.json["search"]) == ("reporter", True)
    file.write_text("of my own\n")
    told = warehouse("grant", "--reporter", name, "--tenant", "acme", "--password-file", str(file))
    assert "of my own" not in told.out + told.err
    assert "password" not in told.json

    (acme,) = [one for one in warehouse("tenant", "list").json if one["name"] == "acme"]
    assert acme["logins"] == {name: "reporter"}
    assert json.dumps(acme).count("password") == 0


@pytest.mark.parametrize(
    "words",
    [(), ("--replica", "a", "--auditor", "b"), ("--auditor", "a", "--search"), ("--search",)],
    ids=" ".join,
)
def test_what_a_grant_is_for_has_to_be_said(warehouse: Any, words: tuple[str, ...]) -> None:
    told = warehouse("grant", *words)
    assert (told.code, told.error["code"]) == (2, "invalid_input")


KEEPING: list[Callable[[str], object]] = [
    admin.init,
    admin.migrate,
    admin.status,
    admin.replicas,
    tenants.listed,
    lambda dsn: tenants.add(dsn, "mine"),
    lambda dsn: roles.grant(dsn, "more", kind="auditor"),
    lambda dsn: admin.revoke_replica(dsn, b"\x01" * 16),
]


@pytest.mark.parametrize("kind", roles.GROUPS)
def test_a_login_administers_nothing(world: HubWorld, kind: str) -> None:
    dsn = reader(world, kind)
    for keep in KEEPING:
        with pytest.raises(WarehouseRefused) as caught:
            keep(dsn)
        assert caught.value.exit_code == 4
    assert "mine" not in {one.name for one in tenants.listed(world.dsn)}


def test_the_command_says_so(world: HubWorld, warehouse: Any) -> None:
    told = warehouse("status", SATCHEL_WAREHOUSE_ADMIN_DSN=reader(world, "reporter"))
    assert (told.code, told.error["code"], told.out) == (4, "hub_refused", "")
