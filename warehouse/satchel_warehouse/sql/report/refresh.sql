-- One sum of a tenant made anew: only lines that differ are written, so that a refresh of what has
-- hardly changed costs little room. Whole tables are joined: without nested loops, which a plan of
-- a table that was never analysed would take. Returns how many lines it has.
CREATE OR REPLACE FUNCTION satchel.refresh_report(_tenant text, _name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off
SET enable_nestloop = off SET client_min_messages = warning AS $$
DECLARE
    began timestamp with time zone := clock_timestamp();
    sums constant text := quote_ident('report_' || _name);
    key text := (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = ('satchel.' || sums)::regclass AND i.indisprimary);
    held bigint;
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE fresh_report ON COMMIT DROP AS'
        ' SELECT * FROM satchel.%I($1)', 'fresh_' || _name) USING _tenant;
    EXECUTE format('DELETE FROM satchel.%1$s WHERE (%2$s) IN (SELECT %2$s FROM ('
        'SELECT * FROM satchel.%1$s WHERE tenant = $1 EXCEPT SELECT * FROM pg_temp.fresh_report'
        ') AS gone)', sums, key) USING _tenant;
    EXECUTE format('INSERT INTO satchel.%1$s SELECT * FROM pg_temp.fresh_report'
        ' EXCEPT SELECT * FROM satchel.%1$s WHERE tenant = $1', sums) USING _tenant;
    SELECT count(*) INTO held FROM pg_temp.fresh_report;
    DROP TABLE pg_temp.fresh_report;
    -- A report that comes before autoanalyze would be planned as if the sums were still empty.
    EXECUTE format('ANALYZE satchel.%s', sums);
    INSERT INTO satchel.report_refresh AS r VALUES (_tenant, _name,
        (SELECT now FROM satchel.clock), held,
        (extract(epoch FROM clock_timestamp() - began) * 1000)::bigint)
    ON CONFLICT (tenant, name) DO UPDATE SET refreshed_at = excluded.refreshed_at,
        lines = excluded.lines, took_ms = excluded.took_ms;
    RETURN held;
END
$$;

-- All sums of a tenant, or of all tenants; returns how many lines they have.
CREATE OR REPLACE FUNCTION satchel.refresh_reports(_tenant text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    of_tenant text;
    sum_name text;
    total bigint := 0;
BEGIN
    PERFORM satchel.begin_refresh();
    FOR of_tenant IN SELECT name FROM satchel.tenant
        WHERE _tenant IS NULL OR name = _tenant ORDER BY number
    LOOP
        FOREACH sum_name IN ARRAY '@sums@'::text[] LOOP
            total := total + satchel.refresh_report(of_tenant, sum_name);
        END LOOP;
    END LOOP;
    RETURN total;
END
$$;

-- One refresh at a time; no reader and no sync waits for it.
CREATE OR REPLACE FUNCTION satchel.begin_refresh() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE satchel.report_refresh IN SHARE ROW EXCLUSIVE MODE NOWAIT;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'another refresh of the reports is running' USING ERRCODE = '55P03';
END
$$;
