"""A warehouse that a DBA made with deploy/sql: what may be done to it next, and by whom."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import psycopg
import pytest
from fix_hub import ORIGIN, HubWorld, row_of, titled
from fix_psql import Administrator
from fix_servers import NEEDS_POSTGRES
from psycopg import conninfo

from satchel_sync.tables import MEMORY
from satchel_warehouse import admin, roles

pytestmark = NEEDS_POSTGRES


ADD_ACME = "SET ROLE satchel_owner; SELECT satchel.add_tenant('acme')"


@pytest.fixture(scope="module")
def by_hand(dba: Administrator) -> Administrator:
    """A warehouse that psql made, with a second tenant."""
    dba.anew()
    dba.psql("init.sql")
    dba.command(ADD_ACME)
    return dba


def test_it_may_be_run_again_but_not_for_partitions(by_hand: Administrator) -> None:
    before = by_hand.schema()
    assert by_hand.psql("init.sql") == ""
    for count in (1, 4, 65):
        with pytest.raises(AssertionError, match="only in a new warehouse"):
            by_hand.psql("init.sql", partitions=count)
    assert by_hand.schema() == before


def test_all_is_done_or_nothing(by_hand: Administrator) -> None:
    other = replace(by_hand, database="other")
    other.make()
    with pytest.raises(AssertionError, match="only in a new warehouse"):
        other.psql("init.sql", partitions=1)
    with psycopg.connect(other.dsn) as db:
        assert db.execute("SELECT to_regnamespace('satchel')").fetchone() == (None,)
    other.drop()


KINDS = {
    "replica": {},
    "searcher": {"kind": "reporter", "search": "on"},
    "reporter": {"kind": "reporter", "tenant": "acme"},
    "auditor": {"kind": "auditor", "tenant": "acme"},
}


def test_a_login_is_the_one_that_grant_makes(by_hand: Administrator) -> None:
    for name, given in KINDS.items():
        for _ in range(2):
            by_hand.psql("grant.sql", login=f"psql {name}", **given)
        options = given | {"search": bool(given.get("search"))}
        roles.grant(by_hand.dsn, f"grant {name}", **options)  # type: ignore[arg-type]
        assert held(by_hand, f"psql {name}") == held(by_hand, f"grant {name}")
        roles.grant(by_hand.dsn, f"psql {name}", **options)  # type: ignore[arg-type]
    by_hand.psql("grant.sql", login="psql searcher", kind="reporter")
    roles.grant(by_hand.dsn, "grant searcher", kind="reporter")
    assert held(by_hand, "psql searcher") == held(by_hand, "grant searcher")


def test_a_login_may_have_any_name(by_hand: Administrator) -> None:
    name = """ünïq "laptop'; DROP ROLE satchel_replica --"""
    by_hand.psql("grant.sql", login=name)
    with psycopg.connect(by_hand.dsn) as db:
        found = db.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", (name,))
        assert found.fetchone() == (True,)
    assert roles.grant(by_hand.dsn, name).login == name
    with pytest.raises(AssertionError, match="-v login=NAME"):
        by_hand.psql("grant.sql")


def held(by_hand: Administrator, name: str) -> list[str]:
    """What is said of a login anywhere, without its name, its password and the time."""
    told = [*by_hand.roles(), *by_hand.rows({"satchel.login": ["role_name", "tenant", "kind"]})[
        "satchel.login"]]  # fmt: skip
    mine = (line.replace(name, "NAME") for line in told if f'"{name}"' in line)
    said = [re.sub(r" PASSWORD '[^']*'", "", line) for line in mine]
    assert len(said) >= 7, "the role, its group, its limits, its line in the table of logins"
    return said


@pytest.mark.parametrize(
    ("login", "wrong"),
    [
        ("n" * 64, {}),
        ("", {}),
        ("public", {}),
        ("new", {"tenant": "nobody"}),
        ("new", {"kind": "king"}),
        ("new", {"search": "on"}),
        ("psql replica", {"kind": "auditor"}),
        ("psql replica", {"tenant": "acme"}),
        ("postgres", {}),
        ("satchel_owner", {}),
    ],
)
def test_a_login_that_cannot_be_is_refused(
    by_hand: Administrator, login: str, wrong: dict[str, str]
) -> None:
    by_hand.psql("grant.sql", login="psql replica")
    before = by_hand.roles()
    with pytest.raises(AssertionError, match="ERROR"):
        by_hand.psql("grant.sql", login=login, **wrong)
    assert by_hand.roles() == before


