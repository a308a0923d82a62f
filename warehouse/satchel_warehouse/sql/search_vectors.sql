-- The indexes of vectors, a table for each tenant, kind and model. `warehouse index` makes them
-- where the extension `vector` is there; what changes or goes leaves them in the same statement.

CREATE OR REPLACE FUNCTION satchel.nearest_table(
    _tenant text, _kind text, _model text, _dims bigint
) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT 'nearest_' || left(encode(sha256(convert_to(
        jsonb_build_array(_tenant, _kind, _model, _dims)::text, 'UTF8')), 'hex'), 16)
$$;

-- Take the vectors with these ids out of all indexes of a tenant.
CREATE OR REPLACE FUNCTION satchel.unindex_vectors(_tenant text, _ids text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT c.relname FROM satchel.search_reached r
        JOIN pg_class c ON c.relname = r.source AND c.relnamespace = 'satchel'::regnamespace
        WHERE r.tenant = _tenant AND r.source ~ '^nearest_[0-9a-f]{16}$'
    LOOP
        EXECUTE format('DELETE FROM satchel.%I WHERE tenant = $1 AND id = ANY ($2)', name)
        USING _tenant, _ids;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION satchel.forget_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM satchel.unindex_vectors(tenant, array_agg(id)) FROM before GROUP BY tenant;
    ELSE
        PERFORM satchel.unindex_vectors(b.tenant, array_agg(b.id))
        FROM before b JOIN changed c ON c.tenant = b.tenant AND c.id = b.id
        WHERE c.change_seq <> b.change_seq GROUP BY b.tenant;
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_6_vectors_changed AFTER UPDATE ON satchel.embedding
REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION satchel.forget_vectors();

CREATE OR REPLACE TRIGGER satchel_7_vectors_gone AFTER DELETE ON satchel.embedding
REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION satchel.forget_vectors();

-- A turn's vectors hold what it says, and what was said before it: with either they go.
CREATE OR REPLACE FUNCTION satchel.forget_turn_vectors() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    name text;
    gone text[];
BEGIN
    FOR name, gone IN SELECT b.tenant, array_agg(b.id) FROM before b GROUP BY b.tenant LOOP
        WITH dropped AS (
            DELETE FROM satchel.turn_vector
            WHERE tenant = name AND (turn = ANY (gone) OR before = ANY (gone))
            RETURNING turn, model, turn || '/' || view || '/' || chunk AS id
        ), waiting AS (
            INSERT INTO satchel.turn_waiting SELECT DISTINCT name, model, turn FROM dropped
            WHERE turn <> ALL (gone) ON CONFLICT DO NOTHING
        )
        SELECT array_agg(id) INTO gone FROM dropped;
        IF gone IS NOT NULL THEN
            PERFORM satchel.unindex_vectors(name, gone);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_8_vectors_changed AFTER UPDATE ON satchel.chatlog
REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION satchel.forget_turn_vectors();

CREATE OR REPLACE TRIGGER satchel_9_vectors_gone AFTER DELETE ON satchel.chatlog
REFERENCING OLD TABLE AS before FOR EACH STATEMENT EXECUTE FUNCTION satchel.forget_turn_vectors();

-- The next turns whose vectors are to be made, with the turn before each (of the same owner, in the
-- same session): those that wait, those behind a change sequence, and those that one of these came
-- before. `seq` is 0 for who waits.
CREATE OR REPLACE FUNCTION satchel.turns_to_embed(
    _tenant text, _model text, _after bigint, _most integer
) RETURNS TABLE (seq bigint, id text, version bigint, content text, role text, before_id text,
    before_version bigint, before text, before_role text)
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
    WITH arrived AS MATERIALIZED (
        SELECT t.* FROM satchel.chatlog t WHERE t.tenant = _tenant AND t.change_seq > _after
        ORDER BY t.change_seq LIMIT _most
    ), meant AS MATERIALIZED (
        SELECT a.id, max(a.change_seq) AS seq FROM (
            SELECT t.id, t.change_seq FROM arrived t
            UNION ALL
            (SELECT w.turn, 0 FROM satchel.turn_waiting w
                WHERE w.tenant = _tenant AND w.model = _model LIMIT _most)
            UNION ALL
            SELECT f.id, t.change_seq FROM arrived t, LATERAL (
                SELECT n.id FROM satchel.chatlog n
                WHERE n.tenant = _tenant AND octet_length(n.conversation_id) <= 800
                    AND n.conversation_id = t.conversation_id
                    AND (n.ordinal, n.id) > (t.ordinal, t.id) AND satchel.is_alive(n.life)
                    AND (n.scope, n.agent_id, n.user_id, n.space)
                        IS NOT DISTINCT FROM (t.scope, t.agent_id, t.user_id, t.space)
                ORDER BY n.ordinal, n.id LIMIT 1
            ) AS f JOIN satchel.chatlog held ON held.tenant = _tenant AND held.id = f.id
                AND held.change_seq <= _after -- the others come in their turn
        ) AS a GROUP BY a.id
    )
    SELECT m.seq, t.id, t.change_seq, CASE WHEN satchel.is_alive(t.life) THEN t.content END,
        t.role, b.id, b.change_seq, b.content, b.role
    FROM meant m JOIN satchel.chatlog t ON t.tenant = _tenant AND t.id = m.id
    LEFT JOIN LATERAL (
        SELECT p.id, p.change_seq, p.content, p.role, p.said_at FROM satchel.chatlog p
        WHERE p.tenant = _tenant AND octet_length(p.conversation_id) <= 800
            AND p.conversation_id = t.conversation_id
            AND (p.ordinal, p.id) < (t.ordinal, t.id) AND satchel.is_alive(p.life)
            AND (p.scope, p.agent_id, p.user_id, p.space)
                IS NOT DISTINCT FROM (t.scope, t.agent_id, t.user_id, t.space)
        ORDER BY p.ordinal DESC, p.id DESC LIMIT 1
    ) AS b ON coalesce(t.said_at - b.said_at, 0) <= @session_gap_ms@
    ORDER BY m.seq, t.id
$$;

-- Vectors of turns that are gone, or were made of what is: none of those stays, whatever happened.
-- Their turns wait for new ones.
CREATE OR REPLACE FUNCTION satchel.drop_stray_turn_vectors(_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    gone text[];
BEGIN
    WITH dropped AS (
        DELETE FROM satchel.turn_vector v WHERE v.tenant = _tenant AND (
            NOT EXISTS (SELECT FROM satchel.chatlog t WHERE t.tenant = _tenant AND t.id = v.turn
                AND satchel.is_alive(t.life))
            OR v.before IS NOT NULL AND NOT EXISTS (SELECT FROM satchel.chatlog t
                WHERE t.tenant = _tenant AND t.id = v.before AND satchel.is_alive(t.life)))
        RETURNING v.turn, v.model, v.turn || '/' || v.view || '/' || v.chunk AS id
    ), waiting AS (
        INSERT INTO satchel.turn_waiting SELECT DISTINCT _tenant, model, turn FROM dropped
        ON CONFLICT DO NOTHING
    )
    SELECT array_agg(id) INTO gone FROM dropped;
    IF gone IS NOT NULL THEN
        PERFORM satchel.unindex_vectors(_tenant, gone);
    END IF;
END
$$;
