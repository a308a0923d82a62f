"""Queries of who may reach what in a warehouse, beyond what satchel gives."""

from __future__ import annotations

from psycopg import sql

from satchel_warehouse.functions import AUDITORS, OWNER, REPLICAS, REPORTERS, SEARCHERS
from satchel_warehouse.roles import AUDITOR, REPLICA, REPORTER

GIVEN = (
    # group, kind of object, schema, one object of it or all, privilege: as sql/rights.sql and
    # sql/search_doors.sql give them.
    (REPLICAS, "SCHEMA", "satchel_api", None, "USAGE"),
    (REPLICAS, "ROUTINE", "satchel_api", None, "EXECUTE"),
    (REPORTERS, "SCHEMA", "report", None, "USAGE"),
    (REPORTERS, "VIEW", "report", None, "SELECT"),
    (REPORTERS, "ROUTINE", "satchel", "session_tenants", "EXECUTE"),
    (AUDITORS, "SCHEMA", "audit", None, "USAGE"),
    (AUDITORS, "VIEW", "audit", None, "SELECT"),
    (AUDITORS, "ROUTINE", "satchel", "session_tenants", "EXECUTE"),
    (AUDITORS, "ROUTINE", "satchel", "audit_said", "EXECUTE"),
    (SEARCHERS, "SCHEMA", "satchel_search", None, "USAGE"),
    (SEARCHERS, "ROUTINE", "satchel_search", None, "EXECUTE"),
    (SEARCHERS, "ROUTINE", "satchel", "session_tenants", "EXECUTE"),
)
OURS = {REPLICA: [REPLICAS], REPORTER: [REPORTERS, SEARCHERS], AUDITOR: [AUDITORS]}
"""Kind of a login -> the groups that it may be in."""
_GROUPS = (REPLICAS, REPORTERS, AUDITORS, SEARCHERS)


def composed(query: str) -> sql.Composed:
    """One of these queries, its `{names}` filled in as literals."""
    given = sql.SQL(", ").join(
        sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, row))) for row in GIVEN
    )
    expected = sql.SQL(", ").join(
        sql.SQL("({}, {}::text[])").format(sql.Literal(kind), sql.Literal(list(groups)))
        for kind, groups in OURS.items()
    )
    return sql.SQL(query.replace("{reach}", _REACH)).format(
        given=given, expected=expected, owner=sql.Literal(OWNER), groups=sql.Literal(list(_GROUPS))
    )


_REACH = """reach (id) AS (
    SELECT 0::oid UNION SELECT oid FROM pg_roles WHERE rolname = ANY ({groups})
        OR rolname IN (SELECT role_name FROM satchel.login) AND NOT rolsuper
    UNION
    SELECT m.roleid FROM pg_auth_members m JOIN reach ON reach.id = m.member
    JOIN pg_roles r ON r.oid = m.roleid
    WHERE r.rolname <> {owner} AND NOT r.rolsuper AND NOT starts_with(r.rolname, 'pg_')
)"""
"""PUBLIC, the groups, the logins, and what these are in: but for what `ROLES` tells of."""

RIGHTS = """
WITH RECURSIVE {reach}, given (of_group, kind, schema, name, privilege) AS (VALUES {given}),
held AS (
    SELECT 'DATABASE' AS kind, quote_ident(datname) AS name, '' AS schema, '' AS plain,
        grantee, privilege_type AS privilege
    FROM pg_database, aclexplode(coalesce(datacl, acldefault('d', datdba)))
    WHERE datname = current_database() AND privilege_type <> 'CONNECT'
    UNION ALL
    SELECT 'SCHEMA', quote_ident(nspname), nspname, nspname, grantee, privilege_type
    FROM pg_namespace, aclexplode(nspacl)
    UNION ALL
    SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END,
        c.oid::regclass::text, nspname, relname, grantee, privilege_type
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
        LATERAL (SELECT * FROM aclexplode(c.relacl) UNION ALL
            SELECT e.* FROM pg_attribute a, aclexplode(a.attacl) AS e WHERE a.attrelid = c.oid
        ) AS acl
    WHERE nspname NOT IN ('report', 'audit') OR relowner = {owner}::regrole
    UNION ALL
    SELECT 'ROUTINE', p.oid::regprocedure::text, nspname, proname, grantee, privilege_type
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace,
        aclexplode(coalesce(proacl, acldefault('f', proowner)))
    WHERE nspname NOT IN ('report', 'audit') OR prosecdef
    UNION ALL
    SELECT CASE defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'n' THEN
        'SCHEMAS' ELSE 'FUNCTIONS' END, coalesce('IN SCHEMA ' || quote_ident(nspname), ''),
        'satchel', '', grantee, privilege_type
    FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = defaclnamespace,
        aclexplode(defaclacl)
    WHERE defaclrole = {owner}::regrole AND (defaclobjtype IN ('r', 'S', 'n')
        OR defaclobjtype = 'f' AND (grantee <> 0 OR defaclnamespace <> 0))
)
SELECT kind, name, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(rolname) END,
    string_agg(DISTINCT privilege, ', ' ORDER BY privilege)
FROM held h LEFT JOIN pg_roles r ON r.oid = grantee
WHERE grantee IN (SELECT id FROM reach)
    AND (kind = 'DATABASE' OR schema IN ('satchel', 'satchel_api', 'satchel_search', 'report',
        'audit'))
    AND NOT EXISTS (SELECT FROM given g WHERE g.of_group = r.rolname AND g.kind = h.kind
        AND g.schema = h.schema AND coalesce(g.name, h.plain) = h.plain
        AND g.privilege = h.privilege)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
"""(kind, object, who, privileges) of what somebody may who should not. Columns count as tables."""

ATTRIBUTES = """
SELECT quote_ident(r.rolname), array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'SUPERUSER' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END,
    CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
    CASE WHEN r.rolreplication THEN 'REPLICATION' END,
    CASE WHEN r.rolcanlogin AND l.role_name IS NULL THEN 'LOGIN' END], NULL)
