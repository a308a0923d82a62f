-- Who may do what, after all is made: so that no table, view or function is forgotten. Repeatable.

-- Whose rows this session may see: of a login its tenant's; of a superuser, and of who may act as
-- the owner, all; else nobody's. As its definer: a policy asks it with the reader's rights.
CREATE OR REPLACE FUNCTION satchel.session_tenants() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pg_has_role(session_user, '@owner@', 'MEMBER')
        THEN ARRAY(SELECT name FROM satchel.tenant)
        ELSE ARRAY(SELECT tenant FROM satchel.login WHERE role_name = session_user::text) END
$$;

-- How each table with a tenant is guarded: the policy that it is to have, whether it has just that,
-- and which others let rows through. Permissive policies are ORed: one more opens what ours closes;
-- restrictive ones only take rows away: whoever added one meant it. The doctor reads this too.
CREATE OR REPLACE FUNCTION satchel.guards() RETURNS TABLE (
    name text, is_forced boolean, rule text, body text, is_ruled boolean, others text[]
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH meant (relname, rule, body, role, reads, writes) AS (VALUES
        (NULL, 'tenant_only', 'USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]))',
            0::oid, '^\(tenant = ANY \(\( ?SELECT satchel\.session_tenants\(\)( AS \w+)?\)'
            '::text\[\]\)\)$', NULL),
        ('search_text', 'owner_only', 'TO @owner@ USING (true) WITH CHECK (true)',
            '@owner@'::regrole::oid, '^true$', '^true$')
    )
    SELECT c.oid::regclass::text,
        c.relrowsecurity AND (c.relforcerowsecurity OR c.relname = 'login'),
        m.rule, m.body,
        m.rule IS NULL OR EXISTS (SELECT FROM pg_policy p
            WHERE p.polrelid = c.oid AND p.polname = m.rule AND p.polpermissive AND p.polcmd = '*'
                AND p.polroles = ARRAY[m.role] AND pg_get_expr(p.polqual, c.oid) ~ m.reads
                AND CASE WHEN m.writes IS NULL THEN p.polwithcheck IS NULL
                    ELSE coalesce(pg_get_expr(p.polwithcheck, c.oid) ~ m.writes, false) END),
        ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid AND p.polpermissive
            AND p.polname IS DISTINCT FROM m.rule ORDER BY 1)
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    LEFT JOIN meant m ON CASE WHEN c.relname = 'search_text' THEN m.relname = 'search_text'
        ELSE c.relname <> 'login' AND m.relname IS NULL END
    WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY 1
$$;

-- Every table with a tenant shows a session its tenant's rows only, and binds the owner too: what a
-- view or a function forgets to filter is filtered. But not `login`, which the policy asks, and
-- `search_text`, whose index no policy lets be used (ADR 0037): no view reads these. A policy that
-- somebody else made is not dropped: the error says how, and nothing is migrated.
CREATE OR REPLACE FUNCTION satchel.guard_tenants() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET client_min_messages = warning AS $$
DECLARE
    guarded record;
    strangers text;
BEGIN
    SELECT string_agg(format('DROP POLICY %I ON %s', other, name), '; ') INTO strangers
    FROM satchel.guards(), unnest(others) AS other;
    IF strangers IS NOT NULL THEN
        RAISE EXCEPTION 'policies that satchel did not make let a tenant see the rows of others'
            USING ERRCODE = 'SA001', HINT = strangers
                || '; what only takes rows away (CREATE POLICY ... AS RESTRICTIVE) is kept';
    END IF;
    FOR guarded IN SELECT * FROM satchel.guards() LOOP
        IF NOT guarded.is_forced THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded.name);
            IF guarded.rule IS NOT NULL THEN
                EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded.name);
            END IF;
        END IF;
        IF NOT guarded.is_ruled THEN
            EXECUTE format('DROP POLICY IF EXISTS %I ON %s', guarded.rule, guarded.name);
            EXECUTE format('CREATE POLICY %I ON %s %s', guarded.rule, guarded.name, guarded.body);
        END IF;
    END LOOP;
END
$$;
SELECT satchel.guard_tenants();

-- Views of ours are barriers: what a reader asks is asked of what the view shows, never of a row
-- that it leaves out. Those of other people in these schemas are left alone.
CREATE OR REPLACE FUNCTION satchel.guard_views() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    shown record;
BEGIN
    FOR shown IN
        SELECT c.oid::regclass AS name, n.nspname = 'report' AS is_report,
            coalesce('security_barrier=true' = ANY (c.reloptions), false) AS is_barrier
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('report', 'audit') AND c.relkind = 'v'
            AND c.relowner = '@owner@'::regrole
    LOOP
        IF NOT shown.is_barrier THEN
            EXECUTE format('ALTER VIEW %s SET (security_barrier = true)', shown.name);
        END IF;
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', shown.name);
        EXECUTE format('GRANT SELECT ON %s TO %I', shown.name,
            CASE WHEN shown.is_report THEN '@reporters@' ELSE '@auditors@' END);
    END LOOP;
END
$$;
SELECT satchel.guard_views();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA satchel, satchel_api FROM PUBLIC;
REVOKE ALL ON SCHEMA report, audit FROM PUBLIC;
GRANT USAGE ON SCHEMA satchel_api TO @replicas@;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel_api TO @replicas@;
GRANT USAGE ON SCHEMA report TO @reporters@;
GRANT USAGE ON SCHEMA audit TO @auditors@;
-- What a view calls, its reader calls; without USAGE on the schema nobody can by name.
GRANT EXECUTE ON FUNCTION satchel.session_tenants() TO @reporters@, @auditors@, @searchers@;
GRANT EXECUTE ON FUNCTION satchel.audit_said(text) TO @auditors@;
