-- The words of memories and turns, beside them for whoever searches. Rows that arrive are indexed
-- by `warehouse index`, or by the next search: a push does not pay for it. Rows that change or go
-- leave the index in the statement that changes them.

CREATE OR REPLACE FUNCTION satchel.is_alive(life bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (life >> 16) % 2 = 1 AND life < 9223372036854775807
$$;

-- Text as words between spaces, folded as the tokenizer of a replica folds it (FTS5's unicode61):
-- so Postgres' parser finds no address, number or tag in it that it would keep whole.
DO $do$
DECLARE
    folding text := coalesce(
        (SELECT format('%I', collname) FROM pg_collation
            WHERE collname IN ('und-x-icu', 'pg_c_utf8')
                AND collnamespace = 'pg_catalog'::regnamespace
            ORDER BY collname DESC LIMIT 1), '"C"');
BEGIN
    EXECUTE format($make$
CREATE OR REPLACE FUNCTION satchel.spaced(_text text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN octet_length(_text) = length(_text)
        THEN regexp_replace(_text, '[!-/:-@\[-`{-~]+', ' ', 'g')
        ELSE regexp_replace(normalize(regexp_replace(
                normalize(lower(_text COLLATE %s), NFD), '[\u0300-\u036f]', '', 'g'), NFC),
            '[!-/:-@\[-`{-~\u00a0-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7'
            || '\u2000-\u206f\u2190-\u245f\u2500-\u2bff\u3000-\u3004\u3008-\u3020\u3030'
            || '\ufe30-\ufe4f\uff01-\uff0f]+', ' ', 'g')
        END
$$
    $make$, folding);
END
$do$;

-- Its stems and their places: how often a word is there tells candidates apart. Of what no index
-- can hold as a whole the beginning is kept.
CREATE OR REPLACE FUNCTION satchel.words_of_long(_text text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN to_tsvector('satchel.words', satchel.spaced(_text));
EXCEPTION WHEN program_limit_exceeded THEN
    RETURN to_tsvector('satchel.words', satchel.spaced(left(_text, 100000)));
END
$$;

CREATE OR REPLACE FUNCTION satchel.words_of(_text text) RETURNS tsvector
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN length(_text) <= 100000
        THEN to_tsvector('satchel.words', satchel.spaced(_text))
        ELSE satchel.words_of_long(_text) END
$$;

-- Who speaks, as search takes it (satchel.memory.search.names), and a leading "Name:".
CREATE OR REPLACE FUNCTION satchel.named_role(_role text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN _role NOT IN ('user', 'assistant', 'system', 'tool')
        AND octet_length(_role) <= 200 THEN lower(_role) END
$$;

CREATE OR REPLACE FUNCTION satchel.leading_name(_text text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN strpos(left(_text, 40), ':') > 1
        THEN lower(substring(left(_text, 40) FROM '^([^:[:space:]]+):')) END
$$;

@kinds@