FROM pg_roles r LEFT JOIN satchel.login l ON l.role_name = r.rolname
WHERE r.rolname = {owner} OR r.rolname = ANY ({groups})
    OR l.role_name IS NOT NULL AND (NOT r.rolsuper OR EXISTS (
        SELECT FROM pg_auth_members m WHERE m.member = r.oid
            AND m.roleid IN (SELECT oid FROM pg_roles WHERE rolname = ANY ({groups}))))
ORDER BY 1
"""
"""(role, attributes that bind it to no tenant). A superuser that was granted no login may sync."""

ROLES = """
WITH RECURSIVE expected (kind, groups) AS (VALUES {expected}), bound (id, name, groups) AS (
    SELECT oid, rolname, '{{}}'::text[] FROM pg_roles WHERE rolname = ANY ({groups})
    UNION ALL
    SELECT r.oid, r.rolname, e.groups FROM satchel.login l
    JOIN pg_roles r ON r.rolname = l.role_name JOIN expected e USING (kind) WHERE NOT r.rolsuper
), path (id, first, role) AS (
    SELECT b.id, m.roleid, m.roleid FROM bound b JOIN pg_auth_members m ON m.member = b.id
    UNION
    SELECT p.id, p.first, m.roleid FROM path p JOIN pg_auth_members m ON m.member = p.role
    WHERE p.role NOT IN (SELECT oid FROM pg_roles WHERE rolname = ANY ({groups}))
)
SELECT DISTINCT quote_ident(b.name), quote_ident(pg_get_userbyid(p.first)), r.rolname::text
FROM path p JOIN bound b USING (id) JOIN pg_roles r ON r.oid = p.role
WHERE (r.rolname = {owner} OR r.rolname = ANY ({groups})) AND r.rolname <> ALL (b.groups)
    OR r.rolsuper OR r.rolbypassrls OR r.rolcreaterole OR r.rolreplication
    OR starts_with(r.rolname, 'pg_')
ORDER BY 1, 2, 3
"""
"""(who, the role that was granted to it, what it may act as by that)."""

VIEWS = """
WITH RECURSIVE {reach}, reads (id, of_id) AS (
    SELECT DISTINCT w.ev_class, d.refobjid FROM pg_rewrite w JOIN pg_depend d
        ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
            AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> w.ev_class
), unbound (id) AS (
    SELECT v.oid FROM pg_class v JOIN reads ON reads.id = v.oid
    JOIN pg_class t ON t.oid = of_id JOIN pg_namespace n ON n.oid = t.relnamespace
    JOIN pg_roles o ON o.oid = v.relowner
    WHERE v.relkind = 'm' AND nspname IN ('satchel', 'report', 'audit')
        OR v.relkind = 'v' AND nspname = 'satchel' AND (o.rolsuper OR o.rolbypassrls)
            AND o.rolname <> {owner}
            AND NOT EXISTS (SELECT FROM pg_options_to_table(v.reloptions)
                WHERE option_name = 'security_invoker' AND option_value::boolean)
    UNION
    SELECT reads.id FROM reads JOIN unbound ON reads.of_id = unbound.id
)
SELECT v.oid::regclass::text, n.nspname IN ('report', 'audit') AND v.relkind = 'v',
    CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
FROM unbound JOIN pg_class v ON v.oid = unbound.id JOIN pg_namespace n ON n.oid = v.relnamespace,
    aclexplode(v.relacl)
WHERE privilege_type = 'SELECT' AND grantee IN (SELECT id FROM reach) ORDER BY 1, 3
"""
"""(view, whether it is in a schema of ours, who may read it) of views that no tenant binds."""

NO_BARRIER = """
SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ('report', 'audit') AND c.relkind = 'v' AND c.relowner = {owner}::regrole
    AND NOT EXISTS (SELECT FROM pg_options_to_table(c.reloptions)
        WHERE option_name = 'security_barrier' AND option_value::boolean)
ORDER BY 1
"""
