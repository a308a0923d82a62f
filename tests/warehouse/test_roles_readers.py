"""Reporters and auditors: what views show them of two tenants, and everything that they may not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from fix_hub import PREFIX, HubWorld, fresh_database
from fix_tenants import MARKS, NORTH, SOUTH, filled, reader
from psycopg import conninfo, sql

from satchel_sync.tables import TABLES
from satchel_warehouse import admin, tenants
from satchel_warehouse.endpoint import WarehouseHub

SCHEMAS = {"reporter": "report", "auditor": "audit"}
"""Kind -> the schema that it reads."""
OTHERS = {"reporter": "audit", "auditor": "report"}
VIEWS = "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'v'"
Session = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def two(world: HubWorld) -> dict[str, WarehouseHub]:
    """Both tenants, with rows, and all sums of reports made."""
    hubs = {tenant: filled(world, tenant) for tenant in MARKS}
    db = world.psql()
    for tenant, mark in MARKS.items():
        db.execute(
            "INSERT INTO satchel.searched (tenant, id, at, login, machine, kinds, opened_in)"
            " VALUES (%s, %s, 0, %s, %s, '{memory}', 0)",
            (tenant, f"{mark}-search", f"{mark}-login", f"{mark}-host"),
        )
    db.execute("SELECT satchel.refresh_reports()")
    return hubs


@pytest.fixture(scope="module")
def readers(world: HubWorld, two: dict[str, WarehouseHub]) -> dict[tuple[str, str], Session]:
    """(kind, tenant) -> its session."""
    return {
        (kind, tenant): world.psql(reader(world, kind, tenant))
        for kind in SCHEMAS
        for tenant in MARKS
    }


def views(db: Session, schema: str) -> list[sql.Identifier]:
    """The views of a schema, there to be read."""
    found = [sql.Identifier(schema, name) for (name,) in db.execute(VIEWS, (schema,))]
    assert len(found) >= 6
    return found


def rows(db: Session, view: sql.Composable) -> list[tuple[str, str]]:
    """(tenant, all of it as text) of each row."""
    return db.execute(sql.SQL("SELECT tenant, v::text FROM {} v").format(view)).fetchall()


# ---- rows: one's own tenant, or none ------------------------------------------------------------


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_view_shows_a_reader_its_tenant_only(
    world: HubWorld, readers: dict[tuple[str, str], Session], kind: str
) -> None:
    seen: dict[str, set[str]] = {}
    names = {one.name: one.hub_id for one in tenants.listed(world.dsn)}
    ids = {me: [told for of in names.items() if of[0] != me for told in of] for me in MARKS}
    ids[NORTH].remove("default")  # what a setting of a row may be
    ids[SOUTH].remove("default")
    for view in views(world.psql(), SCHEMAS[kind]):
        everything = rows(world.psql(), view)
        for tenant in MARKS:
            shown = rows(readers[kind, tenant], view)
            assert {told for told, _ in shown} <= {tenant}, view
            assert len(shown) == sum(of == tenant for of, _ in everything), view
            others = [*(word for of, word in MARKS.items() if of != tenant), *ids[tenant]]
            assert not [text for _, text in shown if any(word in text for word in others)], view
            seen.setdefault(view.as_string(), set()).update(of for of, _ in shown)
    full = [name for name, shown in seen.items() if shown == {NORTH, SOUTH}]
    assert len(full) >= 6, f"of these views a row of both was to be seen: {seen}"


@pytest.mark.parametrize("kind", SCHEMAS)
def test_who_was_granted_nothing_here_sees_nothing(
    world: HubWorld, two: dict[str, WarehouseHub], kind: str
) -> None:
    """In the group of readers, as the login of another database of this server is."""
    name = PREFIX + uuid4().hex[:12]
    world.psql().execute(f"CREATE ROLE {name} LOGIN IN ROLE satchel_{kind}".encode())
    world.logins.append(name)
    stranger = world.psql(conninfo.make_conninfo(world.dsn, user=name))
    for view in views(world.psql(), SCHEMAS[kind]):
        assert rows(stranger, view) == [], view


def test_a_revoked_grant_shows_nothing_from_the_next_statement_on(
    world: HubWorld, two: dict[str, WarehouseHub]
) -> None:
    dsn = reader(world, "auditor", NORTH)
    db = world.psql(dsn)
    view = sql.Identifier("audit", "records")
    assert rows(db, view)
    world.psql().execute(
        "DELETE FROM satchel.login WHERE role_name = %s", (conninfo.conninfo_to_dict(dsn)["user"],)
    )
    assert rows(db, view) == []


def test_a_member_of_the_owner_sees_all(world: HubWorld, two: dict[str, WarehouseHub]) -> None:
    name = PREFIX + uuid4().hex[:12]
    world.psql().execute(f"CREATE ROLE {name} LOGIN IN ROLE satchel_owner".encode())
    world.logins.append(name)
    keeper = world.psql(conninfo.make_conninfo(world.dsn, user=name))
    found = keeper.execute("SELECT DISTINCT tenant FROM satchel.memory").fetchall()
    assert {tenant for (tenant,) in found} == {NORTH, SOUTH}
    seen = {tenant for tenant, _ in rows(keeper, sql.Identifier("audit", "records"))}
    assert seen == {NORTH, SOUTH}


def test_a_session_of_no_login_has_no_row_of_any_table(
    world: HubWorld, two: dict[str, WarehouseHub]
) -> None:
    """Fail closed: what a careless function of the owner's would give to somebody unknown."""
    name = PREFIX + uuid4().hex[:12]
    db = world.psql()
    db.execute(f"CREATE ROLE {name} LOGIN".encode())
    world.logins.append(name)
    db.execute(
        "CREATE FUNCTION public.careless(_table text) RETURNS bigint LANGUAGE plpgsql"
        " SECURITY DEFINER AS $$ DECLARE n bigint; BEGIN"
        " EXECUTE format('SELECT count(*) FROM satchel.%I', _table) INTO n; RETURN n; END $$;"
        "ALTER FUNCTION public.careless(text) OWNER TO satchel_owner"
    )
    careless = "SELECT relname, public.careless(relname) FROM unnest(%s::text[]) AS t (relname)"
    tables = [name for (name,) in db.execute(GUARDED)]
    try:
        everything = dict(db.execute(careless, (tables,)).fetchall())
        assert all(everything[table.name] == 2 for table in TABLES)
        assert min(everything[name] for name in ("replica", "attempt", "audit", "conflict")) >= 2
        with closing(psycopg.connect(conninfo.make_conninfo(world.dsn, user=name))) as stranger:
            assert stranger.execute(careless, (tables,)).fetchall() == [
                (name, 0) for name in tables
            ]
    finally:
        db.execute("DROP FUNCTION public.careless(text)")