def test_the_rest_may_be_left_to_a_login_that_is_no_superuser(by_hand: Administrator) -> None:
    """After a DBA's init.sql: a member of the owner migrates and looks, but makes no roles."""
    with psycopg.connect(by_hand.dsn, autocommit=True) as db:
        db.execute("CREATE ROLE keeper LOGIN; GRANT satchel_owner TO keeper")
    keeper = conninfo.make_conninfo(by_hand.dsn, user="keeper")
    before = by_hand.schema()
    assert admin.migrate(keeper).revision == admin.status(by_hand.dsn).revision
    assert by_hand.schema() == before
    world = HubWorld(by_hand.dsn)
    hub = world.replica(1)
    world.know(ORIGIN)
    assert hub.push(MEMORY, [row_of(MEMORY, "k", titled(MEMORY, title="x"))]).accepted == ("k",)
    assert admin.status(keeper).rows["memory"] == {"alive": 1, "dead": 0}
    world.close()


def test_it_is_enough_to_own_the_database_and_make_roles(by_hand: Administrator) -> None:
    theirs = replace(by_hand, database="theirs")
    theirs.make()
    with psycopg.connect(theirs.dsn, autocommit=True) as db:
        db.execute("CREATE ROLE keeper_of_theirs LOGIN CREATEROLE")
        db.execute("ALTER DATABASE theirs OWNER TO keeper_of_theirs")
    assert theirs.psql("init.sql", user="keeper_of_theirs") == ""
    theirs.psql("grant.sql", user="keeper_of_theirs", login="laptop of theirs")
    for one in (by_hand, theirs):
        one.command(ADD_ACME)
    assert of_schemas(theirs.schema()) == of_schemas(by_hand.schema())
    theirs.drop()


def of_schemas(lines: list[str]) -> list[str]:
    """Without what is said of the database itself."""
    return [line for line in lines if not re.search(r"\bDATABASE\b|^\\connect", line)]


CHANGES = {
    "ALTER TABLE satchel.memory NO FORCE ROW LEVEL SECURITY": "memory FORCE ROW LEVEL SECURITY",
    "DROP INDEX satchel.memory_change_seq": "CREATE INDEX memory_change_seq ",
    "ALTER TABLE satchel.task ALTER title TYPE text": 'title text COLLATE pg_catalog."C"',
    "ALTER POLICY tenant_only ON satchel.task USING (true)": "CREATE POLICY tenant_only .*task",
    "GRANT SELECT ON satchel.memory TO satchel_replica": "SELECT ON TABLE satchel.memory TO",
    "GRANT EXECUTE ON FUNCTION satchel.now_ms() TO PUBLIC": "FUNCTION satchel.now_ms.* PUBLIC",
    "GRANT TEMPORARY ON DATABASE memory TO PUBLIC": "REVOKE .*TEMPORARY ON DATABASE memory",
    "ALTER FUNCTION satchel_api.now_ms() SECURITY INVOKER": "SECURITY DEFINER",
    "ALTER FUNCTION satchel_api.bound(text) OWNER TO postgres": "bound.* OWNER TO satchel_owner",
    "DROP TRIGGER satchel_2_stamp ON satchel.session": "TRIGGER satchel_2_stamp .* satchel.session",
}
"""A change of a warehouse -> what the comparison sees of it."""


def test_a_difference_from_what_init_makes_shows(by_hand: Administrator) -> None:
    before = by_hand.schema()
    with psycopg.connect(by_hand.dsn, autocommit=True) as db:
        for change in CHANGES:
            db.execute(change.encode())
    was, now = Counter(before), Counter(by_hand.schema())
    differing = [*(was - now), *(now - was)]
    for change, seen in CHANGES.items():
        assert any(re.search(seen, line) for line in differing), change
