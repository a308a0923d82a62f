-- What a login sends that is no row of a kind: its shape and size, before anything is stored.

-- A JSON text that this server can read, for one that holds what it cannot: NUL and half a pair of
-- surrogates become something else. Raises where it is no JSON at all.
CREATE OR REPLACE FUNCTION satchel.readable(content text) RETURNS json
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(content, '\u') = 0 THEN content
        ELSE regexp_replace(replace(content, '\u0000', '\u0001'),
            '\\u[dD][89a-fA-F]', '\\u11', 'g') END::json
$$;

-- Why this is no map of kinds to change sequences; NULL when it is one.
CREATE OR REPLACE FUNCTION satchel.seqs_fault(_seqs jsonb) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN jsonb_typeof(_seqs) IS DISTINCT FROM 'object' THEN 'cursors are a map'
        WHEN EXISTS (SELECT FROM jsonb_each_text(_seqs) s
            WHERE s.value IS NULL OR s.value !~ '^[0-9]{1,18}$')
            THEN 'a cursor is a number from 0 on'
    END
$$;

-- Those of kinds that this warehouse has.
CREATE OR REPLACE FUNCTION satchel.known_seqs(_seqs jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(_seqs)
    WHERE key = ANY ('@kinds@')
$$;

-- Why a hello, or the head of a bundle, is not taken; NULL when it is.
CREATE OR REPLACE FUNCTION satchel.hello_fault(_hello jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN coalesce(_hello ->> 'replica_id', '') !~ '^[0-9a-fA-F]{32}$'
            OR coalesce(_hello ->> 'hub_id', repeat('0', 32)) !~ '^[0-9a-fA-F]{32}$'
            THEN 'a replica id has 16 bytes'
        WHEN coalesce(jsonb_typeof(_hello -> 'predecessors'), 'array') <> 'array'
            THEN 'predecessors are a list'
        WHEN EXISTS (SELECT FROM jsonb_array_elements_text(_hello -> 'predecessors') AS p (id)
            WHERE coalesce(id, '') !~ '^[0-9a-fA-F]{32}$')
            THEN 'a replica id has 16 bytes'
        WHEN coalesce(_hello ->> 'protocol', '') !~ '^[0-9]{1,9}$'
            OR coalesce(_hello ->> 'schema', '0') !~ '^[0-9]{1,9}$'
            THEN 'protocol and schema are numbers'
        WHEN EXISTS (SELECT FROM unnest('{attempt, last_attempt, token, epoch}'::text[]) AS name
            WHERE octet_length(_hello ->> name) > @name_bytes@)
            THEN 'the ids of attempts, tokens and epochs have no more than @name_bytes@ bytes'
        ELSE satchel.seqs_fault(coalesce(_hello -> 'cursors', '{}'))
    END
$$;

CREATE OR REPLACE FUNCTION satchel.check_hello(_hello jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    fault text := satchel.hello_fault(_hello);
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = 'SA001';
    END IF;
END
$$;

-- To its replicas a tenant is the warehouse: another tenant's is another warehouse.
CREATE OR REPLACE FUNCTION satchel.check_hub(_hello jsonb, _hub bytea) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF decode(_hello ->> 'hub_id', 'hex') <> _hub THEN
        RAISE EXCEPTION 'this replica belongs to the warehouse %, this one is %',
            _hello ->> 'hub_id', encode(_hub, 'hex') USING ERRCODE = 'SA003';
    END IF;
END
$$;

-- The earlier ids that a hello names, newest first. What a longer chain loses, the newest ids of it
-- have: each is kept with earlier ids of its own.
CREATE OR REPLACE FUNCTION satchel.named_predecessors(_hello jsonb) RETURNS bytea[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(decode(id, 'hex') ORDER BY place), '{}')
    FROM jsonb_array_elements_text(_hello -> 'predecessors') WITH ORDINALITY AS p (id, place)
    WHERE place <= @predecessors_max@
$$;

-- Why an entry of the conflict journal is not taken; NULL when it is. Content is one level deep.
CREATE OR REPLACE FUNCTION satchel.journal_fault(_entry jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN NOT coalesce(_entry ->> 'kind' = ANY ('@kinds@'), false) THEN 'its kind is not synced'
        WHEN coalesce(octet_length(_entry ->> 'key'), 0) NOT BETWEEN 1 AND @key_bytes@
            THEN 'its key has not 1 to @key_bytes@ bytes'
        WHEN coalesce(_entry ->> 'version', '') !~ '^[0-9a-f]{80}$'
            OR coalesce(_entry ->> 'winner', '') !~ '^[0-9a-f]{80}$'
            THEN 'a version has 80 hex digits'
        WHEN coalesce(octet_length(_entry ->> 'lineage'), 648) > 647
            OR _entry ->> 'lineage' !~ '^([0-9a-f]{80}( [0-9a-f]{80})*)?$'
            THEN 'its lineage is no list of versions'
        WHEN coalesce(octet_length(_entry ->> 'path'), 0) NOT BETWEEN 1 AND 40
            THEN 'its path has not 1 to 40 bytes'
        WHEN coalesce(_entry ->> 'at', '') !~ '^-?[0-9]{1,18}$' THEN 'its time is no number'
        WHEN coalesce(jsonb_typeof(_entry -> 'about'), '') <> 'array'
            THEN 'what it is about is no list'
        WHEN jsonb_array_length(_entry -> 'about') > 100
            THEN 'it is about more than 100 others'
        WHEN coalesce(octet_length(_entry ->> 'content'), 0) NOT BETWEEN 1 AND @row_bytes@
            THEN 'its content has not 1 to @row_bytes@ bytes'
        WHEN json_typeof(satchel.readable(_entry ->> 'content')) <> 'object'
            THEN 'its content is no JSON object'
        WHEN EXISTS (SELECT FROM json_each(satchel.readable(_entry ->> 'content')) AS c
            WHERE json_typeof(c.value) IN ('object', 'array'))
            THEN 'a column of its content is no text or number'
    END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN 'its content is no JSON';
END
$$;

CREATE OR REPLACE FUNCTION satchel.check_journal(_losers jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    entry jsonb;
    fault text;
BEGIN
    IF coalesce(jsonb_typeof(_losers), '') <> 'array' THEN
        RAISE EXCEPTION 'the journal takes a list' USING ERRCODE = 'SA001';
    END IF;
    IF jsonb_array_length(_losers) > @journal_max@ THEN
        RAISE EXCEPTION 'the journal takes no more than @journal_max@ entries at a time'
            USING ERRCODE = 'SA001';
    END IF;
    FOR entry IN SELECT * FROM jsonb_array_elements(_losers) LOOP
        fault := satchel.journal_fault(entry);
        IF fault IS NOT NULL THEN
            RAISE EXCEPTION 'the journal does not take the entry %: %',
                quote_literal(left(coalesce(entry ->> 'key', ''), 80)), fault
                USING ERRCODE = 'SA001';
        END IF;
    END LOOP;
END
$$;

-- A report as it is kept. The rows of a sync are stored before its report, so a large one stops
-- nothing: its beginning is kept, and how long it was.
CREATE OR REPLACE FUNCTION satchel.kept_report(_report text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN octet_length(_report) <= @report_bytes@ THEN _report
        ELSE json_build_object('cut_from_bytes', octet_length(_report),
            'begins', left(_report, @report_bytes@ / 16))::text END
$$;
