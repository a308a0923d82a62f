-- Made from satchel's sources (protocol 2, schema 1, revision 0009):
-- do not edit, run `make docs`.

-- Roles, schemas, and the rights on the database. Safe to repeat; it is run by a superuser, or by a
-- role with CREATEROLE that owns the database.
DO $$
DECLARE
    name text;
    apart constant boolean := current_setting('server_version_num')::integer >= 160000;
BEGIN
    FOREACH name IN ARRAY '{satchel_owner, satchel_replica, satchel_reporter, satchel_auditor,
        satchel_searcher}'::text[]
    LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', name);
        END IF;
    END LOOP;
    -- Whoever runs this acts as the owner next; from PostgreSQL 16 on that is a grant of its own.
    IF NOT pg_has_role('satchel_owner', CASE WHEN apart THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE 'GRANT satchel_owner TO CURRENT_USER'
            || CASE WHEN apart THEN ' WITH SET TRUE, INHERIT TRUE' ELSE '' END;
    END IF;
    -- Temporary tables of this database are for the owner only.
    EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT TEMPORARY, CREATE ON DATABASE %I TO satchel_owner', current_database());
    CREATE SCHEMA IF NOT EXISTS satchel AUTHORIZATION satchel_owner;
END
$$;
