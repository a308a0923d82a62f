-- Hash partitions of the tables that were made with them (partitions.py), and what guards them.

-- `parts` partitions for each table that is partitioned and has none yet.
CREATE OR REPLACE FUNCTION satchel.make_partitions(parts integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class c
        WHERE relnamespace = 'satchel'::regnamespace AND relkind = 'p'
            AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
    LOOP
        FOR part IN 0..parts - 1 LOOP
            EXECUTE format('CREATE TABLE satchel.%I PARTITION OF satchel.%I'
                ' FOR VALUES WITH (MODULUS %s, REMAINDER %s)', name || '_p' || part, name, parts,
                part);
        END LOOP;
    END LOOP;
END
$$;

-- Who names a partition meets what who names its table meets: the same policies, the same triggers
-- of statements. Those of rows a partition has by itself.
CREATE OR REPLACE FUNCTION satchel.guard_partitions() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET client_min_messages = warning AS $$
DECLARE
    part record;
    rule record;
    made text;
BEGIN
    FOR part IN SELECT inhrelid::regclass AS name, inhparent AS parent, relname AS kind
        FROM pg_inherits JOIN pg_class p ON p.oid = inhparent
        WHERE relnamespace = 'satchel'::regnamespace AND relkind = 'p'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
            part.name);
        FOR rule IN SELECT polname FROM pg_policy WHERE polrelid = part.name AND (polpermissive
            OR polname IN (SELECT polname FROM pg_policy WHERE polrelid = part.parent))
        LOOP
            EXECUTE format('DROP POLICY %I ON %s', rule.polname, part.name);
        END LOOP;
        FOR rule IN SELECT policyname, permissive, cmd, qual, with_check,
                (SELECT string_agg(CASE one WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(one) END,
                    ', ') FROM unnest(roles) AS one) AS who
            FROM pg_policies WHERE schemaname = 'satchel' AND tablename = part.kind
        LOOP
            EXECUTE format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', rule.policyname, part.name,
                    rule.permissive, rule.cmd, rule.who)
                || coalesce(' USING (' || rule.qual || ')', '')
                || coalesce(' WITH CHECK (' || rule.with_check || ')', '');
        END LOOP;
        FOR made IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
            WHERE tgrelid = part.parent AND NOT tgisinternal AND tgtype & 1 = 0
        LOOP
            EXECUTE replace(replace(made, format(' ON satchel.%I ', part.kind),
                format(' ON %s ', part.name)), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER');
        END LOOP;
    END LOOP;
END
$$;
