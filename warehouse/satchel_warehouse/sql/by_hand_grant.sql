-- A login, as `satchel warehouse grant` makes it.
-- As a superuser or a role with CREATEROLE, after init.sql:
--   psql -X -d DATABASE -v login=laptops -f grant.sql
--   psql -X -d DATABASE -v login=ada -v kind=reporter -v search=on -v tenant=acme -f grant.sql
-- `kind` is one of @kinds@. Then give it a password: \password NAME
\set ON_ERROR_STOP on
\if :{?login}
\else
    DO $$ BEGIN RAISE 'whose login? psql -v login=NAME -f grant.sql'; END $$;
\endif
\if :{?kind}
\else
    \set kind @replica@
\endif
\if :{?tenant}
\else
    \set tenant @tenant@
\endif
\if :{?search}
\else
    \set search off
\endif

BEGIN;
SET LOCAL client_min_messages = warning;
SELECT set_config('deploy.login', :'login', true), set_config('deploy.kind', :'kind', true),
    set_config('deploy.tenant', :'tenant', true), set_config('deploy.search', :'search', true);
DO $$
DECLARE
    name text := current_setting('deploy.login');
    its_kind text := current_setting('deploy.kind');
    searches boolean := current_setting('deploy.search')::boolean;
    into_group text := jsonb '@groups@' ->> its_kind;
    setting record;
BEGIN
    IF into_group IS NULL OR (searches AND its_kind <> '@reporter@') THEN
        RAISE '% is no kind of login, or may not search', quote_literal(its_kind);
    END IF;
    IF octet_length(name) NOT BETWEEN 1 AND @name_bytes@ THEN
        RAISE 'a name has 1 to @name_bytes@ bytes';
    END IF;
    IF EXISTS (SELECT FROM satchel.login WHERE role_name = name
        AND (tenant, kind) <> (current_setting('deploy.tenant'), its_kind))
    THEN
        RAISE 'the login % is of another tenant or kind', quote_literal(name);
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = name AND (rolsuper
        OR NOT pg_has_role(oid, into_group, 'MEMBER')))
    THEN
        RAISE 'the role % exists and is no such login', quote_literal(name);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
        EXECUTE format('CREATE ROLE %I INHERIT NOCREATEDB NOCREATEROLE', name);
    END IF;
    EXECUTE format('ALTER ROLE %I LOGIN', name);
    EXECUTE format('GRANT %I TO %I', into_group, name);
    IF searches THEN
        EXECUTE format('GRANT @searchers@ TO %I', name);
    ELSIF pg_has_role(name, '@searchers@', 'MEMBER') THEN
        EXECUTE format('REVOKE @searchers@ FROM %I', name);
    END IF;
    FOR setting IN SELECT key, value FROM jsonb_each_text(jsonb '@limits@' -> its_kind) LOOP
        EXECUTE format('ALTER ROLE %I SET %I = %L', name, setting.key, setting.value);
    END LOOP;
END
$$;
SET LOCAL ROLE @owner@;
INSERT INTO satchel.login (role_name, tenant, granted_at, kind)
VALUES (:'login', :'tenant', satchel.now_ms(), :'kind') ON CONFLICT DO NOTHING;
COMMIT;
