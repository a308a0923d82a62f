-- @kind@: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_@kind@(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
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
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_@kind@');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_@kind@ WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    @forgotten@
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, @key@ AS row_key, life, hlc, origin, digest, lineage,
                coalesce(@invalid@, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_@kind@ OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
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
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, '@kind@', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_@kind@ i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
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
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, '@kind@', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of @kind@ were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_@kind@;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
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
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.@kind@
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('@kind@', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('@kind@', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.@kind@
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
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

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_@kind@(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.@kind@
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.@kind@;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t.@key@ AS key, row_number() OVER (ORDER BY t.@key@) AS place,
            sum(@size@) OVER (ORDER BY t.@key@) - @size@ AS bytes_before
        FROM satchel.@kind@ t WHERE t.tenant = me.tenant AND t.@key@ = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.@kind@ t
    WHERE t.tenant = me.tenant AND t.@key@ = ANY (_keys) AND t.@key@ <= last_key
    ORDER BY t.@key@;
    FOR left_out.@key@ IN SELECT t.@key@ FROM satchel.@kind@ t
        WHERE t.tenant = me.tenant AND t.@key@ = ANY (_keys) AND t.@key@ > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_@kind@
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_@kind@(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = '@kind@';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t.@key@ AS key, satchel.is_damaged_@kind@(t) AS damaged
            FROM satchel.@kind@ t WHERE t.tenant = me.tenant AND t.@key@ > _after
            ORDER BY t.@key@ LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_@kind@(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.@kind@;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_@kind@');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_@kind@ LOOP
        SELECT * INTO held FROM satchel.@kind@ t WHERE t.tenant = me.tenant AND t.@key@ = i.@key@
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_@kind@(held);
        @held@
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_@kind@(held);
        UPDATE satchel.@kind@ t SET @updates@, extra = i.extra
        WHERE t.tenant = me.tenant AND t.@key@ = i.@key@;
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_@kind@;
    RETURN healed;
END
$$;
