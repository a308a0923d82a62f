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

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence of each bucket's rows, those left out of count and sum included.
CREATE OR REPLACE FUNCTION satchel.buckets_@kind@(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT bucket, count(*) FILTER (WHERE counted),
        coalesce(sum(('x' || encode(substr(sha256(name || version), 1, 8), 'hex'))::bit(64)::bigint)
            FILTER (WHERE counted), 0), max(change_seq)
    FROM (
        SELECT get_byte(sha256(name), 0) AS bucket, name, version, counted, change_seq FROM (
            SELECT '@frame@'::bytea || satchel.framed(convert_to(@key@, 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version,
                @key@ <> ALL (_without) AS counted, change_seq
            FROM satchel.@kind@ WHERE tenant = _tenant OFFSET 0
        ) AS named
    ) AS hashed GROUP BY bucket
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
    SELECT hub_id, hub_id, schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at FROM satchel.hub;
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