# ---- what no reader may -------------------------------------------------------------------------

FORBIDDEN = [
    # select
    *(f"SELECT FROM satchel.{table.name} LIMIT 1" for table in TABLES),
    *(f"SELECT FROM satchel.{name}" for name in ("login", "replica", "attempt", "token", "tenant")),
    *(f"SELECT FROM satchel.{name}" for name in ("audit", "audit_key", "conflict", "hub")),
    "SELECT FROM satchel.alembic_version",
    "SELECT FROM satchel.report_totals",
    "COPY satchel.memory TO STDOUT",
    "COPY (SELECT title FROM satchel.memory) TO STDOUT",
    "TABLE pg_catalog.pg_authid",
    "SELECT FROM pg_catalog.pg_statistic",
    "SELECT pg_read_file('postgresql.conf')",
    "SELECT pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    "COPY (SELECT 1) TO PROGRAM 'cat'",
    # insert, update, delete
    "INSERT INTO satchel.memory (tenant, id) VALUES ('north', 'x')",
    "UPDATE satchel.memory SET title = 'x'",
    "DELETE FROM satchel.memory",
    "TRUNCATE satchel.memory",
    "LOCK TABLE satchel.memory IN ACCESS SHARE MODE",
    "MERGE INTO satchel.memory m USING (SELECT 1) s ON m.id = 'x' WHEN MATCHED THEN DELETE",
    # functions
    "SELECT satchel_api.now_ms()",
    "SELECT satchel_api.hello('{}')",
    "SELECT satchel_api.bound('boreal-1')",
    "SELECT satchel.session_tenants()",
    "SELECT satchel.add_tenant('mine')",
    "SELECT satchel.refresh_reports()",
    "SELECT satchel.expire_audit(1)",
    "SELECT satchel.guard_tenants()",
    "SELECT satchel_search.open('north', '', '{memory}')",
    "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE FUNCTION pg_temp.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OPERATOR public.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = texteq)",
    # sequences
    "SELECT nextval('satchel.change_seq_1')",
    "SELECT setval('satchel.hub_hlc', 1)",
    "SELECT last_value FROM satchel.change_seq_1",
    # temporary and other tables
    "CREATE TEMPORARY TABLE mine (id text)",
    "CREATE TEMPORARY VIEW mine AS SELECT 1",
    "CREATE TABLE satchel.mine (id text)",
    "CREATE TABLE report.mine (id text)",
    "CREATE VIEW audit.mine AS SELECT 1",
    "CREATE SCHEMA mine",
    # becoming somebody else
    "SET ROLE satchel_owner",
    "SET SESSION AUTHORIZATION postgres",
    "GRANT satchel_owner TO CURRENT_USER",
    "CREATE ROLE another LOGIN",
    "ALTER ROLE satchel_owner LOGIN",
]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_reader_may_not(readers: dict[tuple[str, str], Session], kind: str) -> None:
    db = readers[kind, NORTH]
    other = OTHERS[kind]
    seen = db.execute(VIEWS, (SCHEMAS[kind],)).fetchall()
    more = [
        f"SELECT FROM {other}.{'records' if other == 'audit' else 'totals'}",
        *(
            statement.format(view=f"{SCHEMAS[kind]}.{name}")
            for (name,) in seen
            for statement in (
                "INSERT INTO {view} (tenant) VALUES ('north')",
                "UPDATE {view} SET tenant = 'north'",
                "DELETE FROM {view}",
                "SELECT FROM {view} FOR UPDATE",
                "ALTER VIEW {view} SET (security_barrier = false)",
            )
        ),
    ]
    allowed = []
    for statement in [*FORBIDDEN, *more]:
        try:
            with db.transaction():
                db.execute(statement.encode())
            allowed.append(statement)
        except psycopg.errors.InsufficientPrivilege:
            pass
        except psycopg.errors.ObjectNotInPrerequisiteState:
            assert f"{SCHEMAS[kind]}." in statement  # such a view takes no rows from anybody
    assert allowed == []


