-- What the sums of the reports share. A number that a machine or a hand has written may be any: it
-- becomes NULL where it is no time, and bounded where it is no count, and breaks no report.

-- UTC milliseconds as a time; NULL outside of the years 1 to 9999.
CREATE OR REPLACE FUNCTION satchel.moment(_ms bigint) RETURNS timestamp with time zone
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN _ms BETWEEN -62135596800000 AND 253402300799999
        THEN to_timestamp(_ms::double precision / 1000) END
$$;

-- The day in UTC of a time: whole numbers only, as this is asked of every row.
CREATE OR REPLACE FUNCTION satchel.day_of(_ms bigint) RETURNS date
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN _ms BETWEEN -62135596800000 AND 253402300799999
        THEN date '0001-01-01' + ((_ms + 62135596800000) / 86400000)::integer END
$$;

-- When an id was drawn, of a UUIDv7 (RFC 9562: its first 48 bits); NULL of any other.
CREATE OR REPLACE FUNCTION satchel.drawn_ms(_id text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN _id ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-'
        THEN ('x0000' || substr(_id, 1, 8) || substr(_id, 10, 4))::bit(64)::bigint END
$$;

-- Of the oldest version that is known of a row: its replica, and the wall time in its stamp. A
-- lineage holds the last 8 that left or reached a machine, 80 hex digits each, the newest first.
CREATE OR REPLACE FUNCTION satchel.first_origin(_lineage text, _origin bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN _lineage = '' THEN _origin
        ELSE decode(substr(right(_lineage, 80), 33, 32), 'hex') END
$$;

CREATE OR REPLACE FUNCTION satchel.first_ms(_lineage text, _hlc bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN _lineage = '' THEN _hlc
        ELSE ('x' || substr(right(_lineage, 80), 17, 16))::bit(64)::bigint END >> 16
$$;

-- A sum that fits in 64 bits.
CREATE OR REPLACE FUNCTION satchel.bounded(_sum numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT greatest(least(_sum, 9223372036854775807), -9223372036854775808)::bigint
$$;

-- A name as sums group by it: '' where there is none, and no longer than an index takes.
CREATE OR REPLACE FUNCTION satchel.short(_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT left(coalesce(_name, ''), 200) $$;

-- A cost that can be summed up.
CREATE OR REPLACE FUNCTION satchel.dollars(_cost double precision) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT CASE WHEN abs(_cost) < 1e15 THEN _cost END $$;

-- Text by which two memories are the same: composed characters, single white space (what Python's
-- `str.split` takes for such). Most text is so already, and is looked at only: that is cheap.
CREATE OR REPLACE FUNCTION satchel.normalised(_text text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT btrim(CASE WHEN composed ~ @odd_space@
        THEN regexp_replace(composed, @white_space@, ' ', 'g') ELSE composed END, ' ')
    FROM (SELECT CASE octet_length(_text) WHEN length(_text) THEN _text
        ELSE normalize(_text, NFC) END AS composed) AS c
$$;

-- The other names of a memory, a JSON array of text, as they are embedded; '' where it is no such.
CREATE OR REPLACE FUNCTION satchel.embedded_names(_aliases text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json;
BEGIN
    said := _aliases;
    IF json_typeof(said) = 'array' THEN
        RETURN coalesce((SELECT string_agg(a.value #>> '{}', ', ' ORDER BY place)
            FROM json_array_elements(said) WITH ORDINALITY AS a (value, place)
            WHERE json_typeof(a.value) = 'string'), '');
    END IF;
    RETURN '';
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN '';
END
$$;

-- The hash of a memory's present text: a vector counts while it carries this (the replica's
-- `memory.text_hash`, store/embedded_text.py); NULL where there is nothing to embed.
CREATE OR REPLACE FUNCTION satchel.embedded_hash(_title text, _aliases text, _content text)
RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT encode(sha256(convert_to(nullif(concat_ws(' ',
        nullif(satchel.normalised(
            title || CASE names WHEN '' THEN '' ELSE ' (' || names || ')' END),
            ''), nullif(satchel.normalised(_content), '')), ''), 'UTF8')), 'hex')
    FROM (SELECT coalesce(replace(_title, '_', ' '), '') AS title,
        CASE WHEN _aliases IS NULL THEN '' ELSE satchel.embedded_names(_aliases) END AS names) AS n
    WHERE _content IS NOT NULL
$$;

-- Whether there is anything to embed.
CREATE OR REPLACE FUNCTION satchel.is_embeddable(_title text, _aliases text, _content text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT _content IS NOT NULL AND (_content ~ @no_space@
        OR coalesce(replace(_title, '_', ' ') ~ @no_space@, false)
        OR coalesce(satchel.embedded_names(_aliases), '') <> '')
$$;

-- The warehouse's clock: as satchel.now_ms(), for views, whose readers may call no function of
-- ours.
CREATE OR REPLACE VIEW satchel.clock AS
SELECT now() + h.clock_correction_ms * interval '1 millisecond' AS now,
    floor(extract(epoch FROM now()) * 1000)::bigint + h.clock_correction_ms AS ms
FROM satchel.hub h;

-- The machines of a tenant by id, and the hub itself for SQL by hand.
CREATE OR REPLACE VIEW satchel.machine_name AS
SELECT r.tenant, r.replica_id AS machine, nullif(r.host, '') AS host FROM satchel.replica r
UNION ALL
SELECT t.name, t.id, '(warehouse)' FROM satchel.tenant t;
