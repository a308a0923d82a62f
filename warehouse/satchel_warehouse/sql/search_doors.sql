-- The doors of a search over all machines: for the group satchel_searcher, and for administrators.
-- A search is opened, its doors give ids and rows of its tenant, and it is closed with what was
-- shown. The text of a question is kept nowhere.
DROP SCHEMA IF EXISTS satchel_search CASCADE;
CREATE SCHEMA satchel_search;

-- The tenant that whoever logged in may search: its own, or for an administrator any.
CREATE OR REPLACE FUNCTION satchel.searcher_tenant(_tenant text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    allowed text[] := satchel.session_tenants();
    mine text := coalesce(_tenant, (SELECT name FROM unnest(allowed) AS name
        ORDER BY name <> 'default', name LIMIT 1));
BEGIN
    IF mine IS NULL OR mine <> ALL (allowed) THEN
        RAISE EXCEPTION 'the login % may not search that tenant, or there is none of that name',
            quote_literal(session_user::text) USING ERRCODE = 'SA001',
            HINT = 'a login searches its own tenant: leave --tenant out';
    END IF;
    RETURN mine;
END
$$;

-- Whether a search of this login is open. Every door begins here; of an hour ago it is closed. In
-- the transaction that opened it no door gives anything: with a rollback nobody would know.
CREATE OR REPLACE FUNCTION satchel.check_search(_tenant text, _search text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM satchel.searched WHERE tenant = _tenant AND id = _search
        AND login = session_user::text AND ended_at IS NULL AND at > satchel.now_ms() - 3600000
        AND opened_in IS DISTINCT FROM pg_current_xact_id_if_assigned()::text::bigint;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no open search of this login has that id' USING ERRCODE = '55000';
    END IF;
END
$$;

-- A word as it was typed, as the index has it; NULL where it has none.
CREATE OR REPLACE FUNCTION satchel.word_query(_raw text, _beginning boolean) RETURNS tsquery
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    found tsquery := plainto_tsquery('satchel.words', satchel.spaced(_raw));
BEGIN
    IF numnode(found) = 0 THEN
        RETURN NULL;
    END IF;
    RETURN CASE WHEN _beginning AND numnode(found) = 1 THEN (found::text || ':*')::tsquery
        ELSE found END;
END
$$;

-- About how many rows a condition holds for, as the planner has it. Volatile, as EXPLAIN is allowed
-- in no other function, nor in one that such a one calls.
CREATE OR REPLACE FUNCTION satchel.about(_condition text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT JSON) SELECT FROM satchel.search_text WHERE ' || _condition INTO plan;
    RETURN (plan -> 0 -> 'Plan' ->> 'Plan Rows')::numeric::bigint;
END
$$;

-- About how many change sequences of these kinds are not indexed yet.
CREATE OR REPLACE FUNCTION satchel.unindexed(_tenant text, _kinds text[]) RETURNS bigint
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(sum(found.rows), 0)::bigint FROM (
        (SELECT count(*) AS rows FROM (SELECT FROM satchel.memory t
            WHERE 'memory' = ANY (_kinds) AND t.tenant = _tenant AND t.change_seq > coalesce(
                (SELECT upto FROM satchel.search_reached
                    WHERE tenant = _tenant AND source = 'memory'), 0) LIMIT 100000) AS m)
        UNION ALL
        (SELECT count(*) FROM (SELECT FROM satchel.chatlog t
            WHERE 'chatlog' = ANY (_kinds) AND t.tenant = _tenant AND t.change_seq > coalesce(
                (SELECT upto FROM satchel.search_reached
                    WHERE tenant = _tenant AND source = 'chatlog'), 0) LIMIT 100000) AS c)
    ) AS found
$$;

-- A search begins: with the next rows indexed, where nobody does that just now.
CREATE FUNCTION satchel_search.open(_tenant text, _machine text, _kinds text[]) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    mine text := satchel.searcher_tenant(_tenant);
    made text := satchel.random_hex(16);
BEGIN
    IF _kinds IS NULL OR NOT _kinds <@ '{memory, chatlog}' OR octet_length(_machine) > 200 THEN
        RAISE EXCEPTION 'a search is in memory, chatlog or both' USING ERRCODE = 'SA001';
    END IF;
    INSERT INTO satchel.searched (tenant, id, at, login, machine, kinds, opened_in)
    VALUES (mine, made, satchel.now_ms(), session_user::text, _machine, _kinds,
        pg_current_xact_id()::text::bigint);
    IF 'memory' = ANY (_kinds) THEN
        PERFORM satchel.index_memory(mine, 2000, false);
    END IF;
    IF 'chatlog' = ANY (_kinds) THEN
        PERFORM satchel.index_chatlog(mine, 2000, false);
    END IF;
    RETURN jsonb_build_object('tenant', mine, 'search', made, 'now_ms', satchel.now_ms(),
        'unindexed', satchel.unindexed(mine, _kinds));
END
$$;

CREATE FUNCTION satchel_search.close(_tenant text, _search text, _given jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    IF jsonb_typeof(_given) <> 'array' OR octet_length(_given::text) > 200000 THEN
        RAISE EXCEPTION 'what was given is a list of ids' USING ERRCODE = 'SA001';
    END IF;
    UPDATE satchel.searched SET given = _given, ended_at = satchel.now_ms()
    WHERE tenant = _tenant AND id = _search;
END
$$;

-- Rows of a kind, counted up to a bound; beyond it about.
CREATE FUNCTION satchel_search.size(_tenant text, _search text, _kind text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    bound constant integer := 100000;
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    SELECT count(*) INTO found FROM (SELECT FROM satchel.search_text
        WHERE tenant = _tenant AND kind = _kind LIMIT bound) AS counted;
    RETURN CASE WHEN found < bound THEN found ELSE greatest(bound, satchel.about(
        format('tenant = %L AND kind = %L', _tenant, _kind))) END;
END
$$;

-- Rows that have each word, in the order of the words; the same.
CREATE FUNCTION satchel_search.frequencies(
    _tenant text, _search text, _kind text, _raw text[], _beginnings boolean[]
) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    bound constant integer := 20000;
    word tsquery;
    held bigint;
    found bigint[] := '{}';
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    FOR n IN 1 .. coalesce(array_length(_raw, 1), 0) LOOP
        word := satchel.word_query(_raw[n], _beginnings[n]);
        SELECT count(*) INTO held FROM (SELECT FROM satchel.search_text
            WHERE words @@ word AND tenant = _tenant AND kind = _kind LIMIT bound) AS counted;
        IF held = bound AND NOT _beginnings[n] THEN
            held := greatest(bound, satchel.about(format(
                'words @@ %L::tsquery AND tenant = %L AND kind = %L', word, _tenant, _kind)));
        END IF;
        found := found || held;
    END LOOP;
    RETURN found;
END
$$;

-- Stems of the newest rows that have any beginning so, that lie between two bounds.
CREATE FUNCTION satchel_search.stems(
    _tenant text, _search text, _kind text, _beginning text, _least integer, _most integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT DISTINCT u.lexeme FROM (
        SELECT s.words FROM satchel.search_text s
        WHERE s.words @@ (quote_literal(_beginning) || ':*')::tsquery
            AND s.tenant = _tenant AND s.kind = _kind ORDER BY s.at DESC LIMIT 2000
    ) AS newest, unnest(newest.words) AS u
    WHERE starts_with(u.lexeme, _beginning) AND length(u.lexeme) BETWEEN _least AND _most;
END
$$;

-- Those of some names that are people here (satchel.memory.search.names).
CREATE FUNCTION satchel_search.people(_tenant text, _search text, _names text[])
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT n FROM unnest(_names) AS n WHERE EXISTS (
        SELECT FROM unnest('{memory, chatlog}'::text[]) AS k, LATERAL (
            (SELECT FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = k
                AND s.speaker = lower(n) LIMIT 1)
            UNION ALL
            (SELECT FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = 'chatlog'
                AND s.speaker >= lower(n) || ' ' AND s.speaker < lower(n) || '!' LIMIT 1)
            UNION ALL
            (SELECT FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = k
                AND s.lead_name = lower(n) LIMIT 1)
        ) AS one)
    OR EXISTS (SELECT FROM satchel.agent a WHERE a.tenant = _tenant
        AND a.agent_id IN (n, lower(n)) AND satchel.is_alive(a.life));
END
$$;

-- The turns beside some: two before and one behind, in their conversations.
CREATE FUNCTION satchel_search.beside(_tenant text, _search text, _ids text[])
RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT b.id FROM unnest(_ids) AS i
    JOIN satchel.chatlog c ON c.tenant = _tenant AND c.id = i, LATERAL (
        (SELECT t.id FROM satchel.chatlog t WHERE t.tenant = _tenant
            AND octet_length(t.conversation_id) <= 800
            AND t.conversation_id = c.conversation_id AND (t.ordinal, t.id) < (c.ordinal, c.id)
            AND satchel.is_alive(t.life) ORDER BY t.ordinal DESC, t.id DESC LIMIT 2)
        UNION ALL
        (SELECT t.id FROM satchel.chatlog t WHERE t.tenant = _tenant
            AND octet_length(t.conversation_id) <= 800
            AND t.conversation_id = c.conversation_id AND (t.ordinal, t.id) > (c.ordinal, c.id)
            AND satchel.is_alive(t.life) ORDER BY t.ordinal, t.id LIMIT 1)
    ) AS b;
END
$$;

-- Vectors of a model that came behind a number, in that order; the last one's is the next to begin
-- behind. Of memories the number is the change sequence.
CREATE FUNCTION satchel_search.vectors(
    _tenant text, _search text, _kind text, _model text, _dims bigint, _after bigint, _most integer
) RETURNS TABLE (seq bigint, id text, vector bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    IF _kind = 'memory' THEN
        RETURN QUERY
        SELECT e.change_seq, e.memory_id, e.vector FROM satchel.embedding e
        WHERE e.tenant = _tenant AND e.change_seq > _after AND e.model = _model AND e.dims = _dims
            AND e.dtype = 'f32' AND octet_length(e.vector) = 4 * _dims AND satchel.is_alive(e.life)
        ORDER BY e.change_seq LIMIT _most;
    ELSE
        RETURN QUERY
        SELECT v.seq, v.turn, v.vector FROM satchel.turn_vector v
        WHERE v.tenant = _tenant AND v.model = _model AND v.seq > _after AND v.dims = _dims
        ORDER BY v.seq LIMIT _most;
    END IF;
END
$$;

-- Vectors of some turns.
CREATE FUNCTION satchel_search.turn_vectors(
    _tenant text, _search text, _ids text[], _model text, _dims bigint
) RETURNS TABLE (turn text, view bigint, chunk bigint, vector bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT v.turn, v.view, v.chunk, v.vector FROM satchel.turn_vector v
    WHERE v.tenant = _tenant AND v.turn = ANY (_ids) AND v.model = _model AND v.dims = _dims;
END
$$;

-- Up to which number the vectors of a model are in an index; NULL without one.
CREATE FUNCTION satchel_search.indexed(
    _tenant text, _search text, _kind text, _model text, _dims bigint
) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN (SELECT upto FROM satchel.search_reached WHERE tenant = _tenant
        AND source = satchel.nearest_table(_tenant, _kind, _model, _dims)
        AND to_regclass('satchel.' || source) IS NOT NULL);
END
$$;

CREATE FUNCTION satchel_search.machines(_tenant text, _search text)
RETURNS TABLE (machine text, host text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT DISTINCT ON (known.id) encode(known.id, 'hex'), known.host FROM (
        SELECT r.replica_id AS id, r.host, 0 AS place, r.last_seen FROM satchel.replica r
        JOIN satchel.login l ON l.role_name = r.login WHERE l.tenant = _tenant
        UNION ALL
        SELECT p, r.host, 1, r.last_seen FROM satchel.replica r
        JOIN satchel.login l ON l.role_name = r.login, unnest(r.predecessors) AS p
        WHERE l.tenant = _tenant
    ) AS known ORDER BY known.id, known.place, known.last_seen DESC;
END
$$;

@kinds@

GRANT USAGE ON SCHEMA satchel_search TO satchel_searcher;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA satchel_search FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel_search TO satchel_searcher;
