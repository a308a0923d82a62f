-- @kind@: candidates by their words, text, ids and times. What passes here is looked at once more
-- by whoever ranks it (satchel.memory.search.filters): a test holds both equal.
CREATE OR REPLACE FUNCTION satchel.passes_@kind@(t satchel.@kind@, f jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT satchel.is_alive(t.life) AND t.content IS NOT NULL AND @holds@
        AND coalesce(@type@ = f ->> 'type', f ->> 'type' IS NULL)
        AND coalesce(t.scope = f ->> 'scope', f ->> 'scope' IS NULL)
        AND coalesce(f -> 'spaces' ? t.space, f -> 'spaces' IS NULL)
        AND coalesce(f -> 'agents' ? t.agent_id, f -> 'agents' IS NULL)
        AND coalesce(@time@ >= (f ->> 'since')::bigint, f ->> 'since' IS NULL)
        AND coalesce(@time@ < (f ->> 'until')::bigint, f ->> 'until' IS NULL)
$$;

-- Rows that have any of the words, those with the rarest and most first; of equals the newest. Of
-- one word ts_rank grows with how often it is there about as BM25 does without lengths (k1 = 0.8).
CREATE FUNCTION satchel_search.by_words_@kind@(
    _tenant text, _search text, _filter jsonb, _raw text[], _beginnings boolean[],
    _weights double precision[], _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT satchel.word_query(raw, beginning) AS word, weight
        FROM unnest(_raw, _beginnings, _weights) AS a (raw, beginning, weight)
    ), found AS MATERIALIZED (
        SELECT s.id, s.at, sum(a.weight * ts_rank('{1,1,1,1}', s.words, a.word)) AS score
        FROM asked a JOIN satchel.search_text s ON s.words @@ a.word
        WHERE s.tenant = _tenant AND s.kind = '@kind@' GROUP BY s.id, s.at
    )
    SELECT f.id FROM found f JOIN satchel.@kind@ t ON t.tenant = _tenant AND t.id = f.id
    WHERE satchel.passes_@kind@(t, _filter) ORDER BY f.score DESC, f.at DESC, f.id LIMIT _limit;
END
$$;

-- The same of the newest rows that have all of the words (or any), of a time if one is given.
CREATE FUNCTION satchel_search.newest_@kind@(
    _tenant text, _search text, _filter jsonb, _raw text[], _beginnings boolean[],
    _weights double precision[], _limit integer, _all boolean, _measure integer,
    _from bigint, _until bigint
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    asked tsquery[] := ARRAY(SELECT satchel.word_query(raw, beginning)
        FROM unnest(_raw, _beginnings) AS a (raw, beginning));
    wanted tsquery;
    word tsquery;
    newest text[];
    passing text[];
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    FOREACH word IN ARRAY asked LOOP
        wanted := CASE WHEN word IS NULL THEN wanted WHEN wanted IS NULL THEN word
            WHEN _all THEN wanted && word ELSE wanted || word END;
    END LOOP;
    -- First without the filter, as most rows pass it: joined at once, every row with a common word
    -- would be read.
    SELECT array_agg(n.id) INTO newest FROM (
        SELECT s.id FROM satchel.search_text s
        WHERE s.tenant = _tenant AND s.kind = '@kind@' AND (wanted IS NULL OR s.words @@ wanted)
            AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
        ORDER BY s.at DESC LIMIT _measure
    ) AS n;
    SELECT array_agg(t.id) INTO passing FROM satchel.@kind@ t
    WHERE t.tenant = _tenant AND t.id = ANY (newest) AND satchel.passes_@kind@(t, _filter);
    IF coalesce(array_length(passing, 1), 0) < _limit AND array_length(newest, 1) = _measure THEN
        SELECT array_agg(n.id) INTO passing FROM (
            SELECT s.id FROM satchel.search_text s
            JOIN satchel.@kind@ t ON t.tenant = _tenant AND t.id = s.id
            WHERE s.tenant = _tenant AND s.kind = '@kind@'
                AND (wanted IS NULL OR s.words @@ wanted)
                AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
                AND satchel.passes_@kind@(t, _filter)
            ORDER BY s.at DESC LIMIT _measure
        ) AS n;
    END IF;
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s, LATERAL (
        SELECT sum(weight * ts_rank('{1,1,1,1}', s.words, a.word)) AS score
        FROM unnest(asked, _weights) AS a (word, weight) WHERE s.words @@ a.word
    ) AS scored
    WHERE s.tenant = _tenant AND s.kind = '@kind@' AND s.id = ANY (passing)
    ORDER BY scored.score DESC NULLS LAST, s.at DESC, s.id LIMIT _limit;
END
$$;

-- The newest rows that hold a text as it stands. This reads the text of every row.
CREATE FUNCTION satchel_search.by_literal_@kind@(
    _tenant text, _search text, _filter jsonb, _literal text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM satchel.@kind@ t WHERE t.tenant = _tenant
        AND strpos(@literal@, _literal) > 0 AND satchel.passes_@kind@(t, _filter)
    ORDER BY t.change_seq DESC LIMIT _limit;
END
$$;

-- Rows with an id, or with its first or last digits.
CREATE FUNCTION satchel_search.by_id_@kind@(
    _tenant text, _search text, _start text, _end text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = '@kind@'
        AND s.id >= _start AND s.id < _start || 'g'
    UNION
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = '@kind@'
        AND right(s.id, length(_end)) = _end
    LIMIT _limit;
END
$$;

-- Those of some ids whose rows pass, in their order.
CREATE FUNCTION satchel_search.passing_@kind@(
    _tenant text, _search text, _filter jsonb, _ids text[]
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM unnest(_ids) WITH ORDINALITY AS i (id, place)
    JOIN satchel.@kind@ t ON t.tenant = _tenant AND t.id = i.id
    WHERE satchel.passes_@kind@(t, _filter) ORDER BY i.place;
END
$$;

-- Rows whose indexed vectors lie nearest, each once: by HNSW, or where too few of those pass the
-- filter by all vectors of those that do.
CREATE FUNCTION satchel_search.nearest_@kind@(
    _tenant text, _search text, _filter jsonb, _model text, _dims bigint, _vector text,
    _limit integer, _exact boolean
) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET jit = off AS $body$
DECLARE
    _of text := satchel.nearest_table(_tenant, '@kind@', _model, _dims);
    _in text := (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
        WHERE extname = 'vector');
    wanted integer := least(4 * _limit, 1000);
    found text[];
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    IF NOT _exact THEN
        PERFORM set_config('hnsw.ef_search', greatest(wanted, 100)::text, true);
        EXECUTE format($$
            SELECT array_agg(once.of_id ORDER BY once.place) FROM (
                SELECT of_id, min(place) AS place FROM (
                    SELECT of_id, row_number() OVER () AS place FROM (
                        SELECT v.of_id FROM satchel.%1$I v WHERE v.tenant = $1
                        ORDER BY v.vector OPERATOR(%2$I.<=>) $2::%2$I.vector LIMIT $3
                    ) AS near
                ) AS placed GROUP BY of_id
            ) AS once JOIN satchel.@kind@ t ON t.tenant = $1 AND t.id = once.of_id
            WHERE satchel.passes_@kind@(t, $4)
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    IF coalesce(array_length(found, 1), 0) < _limit THEN
        EXECUTE format($$
            SELECT array_agg(of_id ORDER BY apart, of_id) FROM (
                SELECT one.of_id, min(one.apart) AS apart FROM (
                    SELECT v.of_id, v.vector OPERATOR(%2$I.<=>) $2::%2$I.vector AS apart
                    FROM satchel.%1$I v JOIN satchel.@kind@ t ON t.tenant = $1 AND t.id = v.of_id
                    WHERE v.tenant = $1 AND satchel.passes_@kind@(t, $4) OFFSET 0
                ) AS one GROUP BY one.of_id ORDER BY apart LIMIT $3 -- no sort of whole vectors
            ) AS near
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    RETURN QUERY SELECT unnest(found);
END
$body$;
