-- What is about a forgotten row goes with it: its history, and a memory's vectors and edges.

-- A text field of a journal entry; NULL where its content is no JSON that this server reads.
CREATE OR REPLACE FUNCTION satchel.field(content text, name text) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN satchel.readable(content) ->> name;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN -- the latter: too deep, too large
    RETURN NULL;
END
$$;

-- Marks (satchel_sync.subjects) of the rows that a memory with this metadata was made of.
CREATE OR REPLACE FUNCTION satchel.marks_in(_metadata text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF NOT coalesce(@names_origins@, false) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT '@mark@' || (id #>> '{}')
        FROM (SELECT satchel.readable(_metadata)::jsonb AS told OFFSET 0) AS m,
            unnest('{$.promoted.id, $.promoted.through[*], $.quoted.*[*]}'::jsonpath[]) AS place,
            jsonb_path_query(told, place) AS id
        WHERE jsonb_typeof(id) = 'string' AND octet_length(id #>> '{}') <= 1024);
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
    RETURN '{}'; -- no JSON
END
$$;

-- The same of what a memory's history says of its metadata, before and after.
CREATE OR REPLACE FUNCTION satchel.marks_told(_kind text, _changes text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    pair json;
BEGIN
    IF _kind IS DISTINCT FROM 'memory' OR strpos(_changes, 'promoted') + strpos(_changes, 'quoted')
        IS NOT DISTINCT FROM 0 THEN
        RETURN '{}';
    END IF;
    pair := satchel.readable(_changes) -> 'metadata';
    RETURN satchel.marks_in(pair ->> 0) || satchel.marks_in(pair ->> 1);
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
    RETURN '{}';
END
$$;

-- Scrub what is held about these rows, and what the journal holds of them. Inside a push.
CREATE OR REPLACE FUNCTION satchel.scrub_about(
    _tenant text, _kind text, _keys text[], _by bytea, _schema integer
) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    _changes regclass := satchel.change_sequence(_tenant);
    now bigint := satchel.now_ms();
    found_keys text[];
BEGIN
    DELETE FROM satchel.conflict WHERE tenant = _tenant AND kind = _kind AND key = ANY (_keys);
    @dependents@
END
$$;

-- Keeps which memories the history of an edge names, whoever writes it.
CREATE OR REPLACE FUNCTION satchel.note_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO satchel.history_memory
    SELECT a.tenant, m, a.id FROM added a, unnest(satchel.memories_in(a.kind, a.changes)) AS m
    WHERE a.kind IN (@subject_kinds@)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_4_added AFTER INSERT ON satchel.history
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION satchel.note_memories();

CREATE OR REPLACE TRIGGER satchel_5_changed AFTER UPDATE ON satchel.history
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION satchel.note_memories();

-- Whether this row was forgotten.
CREATE OR REPLACE FUNCTION satchel.is_forgotten(_tenant text, _kind text, _key text)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE _kind @forgotten_by_kind@ ELSE false END
$$;

-- A push's answer in which the rows about forgotten ones lost to what they were kept as.
CREATE OR REPLACE FUNCTION satchel.with_forgotten(answer jsonb, _keys text[]) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN _keys = '{}' THEN answer ELSE jsonb_set(
        answer, '{superseded}', (answer -> 'superseded') || coalesce((
            SELECT jsonb_agg(jsonb_build_array(k, '@scrubbed@', '')) FROM unnest(_keys) AS k
            WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(answer -> 'refused') AS r
                WHERE r ->> 0 = k)), '[]')) END
$$;