# ---- errors and catalogs that would tell --------------------------------------------------------

PROBES = (
    "SELECT count(*) FROM {view} v WHERE v::text::integer = 1",
    "SELECT count(*) FROM {view} v WHERE (v::text)::uuid IS NULL",
    "SELECT count(*) FROM {view} v WHERE CAST(v::text AS timestamptz) IS NULL",
    "SELECT count(*) FROM {view} v WHERE 1 / position('{mark}' in v::text) < 0",
    "SELECT max(v::text) FROM {view} v GROUP BY tenant HAVING max(v::text)::integer = 1",
    "SELECT count(*) FROM {view} v WHERE tenant::integer = 1",
    "SELECT count(*) FROM {view} v WHERE tenant = '{other}' AND v::text::integer = 1",
)
"""Conditions that fail with the value that they met, or for a row without a word."""


@pytest.mark.parametrize("kind", SCHEMAS)
def test_no_error_quotes_the_row_of_another_tenant(
    world: HubWorld, readers: dict[tuple[str, str], Session], kind: str
) -> None:
    db, mark = readers[kind, NORTH], MARKS[NORTH]
    quoted = 0
    for view in views(world.psql(), SCHEMAS[kind]):
        for probe in PROBES:
            asked = probe.format(view=view.as_string(), mark=mark, other=SOUTH)
            try:
                db.execute(asked.encode())
            except psycopg.errors.DataError as error:
                said = str(error)
                assert MARKS[SOUTH] not in said, asked
                assert SOUTH not in said, asked
                quoted += NORTH in said or mark in said
    assert quoted > 10, "rows of its own are quoted: the probes do reach them"


def test_a_view_without_a_barrier_would_tell(
    world: HubWorld, two: dict[str, WarehouseHub], readers: dict[tuple[str, str], Session]
) -> None:
    """What the probes find where a view leaves rows out and a condition is asked before."""
    db = world.psql()
    db.execute(
        "CREATE VIEW report.leaky AS SELECT tenant, title FROM satchel.memory"
        " WHERE md5(md5(md5(md5(md5(title))))) = 'nobody''s';"
        "GRANT SELECT ON report.leaky TO satchel_reporter"
    )
    probe = "SELECT FROM report.leaky WHERE title::integer = 1"
    north = readers["reporter", NORTH]
    try:
        with pytest.raises(psycopg.errors.DataError, match=MARKS[NORTH]):
            north.execute(probe)
        db.execute("ALTER VIEW report.leaky OWNER TO satchel_owner")
        db.execute("SELECT satchel.guard_views()")
        assert north.execute(probe).fetchall() == []
    finally:
        db.execute("DROP VIEW report.leaky")


CATALOGS = {
    "values of columns": "SELECT count(*) FROM pg_stats WHERE schemaname = 'satchel'",
    "statistics of expressions": "SELECT count(*) FROM pg_stats_ext_exprs",
    "where sequences stand": "SELECT count(last_value) FROM pg_sequences",
    "what others ask": "SELECT count(*) FROM pg_stat_activity WHERE usename <> current_user"
    " AND query NOT IN ('', '<insufficient privilege>')",
    "from where others come": "SELECT count(client_addr) FROM pg_stat_activity"
    " WHERE usename <> current_user",
    "what comments say": "SELECT count(*) FROM pg_description WHERE description ~ 'austral'",
    "passwords": "SELECT count(*) FROM pg_roles WHERE rolpassword NOT LIKE '***%'",
    "columns it may read": "SELECT count(*) FROM information_schema.columns"
    " WHERE table_schema = 'satchel'",
    "rights of others": "SELECT count(*) FROM information_schema.role_table_grants"
    " WHERE table_schema = 'satchel'",
}  # fmt: skip


