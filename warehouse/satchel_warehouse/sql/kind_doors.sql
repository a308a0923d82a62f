-- @kind@: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_@kind@(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.caller(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_@kind@;
    CREATE TEMPORARY TABLE incoming_@kind@ (
        @key@ text COLLATE "C" NOT NULL, @declared@, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_@kind@ TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_@kind@(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.caller(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_@kind@');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, @key@ AS row_key, life, hlc, origin, digest, lineage,
                @invalid@ AS invalid
            FROM pg_temp.incoming_@kind@ OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.@kind@ h
            WHERE h.tenant = me.tenant AND h.@key@ = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, '@kind@', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, @content_i@,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_@kind@ i ON i.ctid = j.place
        JOIN satchel.@kind@ t ON t.tenant = me.tenant AND t.@key@ = j.key
        WHERE j.verdict = 'keep concurrent' AND @journaled_i@
        UNION ALL
        SELECT me.tenant, '@kind@', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, @content_t@, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_@kind@ i ON i.ctid = j.place
        JOIN satchel.@kind@ t ON t.tenant = me.tenant AND t.@key@ = j.key
        WHERE j.verdict = 'replace concurrent' AND @journaled_t@
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.@kind@ (tenant, @key@, @names@, extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i.@key@, @names_i@, i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_@kind@ i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.@kind@ t SET @updates@, extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_@kind@ i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t.@key@ = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced)
    INTO answer, expected, written FROM judged;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of @kind@ were stored: a writer passed by the lock',
            written, expected USING ERRCODE = '40001';
    END IF;
    DROP TABLE pg_temp.incoming_@kind@;
    RETURN answer;
END
$body$;

CREATE FUNCTION satchel_api.pull_@kind@(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.@kind@
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, @size@ AS size FROM satchel.@kind@ t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    IF bound IS NULL THEN
        RETURN;
    END IF;
    UPDATE satchel.attempt SET delivered = delivered || jsonb_build_object('@kind@', bound)
    WHERE attempt = _attempt;
    RETURN QUERY SELECT * FROM satchel.@kind@
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
END
$$;

CREATE FUNCTION satchel_api.manifest_@kind@(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t.@key@, satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.@kind@ t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '@frame@'::bytea || satchel.framed(convert_to(t.@key@, 'UTF8'))), 0) = ANY (_buckets);
END
$$;

CREATE FUNCTION satchel_api.fetch_@kind@(_attempt text, _keys text[]) RETURNS SETOF satchel.@kind@
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT * FROM satchel.@kind@ t
    WHERE t.tenant = me.tenant AND t.@key@ = ANY (_keys);
END
$$;
