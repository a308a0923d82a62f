-- @kind@: what changes or goes leaves the index. A row that changed in place, as damage is mended,
-- keeps its change sequence, so nobody would index it again: its words are made anew here.
CREATE OR REPLACE FUNCTION satchel.unindex_@kind@() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM satchel.search_text s USING before b
        WHERE s.tenant = b.tenant AND s.kind = '@kind@' AND s.id = b.id;
        RETURN NULL;
    END IF;
    DELETE FROM satchel.search_text s USING before b JOIN changed t ON t.tenant = b.tenant
        AND t.id = b.id
    WHERE s.tenant = b.tenant AND s.kind = '@kind@' AND s.id = b.id
        AND (t.change_seq <> b.change_seq OR t.content IS NULL OR NOT satchel.is_alive(t.life));
    UPDATE satchel.search_text s SET words = satchel.words_of(@text@)
    FROM changed t JOIN before b ON b.tenant = t.tenant AND b.id = t.id
    WHERE s.tenant = t.tenant AND s.kind = '@kind@' AND s.id = t.id
        AND t.change_seq = b.change_seq AND (@shown_t@) IS DISTINCT FROM (@shown_b@);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_6_words_changed AFTER UPDATE ON satchel.@kind@
REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_@kind@();

CREATE OR REPLACE TRIGGER satchel_7_words_gone AFTER DELETE ON satchel.@kind@
REFERENCING OLD TABLE AS before FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_@kind@();

-- Index the next rows of a tenant, `_most` at the most; how many were looked at. One at a time: who
-- comes second waits, or where it must not wait finds nothing to do. It locks no writer out: a row
-- that is deleted meanwhile has a new change sequence, and leaves the index with the next run.
CREATE OR REPLACE FUNCTION satchel.index_@kind@(_tenant text, _most integer, _waits boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    behind bigint;
    last bigint;
    looked_at integer;
BEGIN
    INSERT INTO satchel.search_reached VALUES (_tenant, '@kind@', 0, satchel.now_ms())
    ON CONFLICT DO NOTHING;
    IF _waits THEN
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = '@kind@' FOR UPDATE;
    ELSE
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = '@kind@' FOR UPDATE SKIP LOCKED;
    END IF;
    IF behind IS NULL THEN
        RETURN 0;
    END IF;
    SELECT max(seq), count(*) INTO last, looked_at FROM (
        SELECT t.change_seq AS seq FROM satchel.@kind@ t
        WHERE t.tenant = _tenant AND t.change_seq > behind ORDER BY t.change_seq LIMIT _most
    ) AS next;
    IF looked_at = 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM satchel.search_text s USING satchel.@kind@ t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND s.tenant = _tenant AND s.kind = '@kind@' AND s.id = t.id
        AND (t.content IS NULL OR NOT satchel.is_alive(t.life));
    INSERT INTO satchel.search_text AS s
    SELECT t.tenant, '@kind@', t.id, @at@, @speaker@, @lead_name@, satchel.words_of(@text@)
    FROM satchel.@kind@ t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND satchel.is_alive(t.life) AND t.content IS NOT NULL
    ON CONFLICT (tenant, kind, id) DO UPDATE SET at = excluded.at, speaker = excluded.speaker,
        lead_name = excluded.lead_name, words = excluded.words;
    UPDATE satchel.search_reached SET upto = last, indexed_at = satchel.now_ms()
    WHERE tenant = _tenant AND source = '@kind@';
    RETURN looked_at;
END
$$;
