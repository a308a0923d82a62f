"""What a hand can open is found, and what the doctor says to do closes it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from uuid import uuid4

import psycopg
import pytest
from fix_hub import PREFIX, HubWorld
from psycopg import conninfo, sql

from satchel_warehouse import admin
from satchel_warehouse.database import Connection, connect
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.operations import checks_of_access
from satchel_warehouse.operations.check import Check
from satchel_warehouse.roles import AUDITOR, REPLICA, REPORTER, grant

COMMANDS = {"`satchel warehouse init`": admin.init, "`satchel warehouse migrate`": admin.migrate}
BYPASS = "CREATE ROLE {staff} BYPASSRLS; CREATE SCHEMA theirs; "

OPENED = {
    # What a hand does ({login}: a reporter, {staff}: a role of the DBA's) -> check, what it names.
    "GRANT SELECT ON satchel.memory TO PUBLIC": ("rights", "satchel.memory to PUBLIC"),
    "GRANT SELECT ON satchel.memory TO satchel_reporter; GRANT USAGE ON SCHEMA satchel TO"
    " satchel_reporter": ("rights", "satchel to satchel_reporter"),
    "GRANT SELECT (title) ON satchel.memory TO satchel_auditor": ("rights", "satchel.memory"),
    "GRANT ALL ON ALL TABLES IN SCHEMA satchel TO {login}": ("rights", "more"),
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA satchel TO satchel_replica": ("rights", "change_seq"),
    "GRANT EXECUTE ON FUNCTION satchel.now_ms() TO PUBLIC": ("rights", "satchel.now_ms()"),
    "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel TO satchel_searcher": ("rights", "more"),
    "GRANT USAGE ON SCHEMA satchel_search TO satchel_reporter": ("rights", "satchel_search"),
    "GRANT EXECUTE ON FUNCTION satchel_api.now_ms() TO satchel_reporter": ("rights", "now_ms"),
    "GRANT UPDATE, SELECT ON report.tasks TO satchel_reporter": ("rights", "report.tasks"),
    "GRANT SELECT ON audit.records TO satchel_reporter": ("rights", "audit.records"),
    "GRANT CREATE ON SCHEMA report TO satchel_reporter": ("rights", "report to"),
    "GRANT TEMPORARY, CREATE ON DATABASE {database} TO {login}": ("rights", "{database} to"),
    "ALTER DEFAULT PRIVILEGES FOR ROLE satchel_owner IN SCHEMA satchel GRANT SELECT ON TABLES TO"
    " satchel_reporter": ("rights", "IN SCHEMA satchel"),
    "CREATE ROLE {staff}; GRANT {staff} TO {login}; GRANT SELECT ON satchel.task TO {staff}":
        ("rights", "satchel.task to {staff}"),
    "SET LOCAL ROLE satchel_owner; CREATE FUNCTION report.leak() RETURNS bigint LANGUAGE sql"
    " SECURITY DEFINER AS 'SELECT 1'; RESET ROLE": ("rights", "report.leak()"),

    "CREATE POLICY allow_all ON satchel.memory USING (true)": ("tenants", "allow_all"),
    'CREATE POLICY "Allow all" ON satchel.task FOR SELECT TO satchel_owner USING (true)':
        ("tenants", "Allow all"),
    "CREATE POLICY all_logins ON satchel.login USING (true)": ("tenants", "satchel.login"),
    "CREATE POLICY words ON satchel.search_text TO satchel_reporter USING (true)":
        ("tenants", "satchel.search_text"),

    "ALTER ROLE satchel_owner BYPASSRLS": ("roles", "satchel_owner has BYPASSRLS"),
    "ALTER ROLE satchel_owner SUPERUSER LOGIN": ("roles", "SUPERUSER LOGIN"),
    "ALTER ROLE satchel_reporter BYPASSRLS LOGIN": ("roles", "BYPASSRLS LOGIN"),
    "ALTER ROLE {login} BYPASSRLS": ("roles", "BYPASSRLS"),
    "ALTER ROLE {login} SUPERUSER": ("roles", "SUPERUSER"),
    "ALTER ROLE {login} CREATEROLE REPLICATION": ("roles", "CREATEROLE REPLICATION"),
    "GRANT satchel_owner TO {login}": ("roles", "satchel_owner"),
    "GRANT satchel_owner TO satchel_reporter": ("roles", "satchel_owner"),
    "CREATE ROLE {staff}; GRANT satchel_owner TO {staff}; GRANT {staff} TO {login}":
        ("roles", "may act as satchel_owner"),
    "CREATE ROLE {staff} BYPASSRLS; GRANT {staff} TO {login}": ("roles", "act as {staff}"),
    "GRANT satchel_auditor TO {login}": ("roles", "satchel_auditor"),
    "GRANT satchel_searcher TO satchel_replica": ("roles", "satchel_searcher"),
    "GRANT pg_read_all_data TO {login}": ("roles", "pg_read_all_data"),

    "ALTER VIEW report.tasks RESET (security_barrier)": ("views", "report.tasks is no"),
    "ALTER VIEW audit.records SET (security_barrier = off)": ("views", "audit.records is no"),
    "ALTER VIEW report.tasks OWNER TO CURRENT_USER": ("views", "report.tasks shows"),
    "CREATE VIEW report.mine AS SELECT * FROM satchel.memory; GRANT SELECT ON report.mine TO"
    " satchel_reporter": ("views", "report.mine shows"),
    BYPASS + "CREATE VIEW theirs.all_of AS SELECT * FROM satchel.memory; ALTER VIEW theirs.all_of"
    " OWNER TO {staff}; GRANT SELECT ON theirs.all_of TO {login}": ("views", "theirs.all_of"),
    "CREATE VIEW public.inner_one AS SELECT * FROM satchel.task; CREATE VIEW public.outer_one AS"
    " SELECT * FROM public.inner_one; GRANT SELECT ON public.outer_one TO PUBLIC":
        ("views", "outer_one shows PUBLIC"),
    "CREATE MATERIALIZED VIEW public.kept AS SELECT * FROM report.tasks; GRANT SELECT ON"
    " public.kept TO {login}": ("views", "kept shows"),
}  # fmt: skip
BROKEN = {
    # What only a command puts back -> what is named.
    "ALTER POLICY tenant_only ON satchel.memory USING (true)": "satchel.memory",
    "ALTER POLICY tenant_only ON satchel.space"
    " USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]) OR true)": "satchel.space",
    "ALTER POLICY tenant_only ON satchel.audit TO satchel_reporter": "satchel.audit",
    "DROP POLICY tenant_only ON satchel.message;"
    "CREATE POLICY tenant_only ON satchel.message AS RESTRICTIVE USING (true)": "satchel.message",
    "ALTER POLICY owner_only ON satchel.search_text TO PUBLIC": "satchel.search_text",
    "ALTER TABLE satchel.task NO FORCE ROW LEVEL SECURITY": "satchel.task",
    "ALTER TABLE satchel.login DISABLE ROW LEVEL SECURITY": "satchel.login",
    "CREATE OR REPLACE FUNCTION satchel.session_tenants() RETURNS text[] LANGUAGE sql STABLE"
    " SECURITY DEFINER AS 'SELECT ARRAY(SELECT name FROM satchel.tenant)'": "session_tenants",
}
MEANT = (
    # What a DBA may do on purpose, and nothing is said of it.
    "CREATE POLICY office_hours ON satchel.memory AS RESTRICTIVE USING (true)",
    "CREATE ROLE {staff}; GRANT satchel_owner TO {staff}",
    "CREATE VIEW public.its AS SELECT * FROM report.tasks; GRANT SELECT ON public.its TO PUBLIC",
    "GRANT CONNECT ON DATABASE {database} TO satchel_replica",
    "CREATE ROLE {staff}; GRANT {staff} TO {login}; GRANT SELECT ON satchel.task TO satchel_owner",
    "CREATE VIEW public.theirs AS SELECT * FROM satchel.memory",
)


@pytest.fixture(scope="module")
def session(world: HubWorld) -> Iterator[Connection]:
    for kind, search in ((REPLICA, False), (AUDITOR, False), (REPORTER, True)):
        world.logins.append(PREFIX + uuid4().hex[:12])
        grant(world.dsn, world.logins[-1], kind=kind, search=search)
    db = connect(world.dsn, path="warehouse.admin")
    yield db
    db.close()


def named(world: HubWorld, text: str) -> str:
    """With the names of this run; what begins with letters needs no quotes."""
    names = {"login": world.logins[-1], "database": world.name, "staff": f"{PREFIX}staff"}
    return text.format(**names)


def looked(db: Connection) -> dict[str, Check]:
    return {one.name: one for _, look in checks_of_access.checks() for one in look(db)}


def failing(found: dict[str, Check]) -> set[str]:
    return {one.name for one in found.values() if one.ok == "fail"}


@pytest.mark.parametrize("statement", OPENED)
def test_what_was_opened_is_found_and_closed_by_what_is_said(
    world: HubWorld, session: Connection, statement: str
) -> None:
    name, word = OPENED[statement]
    with session.transaction(force_rollback=True):
        session.execute(named(world, statement).encode())
        found = looked(session)
        assert failing(found) == {name}, found
        assert named(world, word) in found[name].found, found[name]
        session.execute(found[name].fix.encode())
        assert failing(looked(session)) == set(), found[name].fix


@pytest.mark.parametrize("statement", MEANT)
def test_what_a_dba_may_do_is_no_fault(
    world: HubWorld, session: Connection, statement: str
) -> None:
    with session.transaction(force_rollback=True):
        session.execute(named(world, statement).encode())
        assert failing(looked(session)) == set()


def test_what_was_broken_is_put_back_by_the_command_that_is_said(hub_world: HubWorld) -> None:
    database = sql.Identifier(hub_world.name).as_string()
    everything = {
        **{one: ("tenants", word) for one, word in BROKEN.items()},
        f"GRANT TEMPORARY ON DATABASE {database} TO PUBLIC": ("rights", "PUBLIC"),
        f"REVOKE TEMPORARY ON DATABASE {database} FROM satchel_owner": ("rights", "missing"),
    }
    fixes = set()
    with closing(connect(hub_world.dsn, path="warehouse.admin")) as db:
        assert failing(looked(db)) == set()
        for statement, (name, word) in everything.items():
            with db.transaction(force_rollback=True):
                db.execute(statement.encode())
                found = looked(db)
                assert (failing(found), word in found[name].found) == ({name}, True), found[name]
                fixes.add(found[name].fix)
        db.execute(";".join(everything).encode())
        assert fixes == COMMANDS.keys()
        for fix in fixes:
            COMMANDS[fix](hub_world.dsn)
        assert failing(looked(db)) == set()


def test_a_policy_of_somebody_else_stops_init_and_migrate(hub_world: HubWorld) -> None:
    """It is not dropped, as somebody made it; a restrictive one is kept, and hinders nothing."""
    db = hub_world.psql()
    db.execute("CREATE POLICY office_hours ON satchel.memory AS RESTRICTIVE USING (true)")
    db.execute("ALTER TABLE satchel.task NO FORCE ROW LEVEL SECURITY")
    db.execute('CREATE POLICY "Allow all" ON satchel.memory USING (true)')
    db.execute("CREATE POLICY too ON satchel.task USING (true)")
    for command in COMMANDS.values():
        with pytest.raises(WarehouseRefused, match="policies that satchel did not make") as caught:
            command(hub_world.dsn)
        drops, _, rest = caught.value.hint.rpartition("; ")
        assert drops == (
            'DROP POLICY "Allow all" ON satchel.memory; DROP POLICY too ON satchel.task'
        )
        assert "RESTRICTIVE) is kept" in rest
    forced = "SELECT relforcerowsecurity FROM pg_class WHERE oid = 'satchel.task'::regclass"
    assert db.execute(forced).fetchone() == (False,), "nothing was done by halves"
    db.execute(drops.encode())
    admin.migrate(hub_world.dsn)
    policies = (
        "SELECT polname FROM pg_policy WHERE polrelid = 'satchel.memory'::regclass ORDER BY 1"
    )
    assert db.execute(policies).fetchall() == [("office_hours",), ("tenant_only",)]
    assert db.execute(forced).fetchone() == (True,)


def test_a_superuser_that_syncs_is_no_fault(world: HubWorld, session: Connection) -> None:
    """It needs no grant, and sees all in any case."""
    user = str(conninfo.conninfo_to_dict(world.dsn)["user"])
    with session.transaction(force_rollback=True):
        session.execute(
            "INSERT INTO satchel.login (role_name, tenant, granted_at) VALUES (%s, 'default', 1)",
            (user,),
        )
        assert failing(looked(session)) == set()


def test_by_an_added_policy_a_tenant_does_see_another(hub_world: HubWorld) -> None:
    """That what the doctor calls a fault is one."""
    hub_world.replica(1)
    login = hub_world.login("other")
    db = hub_world.psql()
    db.execute(
        "CREATE FUNCTION satchel_api.seen() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " AS 'SELECT count(*) FROM satchel.replica';"
        "ALTER FUNCTION satchel_api.seen() OWNER TO satchel_owner"
    )
    with psycopg.connect(login, autocommit=True) as other:
        assert other.execute("SELECT satchel_api.seen()").fetchone() == (0,)
        db.execute("CREATE POLICY allow_all ON satchel.replica USING (true)")
        assert other.execute("SELECT satchel_api.seen() > 0").fetchone() == (True,)
    db.execute("DROP FUNCTION satchel_api.seen()")