@pytest.mark.parametrize("kind", [*SCHEMAS, "replica"])
def test_catalogs_tell_nothing_of_rows(
    world: HubWorld,
    readers: dict[tuple[str, str], Session],
    two: dict[str, WarehouseHub],
    kind: str,
) -> None:
    world.psql().execute("ANALYZE")
    db = world.psql(world.login(NORTH)) if kind == "replica" else readers[kind, NORTH]
    told = {what: db.execute(query.encode()).fetchall()[0][0] for what, query in CATALOGS.items()}
    assert told == dict.fromkeys(CATALOGS, 0)


# ---- that nothing is forgotten ------------------------------------------------------------------

GUARDED = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind IN ('r', 'p')
    AND a.attname = 'tenant' AND NOT a.attisdropped AND c.relname NOT IN ('login', 'search_text')
"""
UNGUARDED = f"""
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'satchel'::regnamespace
    AND c.relname IN ({GUARDED}) AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND (
        SELECT count(*) = 1 FROM pg_policies p WHERE p.schemaname = 'satchel'
            AND p.tablename = c.relname AND p.permissive = 'PERMISSIVE' AND p.roles = '{{public}}'
            AND p.qual ~ '^\\(tenant = ANY .*session_tenants' AND p.with_check IS NULL))
"""
BARE = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE nspname IN ('report', 'audit') AND c.relkind NOT IN ('i', 'c') AND (c.relkind <> 'v'
    OR c.relowner <> 'satchel_owner'::regrole
    OR NOT coalesce('security_barrier=true' = ANY (c.reloptions), false)
    OR coalesce(c.reloptions::text, '') ~ 'security_invoker'
    OR EXISTS (SELECT FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
        WHERE r.ev_class = c.oid
            AND d.refobjid IN ('satchel.login'::regclass, 'satchel.search_text'::regclass))
    OR (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum = 1) <> 'tenant')
"""
"""No view of the owner's with a barrier and a tenant first, or one of what is not guarded."""
OPEN = """
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE nspname ~ '^satchel' AND has_function_privilege('public', p.oid, 'EXECUTE')
"""


def test_every_table_view_and_function_is_guarded(world: HubWorld) -> None:
    db = world.psql()
    assert len(db.execute(GUARDED).fetchall()) > 20
    for query in (UNGUARDED, BARE, OPEN):
        assert db.execute(query).fetchall() == []


def test_what_is_not_guarded_is_found_and_guarded_by_a_migration(hub_world: HubWorld) -> None:
    db = hub_world.psql()
    db.execute("SET ROLE satchel_owner")
    db.execute("CREATE TABLE satchel.mine (tenant text, x int)")
    db.execute("ALTER TABLE satchel.task NO FORCE ROW LEVEL SECURITY")
    db.execute("DROP POLICY tenant_only ON satchel.space")
    db.execute("CREATE POLICY tenant_only ON satchel.space USING (true)")
    db.execute("CREATE VIEW report.mine AS SELECT tenant FROM satchel.login")
    db.execute("CREATE FUNCTION satchel.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    found = [{name for (name,) in db.execute(query)} for query in (UNGUARDED, BARE, OPEN)]
    assert found == [{"mine", "task", "space"}, {"report.mine"}, {"satchel.mine()"}]
    admin.migrate(hub_world.dsn)
    assert [db.execute(query).fetchall() for query in (UNGUARDED, OPEN)] == [[], []]
    barrier = "SELECT reloptions FROM pg_class WHERE oid = 'report.mine'::regclass"
    assert db.execute(barrier).fetchone() == (["security_barrier=true"],)


@pytest.fixture(scope="module")
def elsewhere(cluster: str) -> Iterator[str]:
    """An empty database of the same server."""
    with fresh_database(cluster) as dsn:
        yield dsn


def test_a_schema_of_somebody_else_is_not_taken_over(elsewhere: str) -> None:
    with psycopg.connect(elsewhere, autocommit=True) as db:
        db.execute("CREATE SCHEMA report")
        with pytest.raises(Exception, match="a schema report of its own") as caught:
            admin.init(elsewhere)
        assert getattr(caught.value, "code", "") == "hub_refused"
        db.execute("ALTER SCHEMA report RENAME TO theirs")
    assert admin.init(elsewhere).revision
