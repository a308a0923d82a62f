-- @kind@: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_@kind@(r satchel.@kind@) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        @parts@
    ), unknown AS (
        SELECT key AS name, split_part(value, ':', 1) AS tag,
               decode(split_part(value, ':', 2), 'hex') AS data
        FROM json_each_text(coalesce(nullif(r.extra, ''), '{}')::json)
    ), parts AS (
        SELECT * FROM unknown
        UNION ALL
        SELECT * FROM known WHERE data IS NOT NULL AND name NOT IN (SELECT name FROM unknown)
    )
    SELECT substr(sha256(
        '@frame@'::bytea || satchel.framed(convert_to(r.@key@, 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_@kind@(r satchel.@kind@) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(@names_r@, r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(@names_r@, r.extra) > 0 THEN true
        WHEN @unfit_extra@ THEN true
        ELSE satchel.digest_@kind@(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_@kind@(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.@kind@ WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.@kind@ WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = '@kind@'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '@frame@'::bytea || satchel.framed(convert_to(@key@, 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.@kind@ WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, '@kind@', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = '@kind@'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '@frame@'::bytea || satchel.framed(convert_to(@key@, 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.@kind@ WHERE tenant = _tenant AND @key@ = ANY (_without) OFFSET 0
    ), summed AS (
        SELECT h.bucket, h.rows, h.total FROM hashed h
        UNION ALL
        SELECT u.* FROM kept, unnest(kept.buckets, kept.counts, kept.totals) AS u
        UNION ALL
        SELECT get_byte(sha256(name), 0), -1, -satchel.summand(name, version) FROM left_out
    )
    SELECT s.bucket, sum(s.rows)::bigint, sum(s.total), (SELECT max(highest) FROM live)
    FROM summed s GROUP BY s.bucket
$$;

-- Stamps what anybody's SQL writes, as a replica's triggers do: a DELETE leaves a tombstone, and
-- writing over a tombstone restores the row.
CREATE OR REPLACE FUNCTION satchel.stamp_@kind@() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION '@kind@ % was forgotten: it stays as it is', quote_literal(OLD.@key@)
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.@kind@ SET @emptied@, extra = NULL
            WHERE tenant = OLD.tenant AND @key@ = OLD.@key@;
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    @zeroed@
    refused := @refused@;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION '@kind@ % is not for the hub: %', quote_literal(left(NEW.@key@, 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF @about_forgotten_new@ THEN
        RAISE EXCEPTION '@kind@ % is about something that was forgotten',
            quote_literal(left(NEW.@key@, 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW.@key@) <> (OLD.tenant, OLD.@key@) THEN
            RAISE EXCEPTION '@kind@ %: a key never changes', quote_literal(OLD.@key@)
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (@new@, NEW.extra) IS NOT DISTINCT FROM (@old@, OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        @ends@
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_@kind@(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.@kind@
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.@kind@
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_@kind@();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.@kind@
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();
