-- Made from satchel's sources (protocol 2, schema 1, revision 0009):
-- do not edit, run `make docs`.

-- What the doors and the triggers share. Nobody but the owner may call these.

-- The hub's wall clock: UTC milliseconds.
CREATE OR REPLACE FUNCTION satchel.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + clock_correction_ms
    FROM satchel.hub
$$;

-- A version as 40 bytes and as 80 hex digits (satchel_sync.stamp.Stamp). Without a SET clause, so
-- that they are inlined into the query that calls them.
CREATE OR REPLACE FUNCTION satchel.packed(life bigint, hlc bigint, origin bytea, digest bytea)
RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT int8send(life) || int8send(hlc) || origin || digest
$$;

CREATE OR REPLACE FUNCTION satchel.hex(life bigint, hlc bigint, origin bytea, digest bytea)
RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT encode(int8send(life) || int8send(hlc) || origin || digest, 'hex')
$$;

-- A version's hlc, read from the newest entry of a lineage; 0 where there is none.
CREATE OR REPLACE FUNCTION satchel.base_hlc(lineage text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN lineage = '' THEN 0
           ELSE ('x' || substr(lineage, 17, 16))::bit(64)::bigint END
$$;

-- Bytes behind their length (satchel_sync.digest.framed).
CREATE OR REPLACE FUNCTION satchel.framed(data bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT int4send(octet_length(data)) || data
$$;

-- First 8 bytes of a version's hash as a signed number (satchel_sync.digest.summand).
CREATE OR REPLACE FUNCTION satchel.summand(name bytea, version bytea) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || encode(substr(sha256(name || version), 1, 8), 'hex'))::bit(64)::bigint
$$;

-- Sums that a digest check need not make again (buckets_* in kind.sql). A cache: it is made anew
-- with the functions, and Postgres empties it after a crash.
DROP TABLE IF EXISTS satchel.digest_part;
CREATE UNLOGGED TABLE satchel.digest_part (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    part bigint NOT NULL,
    held bigint NOT NULL,
    highest bigint NOT NULL,
    checksum numeric NOT NULL,
    buckets integer[] NOT NULL,
    counts bigint[] NOT NULL,
    totals numeric[] NOT NULL,
    CONSTRAINT digest_part_pkey PRIMARY KEY (tenant, kind, part)
);

-- satchel_sync.merge.decide: held_life is NULL where no row is held.
CREATE OR REPLACE FUNCTION satchel.verdict(
    held_life bigint, held_hlc bigint, held_origin bytea, held_digest bytea, held_lineage text,
    life bigint, hlc bigint, origin bytea, digest bytea, lineage text
) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN held_life IS NULL THEN 'new'
        WHEN (held_life, held_hlc, held_origin, held_digest) = (life, hlc, origin, digest)
            THEN 'same'
        WHEN held_life = 9223372036854775807 THEN 'keep'
        WHEN life = 9223372036854775807 THEN 'replace'
        WHEN held_lineage <> ''
            AND position(satchel.hex(life, hlc, origin, digest) IN held_lineage) > 0 THEN 'keep'
        WHEN lineage <> ''
            AND position(satchel.hex(held_life, held_hlc, held_origin, held_digest) IN lineage) > 0
            THEN CASE WHEN (life, hlc, origin, digest)
                          > (held_life, held_hlc, held_origin, held_digest)
                 THEN 'replace' ELSE 'keep beaten' END
        ELSE CASE WHEN (life, hlc, origin, digest)
                      > (held_life, held_hlc, held_origin, held_digest)
             THEN 'replace' ELSE 'keep' END
          || CASE WHEN held_digest = digest THEN '' ELSE ' concurrent' END
    END
$$;

-- `lineage` with a version as its newest entry, cut to 8 (satchel_sync.stamp.extend).
CREATE OR REPLACE FUNCTION satchel.extend(lineage text, entry text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT string_agg(version, ' ' ORDER BY place) FROM (
        SELECT version, place FROM (
            SELECT entry AS version, 0 AS place
            UNION ALL
            SELECT known, place
            FROM string_to_table(lineage, ' ') WITH ORDINALITY AS k (known, place)
            WHERE known <> entry AND known <> ''
        ) AS entries ORDER BY place LIMIT 8
    ) AS newest
$$;

-- The next life of a row that is deleted or restored, and of a task that ends or reopens.
CREATE OR REPLACE FUNCTION satchel.next_generation(life bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT least(life, 9223372036854775807 - 131072) + 65536 $$;

CREATE OR REPLACE FUNCTION satchel.next_end(life bigint, was text, becomes text) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN was IS DISTINCT FROM becomes AND life % 65536 < 65535
        AND (coalesce(was, '') IN ('completed', 'failed', 'cancelled')
            OR coalesce(becomes, '') IN ('completed', 'failed', 'cancelled'))
        THEN life + 1 ELSE life END
$$;

-- The stamp of a row that somebody writes here by hand: above the wall, above the hub's last stamp
-- and above the row's own.
CREATE OR REPLACE FUNCTION satchel.next_hlc(held bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    wall bigint := satchel.now_ms() << 16;
    stamp bigint := nextval('satchel.hub_hlc');
BEGIN
    IF stamp < wall THEN
        stamp := setval('satchel.hub_hlc', wall);
    END IF;
    RETURN greatest(stamp, held + 1);
END
$$;

-- Writers of one tenant take turns until they commit: so whoever sees change_seq N sees all below.
-- It is the tenant's row that they lock, as no login can reach it: anybody may take an advisory
-- lock. NO KEY, as that lets foreign keys to the row be checked: a hello or grant never waits.
CREATE OR REPLACE FUNCTION satchel.lock_tenant(_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM satchel.tenant WHERE name = _tenant FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse has no tenant %', quote_literal(_tenant)
            USING ERRCODE = 'SA001';
    END IF;
END
$$;

-- The same for SQL that may touch any tenant's rows; taken in order, before the first row.
CREATE OR REPLACE FUNCTION satchel.lock_all_tenants() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.lock_tenant(name) FROM (SELECT name FROM satchel.tenant ORDER BY number) AS t;
    RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION satchel.refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'satchel.% cannot be truncated: the replicas would not notice; use DELETE',
        TG_TABLE_NAME USING ERRCODE = 'SA004';
END
$$;

CREATE OR REPLACE FUNCTION satchel.next_change_seq(_tenant text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    RETURN nextval(satchel.change_sequence(_tenant));
END
$$;

CREATE OR REPLACE FUNCTION satchel.change_sequence(_tenant text) RETURNS regclass
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT ('satchel.change_seq_' || number)::regclass FROM satchel.tenant WHERE name = _tenant
$$;

-- A tenant and its change sequence; nothing happens where it is there already.
CREATE OR REPLACE FUNCTION satchel.add_tenant(_tenant text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    given integer;
BEGIN
    INSERT INTO satchel.tenant (name) SELECT _tenant
    WHERE NOT EXISTS (SELECT FROM satchel.tenant WHERE name = _tenant) RETURNING number INTO given;
    IF FOUND THEN
        EXECUTE format('CREATE SEQUENCE satchel.%I', 'change_seq_' || given);
    END IF;
END
$$;

-- Kind -> the highest change sequence of a tenant. Everything below it is committed too.
CREATE OR REPLACE FUNCTION satchel.bound(_tenant text) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT jsonb_build_object('space', (SELECT coalesce(max(change_seq), 0) FROM satchel.space WHERE tenant = _tenant), 'agent', (SELECT coalesce(max(change_seq), 0) FROM satchel.agent WHERE tenant = _tenant), 'session', (SELECT coalesce(max(change_seq), 0) FROM satchel.session WHERE tenant = _tenant), 'memory', (SELECT coalesce(max(change_seq), 0) FROM satchel.memory WHERE tenant = _tenant), 'relationship', (SELECT coalesce(max(change_seq), 0) FROM satchel.relationship WHERE tenant = _tenant), 'task', (SELECT coalesce(max(change_seq), 0) FROM satchel.task WHERE tenant = _tenant), 'message', (SELECT coalesce(max(change_seq), 0) FROM satchel.message WHERE tenant = _tenant), 'chatlog', (SELECT coalesce(max(change_seq), 0) FROM satchel.chatlog WHERE tenant = _tenant), 'history', (SELECT coalesce(max(change_seq), 0) FROM satchel.history WHERE tenant = _tenant), 'embedding', (SELECT coalesce(max(change_seq), 0) FROM satchel.embedding WHERE tenant = _tenant))
$$;

-- The tenant of whoever logged in. A superuser needs no grant and is of the default tenant.
CREATE OR REPLACE FUNCTION satchel.login_tenant() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me text := session_user::text;
    found_tenant text;
BEGIN
    SELECT tenant INTO found_tenant FROM satchel.login WHERE role_name = me AND kind = 'replica';
    IF FOUND THEN
        RETURN found_tenant;
    END IF;
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = me) THEN
        RAISE EXCEPTION 'the login % was granted no replica', quote_literal(me)
            USING ERRCODE = 'SA001';
    END IF;
    RETURN 'default';
END
$$;

-- Whose attempt this is. Every door begins here.
CREATE OR REPLACE FUNCTION satchel.caller(
    _attempt text, OUT tenant text, OUT replica_id bytea, OUT relaying boolean,
    OUT read_only boolean
)
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    known_columns text;
    is_revoked boolean;
BEGIN
    SELECT r.tenant, r.replica_id, a.relaying, a.read_only, a.columns, r.revoked_at IS NOT NULL
    INTO tenant, replica_id, relaying, read_only, known_columns, is_revoked
    FROM satchel.attempt a
    JOIN satchel.replica r ON r.replica_id = a.replica_id
    WHERE a.attempt = _attempt AND coalesce(a.carrier, r.login) = session_user::text
    ORDER BY r.revoked_at IS NOT NULL, a.started_at DESC LIMIT 1;
    IF NOT FOUND THEN -- or the warehouse was set back while this sync was running
        RAISE EXCEPTION 'no open attempt of this login has that id' USING ERRCODE = '55000';
    END IF;
    IF is_revoked THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;
    -- It knows the columns of before: what moved into a new one, it would neither see nor fill.
    IF known_columns <> '1a822900' THEN
        RAISE EXCEPTION 'the warehouse was migrated while this sync was running'
            USING ERRCODE = '55000';
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the doors need the isolation level read committed'
            USING ERRCODE = 'SA001';
    END IF;
END
$$;

-- The same for a door that takes rows: a replica of too old a schema may not open it.
CREATE OR REPLACE FUNCTION satchel.writer(
    _attempt text, OUT tenant text, OUT replica_id bytea, OUT relaying boolean,
    OUT read_only boolean
)
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    SELECT * INTO tenant, replica_id, relaying, read_only FROM satchel.caller(_attempt);
    IF read_only THEN
        RAISE EXCEPTION 'the warehouse takes no rows of so old a schema' USING ERRCODE = 'SA002';
    END IF;
END
$$;

-- satchel_sync.standing.judge: first what the file says, then what the hub knows of it.
CREATE OR REPLACE FUNCTION satchel.judge(
    attempt text, last_attempt text, token text, epoch text, cursors jsonb,
    known_epoch text, known_last_attempt text, attempt_known boolean, link_known boolean,
    token_known boolean, token_outdated boolean, delivered jsonb, must_reconcile boolean
) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN known_last_attempt <> '' AND (token_outdated OR (
            attempt <> known_last_attempt AND (attempt_known OR (
                last_attempt <> known_last_attempt AND (link_known OR last_attempt = '')))))
            THEN 'restored'
        WHEN must_reconcile OR epoch NOT IN ('', known_epoch) THEN 'moved'
        WHEN (last_attempt <> '' AND NOT link_known) OR (token <> '' AND NOT token_known)
            OR EXISTS (SELECT FROM jsonb_each_text(cursors) c
                WHERE c.value::numeric > coalesce((delivered ->> c.key)::numeric, 0))
            THEN 'rewound'
        ELSE 'known'
    END
$$;

-- Kind -> the higher of two sequences.
CREATE OR REPLACE FUNCTION satchel.highest(one jsonb, other jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(kind, seq), '{}') FROM (
        SELECT key AS kind, max(value::bigint) AS seq FROM (
            SELECT * FROM jsonb_each_text(one) UNION ALL SELECT * FROM jsonb_each_text(other)
        ) AS all_of_both GROUP BY key
    ) AS most
$$;

-- Count change sequences (kind -> sequence) as delivered to a replica, none above what there is.
CREATE OR REPLACE FUNCTION satchel.deliver(_tenant text, _replica bytea, _seqs jsonb) RETURNS void
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    UPDATE satchel.replica SET delivered = satchel.highest(delivered, (
        SELECT coalesce(jsonb_object_agg(s.key, least(s.value::bigint, b.value::bigint)), '{}')
        FROM jsonb_each_text(_seqs) s JOIN jsonb_each_text(satchel.bound(_tenant)) b USING (key)
    ))
    WHERE replica_id = _replica
$$;

-- Those of `_origins` that are no id in this tenant: no replica's, no predecessor's, not its own.
CREATE OR REPLACE FUNCTION satchel.foreign_origins(_tenant text, _origins bytea[]) RETURNS bytea[]
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(o), '{}') FROM unnest(_origins) AS o
    -- Sixteen zeros: a row in the lowest version, which nobody wrote (a first use of a space).
    WHERE o NOT IN ((SELECT id FROM satchel.tenant WHERE name = _tenant), '\x00000000000000000000000000000000')
        AND NOT EXISTS (SELECT FROM satchel.replica WHERE tenant = _tenant AND replica_id = o)
        AND NOT EXISTS (
            SELECT FROM satchel.replica WHERE tenant = _tenant AND predecessors @> ARRAY[o])
$$;

-- Those of foreign ones that the tenant never took in a reconcile either: a row that it took and
-- lost comes back from whoever holds it.
CREATE OR REPLACE FUNCTION satchel.unknown_origins(_tenant text, _foreign bytea[]) RETURNS bytea[]
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(o), '{}') FROM unnest(_foreign) AS o
    WHERE NOT EXISTS (SELECT FROM satchel.relayed WHERE tenant = _tenant AND origin = o)
$$;

-- A token of one answer, committed with its rows: who names it later has received the answer.
CREATE OR REPLACE FUNCTION satchel.give_token(_replica bytea, _attempt text) RETURNS text
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    INSERT INTO satchel.token (tenant, token, replica_id, attempt, at)
    SELECT tenant, satchel.random_hex(16), replica_id, _attempt, satchel.now_ms()
    FROM satchel.replica WHERE replica_id = _replica RETURNING token
$$;

-- The table that rows arrive in must be the one push_begin made, not a look-alike of the caller's.
CREATE OR REPLACE FUNCTION satchel.check_incoming(_table text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_class WHERE oid = to_regclass('pg_temp.' || quote_ident(_table))
        AND relkind = 'r' AND relowner = current_user::regrole
    ) THEN
        RAISE EXCEPTION 'push_end without push_begin' USING ERRCODE = 'SA001';
    END IF;
END
$$;

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
    WHERE key = ANY ('{space,agent,session,memory,relationship,task,message,chatlog,history,embedding}')
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
            WHERE octet_length(_hello ->> name) > 200)
            THEN 'the ids of attempts, tokens and epochs have no more than 200 bytes'
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
    WHERE place <= 1000
$$;

-- Why an entry of the conflict journal is not taken; NULL when it is. Content is one level deep.
CREATE OR REPLACE FUNCTION satchel.journal_fault(_entry jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN NOT coalesce(_entry ->> 'kind' = ANY ('{space,agent,session,memory,relationship,task,message,chatlog,history,embedding}'), false) THEN 'its kind is not synced'
        WHEN coalesce(octet_length(_entry ->> 'key'), 0) NOT BETWEEN 1 AND 1024
            THEN 'its key has not 1 to 1024 bytes'
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
        WHEN coalesce(octet_length(_entry ->> 'content'), 0) NOT BETWEEN 1 AND 8388608
            THEN 'its content has not 1 to 8388608 bytes'
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
    IF jsonb_array_length(_losers) > 500 THEN
        RAISE EXCEPTION 'the journal takes no more than 500 entries at a time'
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
    SELECT CASE WHEN octet_length(_report) <= 1048576 THEN _report
        ELSE json_build_object('cut_from_bytes', octet_length(_report),
            'begins', left(_report, 1048576 / 16))::text END
$$;

-- Who is shut out with a revoked replica: the later ids of its file, and of copies of the file.

-- A replica and all that name it, or one of those, as an earlier id of their file.
CREATE OR REPLACE FUNCTION satchel.with_heirs(_replica bytea) RETURNS SETOF bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH RECURSIVE known AS (
        SELECT r.replica_id, r.predecessors
        FROM satchel.replica r
        WHERE r.tenant = (SELECT tenant FROM satchel.replica WHERE replica_id = _replica)
    ), heir (replica_id) AS (
        SELECT _replica
        UNION
        SELECT k.replica_id FROM heir h JOIN known k ON h.replica_id = ANY (k.predecessors)
    )
    SELECT replica_id FROM heir
$$;

-- Whether an id that comes for the first time is a revoked replica's file: the newest of its
-- earlier ids that the tenant knows decides. Shared locks, so that a revocation waits for this
-- answer, and then finds the id that got it; or this waits for the revocation.
CREATE OR REPLACE FUNCTION satchel.comes_of_revoked(_tenant text, _predecessors bytea[])
RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM satchel.replica r
    WHERE r.tenant = _tenant AND r.replica_id = ANY (_predecessors)
    ORDER BY r.replica_id FOR SHARE OF r;
    RETURN coalesce((
        SELECT r.revoked_at IS NOT NULL
        FROM unnest(_predecessors) WITH ORDINALITY AS p (id, place)
        JOIN satchel.replica r ON r.replica_id = p.id
        WHERE r.tenant = _tenant ORDER BY place LIMIT 1), false);
END
$$;

-- Shut these out, in the name of `_replica`: with its time, so that all are taken back with it.
CREATE OR REPLACE FUNCTION satchel.revoke(_replica bytea) RETURNS SETOF bytea
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint;
BEGIN
    UPDATE satchel.replica SET revoked_at = coalesce(revoked_at, satchel.now_ms())
    WHERE replica_id = _replica RETURNING revoked_at INTO since;
    -- In a statement of its own: it sees who came while the first one waited.
    RETURN QUERY UPDATE satchel.replica SET revoked_at = coalesce(revoked_at, since)
    WHERE replica_id IN (SELECT satchel.with_heirs(_replica)) RETURNING replica_id;
END
$$;

-- Open the doors again to those that were shut out in one: they have missed what happened, and
-- reconcile first.
CREATE OR REPLACE FUNCTION satchel.take_back(_replica bytea) RETURNS SETOF bytea
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    UPDATE satchel.replica SET revoked_at = NULL, must_reconcile = true
    WHERE replica_id IN (SELECT satchel.with_heirs(_replica))
        AND revoked_at = (SELECT revoked_at FROM satchel.replica WHERE replica_id = _replica)
    RETURNING replica_id
$$;

-- Audit chains: what comes is appended if it follows what is held, and kept as evidence if not.

-- satchel_crypto.audit_record.link_of.
CREATE OR REPLACE FUNCTION satchel.audit_link(before bytea, body text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256('\x7361746368656c20617564697400'::bytea || before || convert_to(body, 'UTF8'))
$$;

-- What a body says; NULL for what is no JSON object that this server reads. As its definer: a view
-- asks it with an auditor's rights.
CREATE OR REPLACE FUNCTION satchel.audit_said(_body text) RETURNS json
LANGUAGE plpgsql IMMUTABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json;
BEGIN
    said := satchel.readable(_body);
    RETURN CASE WHEN json_typeof(said) = 'object' THEN said END;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;

-- The last record of a chain; 0 and zeros where there is none.
CREATE OR REPLACE FUNCTION satchel.audit_held(
    _tenant text, _replica bytea, _chain text, OUT seq bigint, OUT link bytea
)
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT last.seq, last.link FROM (
        (SELECT a.seq, a.link FROM satchel.audit a
            WHERE a.tenant = _tenant AND a.replica_id = _replica AND a.chain = _chain
            ORDER BY a.seq DESC LIMIT 1)
        UNION ALL
        (SELECT c.seq, c.link FROM satchel.audit_cut c
            WHERE c.tenant = _tenant AND c.replica_id = _replica AND c.chain = _chain
                AND c.why = 'expired'
            ORDER BY c.seq DESC LIMIT 1)
        UNION ALL
        SELECT 0, decode(repeat('00', 32), 'hex')
    ) AS last ORDER BY last.seq DESC LIMIT 1
$$;

-- Chain -> [seq, link] of what is held of a machine.
CREATE OR REPLACE FUNCTION satchel.audit_standing(_tenant text, _replica bytea) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(
        chain, jsonb_build_array(held.seq, encode(held.link, 'hex'))), '{}')
    FROM unnest('{writes,reads}'::text[]) AS chain,
        satchel.audit_held(_tenant, _replica, chain) AS held
    WHERE held.seq > 0
$$;

-- Up to where a `rotated` record says that its chain was pruned; NULL for any other, and for one
-- that tells of another chain, of an id that the file had before.
CREATE OR REPLACE FUNCTION satchel.audit_cut_of(_record jsonb, OUT seq bigint, OUT link bytea)
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json := satchel.audit_said(_record ->> 'body');
BEGIN
    IF said ->> 'action' = 'rotated' AND said #>> '{detail, replica_id}' IS NULL
        AND said #>> '{detail, seq}' ~ '^[1-9][0-9]{0,15}$'
        AND said #>> '{detail, link}' ~ '^[0-9a-f]{64}$'
    THEN
        seq := said #>> '{detail, seq}';
        link := decode(said #>> '{detail, link}', 'hex');
    END IF;
END
$$;

-- Whether this is a record of this chain of this machine: only then it is looked at any further.
CREATE OR REPLACE FUNCTION satchel.is_audit_record(
    _replica bytea, _chain text, _record jsonb, _said json
) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(
        _record ->> 'seq' ~ '^[1-9][0-9]{0,15}$'
        AND _record ->> 'link' ~ '^[0-9a-f]{64}$' AND _record ->> 'mac' ~ '^[0-9a-f]{64}$'
        AND octet_length(_record ->> 'body') <= 1048576
        AND (_said ->> 'chain', _said ->> 'replica_id', _said ->> 'seq')
            = (_chain, encode(_replica, 'hex'), _record ->> 'seq')
        AND _said ->> 'at' ~ '^-?[0-9]{1,16}$', false)
$$;

-- Keep what came and was not taken; once (of a key, whatever it signed next), and no more of one
-- machine than a thousand.
CREATE OR REPLACE FUNCTION satchel.note_audit_trouble(
    _tenant text, _replica bytea, _attempt text, _chain text, _what text, _held bigint, _came jsonb
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _seq bigint := CASE WHEN _came ->> 'seq' ~ '^[0-9]{1,16}$' THEN _came ->> 'seq' ELSE '0' END;
    _evidence text := left(_came::text, 65536);
    _hash bytea := sha256(convert_to(CASE WHEN _what = 'key'
        THEN satchel.audit_said(_came ->> 'signature') ->> 'public_key' ELSE _evidence END,
        'UTF8'));
BEGIN
    IF (SELECT count(*) FROM satchel.audit_trouble
        WHERE tenant = _tenant AND replica_id = _replica) < 1000
        AND NOT EXISTS (SELECT FROM satchel.audit_trouble
            WHERE tenant = _tenant AND replica_id = _replica AND chain = _chain AND what = _what
                AND evidence_hash = _hash)
    THEN
        INSERT INTO satchel.audit_trouble VALUES (_tenant, _replica, _chain, _what, _seq,
            _evidence, _hash, _held, session_user::text, _attempt, satchel.now_ms());
    END IF;
    RETURN jsonb_build_object('what', _what, 'seq', _seq, 'held', _held);
END
$$;

-- What a record that is well-formed finds: NULL to be appended, `same` where it is held already,
-- or what is wrong. Behind a cut it follows the record that was the last to be pruned.
CREATE OR REPLACE FUNCTION satchel.audit_verdict(
    _tenant text, _replica bytea, _chain text, _held bigint, _held_link bytea, _cut bigint,
    _cut_link bytea, _seq bigint, _body text, _link bytea, _mac bytea
) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    there satchel.audit;
    before bytea := _held_link;
BEGIN
    IF _seq <= _held THEN
        SELECT * INTO there FROM satchel.audit
        WHERE tenant = _tenant AND replica_id = _replica AND chain = _chain AND seq = _seq;
        -- One that expired here, or was pruned before it came, says nothing any more.
        RETURN CASE WHEN there.seq IS NULL
            OR (there.body, there.link, there.mac) = (_body, _link, _mac)
            THEN 'same' ELSE 'fork' END;
    END IF;
    IF _seq > _held + 1 THEN
        IF _cut IS DISTINCT FROM _seq - 1 THEN
            RETURN 'gap';
        END IF;
        before := _cut_link;
    END IF;
    RETURN CASE WHEN satchel.audit_link(before, _body) <> _link THEN 'link' END;
END
$$;

-- The signed head of a chain: of its last record, and by the key that the machine began with.
CREATE OR REPLACE FUNCTION satchel.take_audit_head(
    _tenant text, _replica bytea, _chain text, _held bigint, _held_link bytea, _head jsonb
) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said json := satchel.audit_said(_head ->> 'signature');
    _algorithm text := said ->> 'algorithm';
    _key text := said ->> 'public_key';
BEGIN
    IF _head ->> 'seq' IS DISTINCT FROM _held::text
        OR _head ->> 'link' IS DISTINCT FROM encode(_held_link, 'hex')
        OR coalesce(_head ->> 'at', '') !~ '^-?[0-9]{1,16}$'
        OR octet_length(_head ->> 'signature') > 8192
        OR coalesce(octet_length(_algorithm), 0) NOT BETWEEN 1 AND 40
        OR coalesce(octet_length(_key), 0) NOT BETWEEN 1 AND 1024
    THEN
        RETURN 'head';
    END IF;
    INSERT INTO satchel.audit_key SELECT _tenant, _replica, _algorithm, _key, satchel.now_ms()
    WHERE NOT EXISTS (
        SELECT FROM satchel.audit_key WHERE tenant = _tenant AND replica_id = _replica);
    IF NOT EXISTS (SELECT FROM satchel.audit_key WHERE tenant = _tenant AND replica_id = _replica
        AND algorithm = _algorithm AND public_key = _key)
    THEN
        RETURN 'key';
    END IF;
    INSERT INTO satchel.audit_head VALUES (_tenant, _replica, _chain, _held, _held_link,
        (_head ->> 'at')::bigint, _head ->> 'signature', satchel.now_ms())
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

-- One chain's part of an upload, up to the first record that is not taken.
CREATE OR REPLACE FUNCTION satchel.take_audit(
    _tenant text, _replica bytea, _attempt text, _part jsonb, OUT taken bigint, OUT refused jsonb
)
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _chain text := _part ->> 'chain';
    held record := satchel.audit_held(_tenant, _replica, _chain);
    cut record := satchel.audit_cut_of(_part -> 'cut');
    r jsonb;
    said json;
    _seq bigint;
    _link bytea;
    what text;
BEGIN
    taken := 0;
    FOR r IN SELECT * FROM jsonb_array_elements(_part -> 'records') LOOP
        said := satchel.audit_said(r ->> 'body');
        IF satchel.is_audit_record(_replica, _chain, r, said) THEN
            _seq := r ->> 'seq';
            _link := decode(r ->> 'link', 'hex');
            what := satchel.audit_verdict(_tenant, _replica, _chain, held.seq, held.link, cut.seq,
                cut.link, _seq, r ->> 'body', _link, decode(r ->> 'mac', 'hex'));
        ELSE
            what := 'shape';
        END IF;
        CONTINUE WHEN what = 'same';
        IF what IS NOT NULL THEN
            refused := satchel.note_audit_trouble(
                _tenant, _replica, _attempt, _chain, what, held.seq, r);
            RETURN;
        END IF;
        IF _seq > held.seq + 1 THEN
            INSERT INTO satchel.audit_cut VALUES (_tenant, _replica, _chain, cut.seq, cut.link,
                'pruned', _part -> 'cut' ->> 'body', satchel.now_ms()) ON CONFLICT DO NOTHING;
        END IF;
        INSERT INTO satchel.audit VALUES (_tenant, _replica, _chain, _seq, (said ->> 'at')::bigint,
            r ->> 'body', _link, decode(r ->> 'mac', 'hex'), satchel.now_ms());
        SELECT _seq AS seq, _link AS link INTO held;
        taken := taken + 1;
    END LOOP;
    IF jsonb_typeof(_part -> 'head') = 'object' THEN
        what := satchel.take_audit_head(
            _tenant, _replica, _chain, held.seq, held.link, _part -> 'head');
        IF what IS NOT NULL THEN
            refused := satchel.note_audit_trouble(
                _tenant, _replica, _attempt, _chain, what, held.seq, _part -> 'head');
        END IF;
    END IF;
END
$$;

-- Why an upload is none; NULL when it is.
CREATE OR REPLACE FUNCTION satchel.audits_fault(_parts jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    rows bigint := 0;
    part jsonb;
BEGIN
    IF jsonb_typeof(_parts) IS DISTINCT FROM 'array' OR jsonb_array_length(_parts) > 16 THEN
        RETURN 'an upload of audit records is a list of no more than 16 parts';
    END IF;
    FOR part IN SELECT * FROM jsonb_array_elements(_parts) LOOP
        IF coalesce(part ->> 'chain', '') !~ '^[a-z]{1,16}$' THEN
            RETURN 'the name of an audit chain has 1 to 16 letters';
        END IF;
        IF jsonb_typeof(part -> 'records') IS DISTINCT FROM 'array' THEN
            RETURN 'the records of an audit chain are a list';
        END IF;
        rows := rows + jsonb_array_length(part -> 'records');
    END LOOP;
    RETURN CASE WHEN rows > 2000
        THEN 'the warehouse takes no more than 2000 audit records at a time' END;
END
$$;

-- An upload of a machine; one at a time, so that two copies of a file never append side by side.
CREATE OR REPLACE FUNCTION satchel.take_audits(
    _tenant text, _replica bytea, _attempt text, _parts jsonb
) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    part jsonb;
    found record;
    taken bigint := 0;
    refused jsonb := '{}';
BEGIN
    IF satchel.audits_fault(_parts) IS NOT NULL THEN
        RAISE EXCEPTION '%', satchel.audits_fault(_parts) USING ERRCODE = 'SA001';
    END IF;
    PERFORM FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    FOR part IN SELECT * FROM jsonb_array_elements(_parts) LOOP
        IF part ->> 'chain' <> ALL ('{writes,reads}') THEN -- of a program that is newer
            refused := refused || jsonb_build_object(part ->> 'chain',
                '{"what": "chain", "seq": 0, "held": 0}'::jsonb);
            CONTINUE;
        END IF;
        found := satchel.take_audit(_tenant, _replica, _attempt, part);
        taken := taken + found.taken;
        IF found.refused IS NOT NULL THEN
            refused := refused || jsonb_build_object(part ->> 'chain', found.refused);
        END IF;
    END LOOP;
    RETURN jsonb_build_object('taken', taken, 'refused', refused,
        'held', satchel.audit_standing(_tenant, _replica));
END
$$;

-- The owner's retention: records that came more than so many days ago go, from the beginning of
-- their chains on, and a cut says where each one begins now; with them what was refused then.
-- Returns how many records.
CREATE OR REPLACE FUNCTION satchel.expire_audit(_days integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.now_ms() - _days * 86400000::bigint;
    c record;
    gone bigint;
    total bigint := 0;
BEGIN
    IF coalesce(_days, 0) < 1 THEN
        RAISE EXCEPTION 'audit records are kept for at least a day' USING ERRCODE = '22023';
    END IF;
    PERFORM set_config('satchel.expiring', 'on', true);
    FOR c IN SELECT tenant, replica_id, chain,
            coalesce(min(seq) FILTER (WHERE received_at >= since) - 1, max(seq)) AS upto
        FROM satchel.audit GROUP BY tenant, replica_id, chain
    LOOP
        INSERT INTO satchel.audit_cut
        SELECT tenant, replica_id, chain, seq, link, 'expired', NULL, satchel.now_ms()
        FROM satchel.audit WHERE (tenant, replica_id, chain, seq)
            = (c.tenant, c.replica_id, c.chain, c.upto) ON CONFLICT DO NOTHING;
        DELETE FROM satchel.audit_head WHERE (tenant, replica_id, chain)
            = (c.tenant, c.replica_id, c.chain) AND seq < c.upto;
        DELETE FROM satchel.audit WHERE (tenant, replica_id, chain)
            = (c.tenant, c.replica_id, c.chain) AND seq <= c.upto;
        GET DIAGNOSTICS gone = ROW_COUNT;
        total := total + gone;
    END LOOP;
    DELETE FROM satchel.audit_trouble WHERE at < since;
    PERFORM set_config('satchel.expiring', 'off', true);
    RETURN total;
END
$$;

CREATE OR REPLACE FUNCTION satchel.keep_audit() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'DELETE' OR current_user <> 'satchel_owner'
        OR coalesce(current_setting('satchel.expiring', true), '') <> 'on'
    THEN
        RAISE EXCEPTION 'satchel.% is only ever appended to: satchel.expire_audit(days) removes'
            ' what is old', TG_TABLE_NAME USING ERRCODE = 'SA004';
    END IF;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON satchel.audit FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();
CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON satchel.audit_cut FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();
CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON satchel.audit_key FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();
CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON satchel.audit_head FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();
CREATE OR REPLACE TRIGGER satchel_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON satchel.audit_trouble FOR EACH STATEMENT EXECUTE FUNCTION satchel.keep_audit();

-- space: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_space(r satchel.space) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('description', 't', convert_to(r."description", 'UTF8')),
        ('members', 't', convert_to(r."members", 'UTF8')),
        ('grants', 't', convert_to(r."grants", 'UTF8')),
        ('created_at', 'i', int8send(r."created_at"))
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
        '\x000000057370616365'::bytea || satchel.framed(convert_to(r."name", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_space(r satchel.space) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."description", r."members", r."grants", r."created_at", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."description", r."members", r."grants", r."created_at", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_space(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_space(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.space WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.space WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'space'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x000000057370616365'::bytea || satchel.framed(convert_to("name", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.space WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'space', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'space'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x000000057370616365'::bytea || satchel.framed(convert_to("name", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.space WHERE tenant = _tenant AND "name" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_space() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'space % was forgotten: it stays as it is', quote_literal(OLD."name")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.space SET "description" = NULL, "members" = NULL, "grants" = NULL, "created_at" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "name" = OLD."name";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."name" = '' THEN 'the key is empty' WHEN octet_length(NEW."name") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'space % is not for the hub: %', quote_literal(left(NEW."name", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'space % is about something that was forgotten',
            quote_literal(left(NEW."name", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."name") <> (OLD.tenant, OLD."name") THEN
            RAISE EXCEPTION 'space %: a key never changes', quote_literal(OLD."name")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."description", NEW."members", NEW."grants", NEW."created_at", NEW.extra) IS NOT DISTINCT FROM (OLD."description", OLD."members", OLD."grants", OLD."created_at", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_space(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.space
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.space
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_space();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.space
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- agent: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_agent(r satchel.agent) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('description', 't', convert_to(r."description", 'UTF8')),
        ('capabilities', 't', convert_to(r."capabilities", 'UTF8')),
        ('trust', 'r', float8send(r."trust" + 0.0)),
        ('registered_at', 'i', int8send(r."registered_at")),
        ('status', 't', convert_to(r."status", 'UTF8')),
        ('last_seen', 'i', int8send(r."last_seen"))
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
        '\x000000056167656e74'::bytea || satchel.framed(convert_to(r."agent_id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_agent(r satchel.agent) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."description", r."capabilities", r."trust", r."registered_at", r."status", r."last_seen", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."description", r."capabilities", r."trust", r."registered_at", r."status", r."last_seen", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_agent(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_agent(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.agent WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.agent WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'agent'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x000000056167656e74'::bytea || satchel.framed(convert_to("agent_id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.agent WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'agent', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'agent'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x000000056167656e74'::bytea || satchel.framed(convert_to("agent_id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.agent WHERE tenant = _tenant AND "agent_id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_agent() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'agent % was forgotten: it stays as it is', quote_literal(OLD."agent_id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.agent SET "description" = NULL, "capabilities" = NULL, "trust" = NULL, "registered_at" = NULL, "status" = NULL, "last_seen" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "agent_id" = OLD."agent_id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    NEW."trust" := NEW."trust" + 0.0;
    refused := CASE WHEN NEW."agent_id" = '' THEN 'the key is empty' WHEN octet_length(NEW."agent_id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce(NEW."trust" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'agent % is not for the hub: %', quote_literal(left(NEW."agent_id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'agent % is about something that was forgotten',
            quote_literal(left(NEW."agent_id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."agent_id") <> (OLD.tenant, OLD."agent_id") THEN
            RAISE EXCEPTION 'agent %: a key never changes', quote_literal(OLD."agent_id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."description", NEW."capabilities", NEW."trust", NEW."registered_at", NEW."status", NEW."last_seen", NEW.extra) IS NOT DISTINCT FROM (OLD."description", OLD."capabilities", OLD."trust", OLD."registered_at", OLD."status", OLD."last_seen", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_agent(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.agent
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.agent
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_agent();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.agent
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- session: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_session(r satchel.session) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('title', 't', convert_to(r."title", 'UTF8')),
        ('scope', 't', convert_to(r."scope", 'UTF8')),
        ('space', 't', convert_to(r."space", 'UTF8')),
        ('user_id', 't', convert_to(r."user_id", 'UTF8')),
        ('agent_id', 't', convert_to(r."agent_id", 'UTF8')),
        ('agent_ids', 't', convert_to(r."agent_ids", 'UTF8')),
        ('opened_at', 'i', int8send(r."opened_at")),
        ('closed_at', 'i', int8send(r."closed_at")),
        ('summary_memory_id', 't', convert_to(r."summary_memory_id", 'UTF8'))
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
        '\x0000000773657373696f6e'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_session(r satchel.session) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."title", r."scope", r."space", r."user_id", r."agent_id", r."agent_ids", r."opened_at", r."closed_at", r."summary_memory_id", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."title", r."scope", r."space", r."user_id", r."agent_id", r."agent_ids", r."opened_at", r."closed_at", r."summary_memory_id", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_session(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_session(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.session WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.session WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'session'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x0000000773657373696f6e'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.session WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'session', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'session'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x0000000773657373696f6e'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.session WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_session() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'session % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.session SET "title" = NULL, "scope" = NULL, "space" = NULL, "user_id" = NULL, "agent_id" = NULL, "agent_ids" = NULL, "opened_at" = NULL, "closed_at" = NULL, "summary_memory_id" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'session % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'session % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'session %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."title", NEW."scope", NEW."space", NEW."user_id", NEW."agent_id", NEW."agent_ids", NEW."opened_at", NEW."closed_at", NEW."summary_memory_id", NEW.extra) IS NOT DISTINCT FROM (OLD."title", OLD."scope", OLD."space", OLD."user_id", OLD."agent_id", OLD."agent_ids", OLD."opened_at", OLD."closed_at", OLD."summary_memory_id", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_session(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.session
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.session
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_session();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.session
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- memory: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_memory(r satchel.memory) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('type', 't', convert_to(r."type", 'UTF8')),
        ('title', 't', convert_to(r."title", 'UTF8')),
        ('content', 't', convert_to(r."content", 'UTF8')),
        ('metadata', 't', convert_to(r."metadata", 'UTF8')),
        ('scope', 't', convert_to(r."scope", 'UTF8')),
        ('agent_id', 't', convert_to(r."agent_id", 'UTF8')),
        ('user_id', 't', convert_to(r."user_id", 'UTF8')),
        ('session_id', 't', convert_to(r."session_id", 'UTF8')),
        ('space', 't', convert_to(r."space", 'UTF8')),
        ('local', 'i', int8send(r."local")),
        ('importance', 'r', float8send(r."importance" + 0.0)),
        ('confidence', 'r', float8send(r."confidence" + 0.0)),
        ('pinned', 'i', int8send(r."pinned")),
        ('source', 't', convert_to(r."source", 'UTF8')),
        ('valid_from', 'i', int8send(r."valid_from")),
        ('valid_to', 'i', int8send(r."valid_to")),
        ('valid_to_was', 'i', int8send(r."valid_to_was")),
        ('recorded_at', 'i', int8send(r."recorded_at")),
        ('retired_at', 'i', int8send(r."retired_at")),
        ('expires_at', 'i', int8send(r."expires_at")),
        ('supersedes', 't', convert_to(r."supersedes", 'UTF8')),
        ('aliases', 't', convert_to(r."aliases", 'UTF8')),
        ('content_hash', 't', convert_to(r."content_hash", 'UTF8'))
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
        '\x000000066d656d6f7279'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_memory(r satchel.memory) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."type", r."title", r."content", r."metadata", r."scope", r."agent_id", r."user_id", r."session_id", r."space", r."local", r."importance", r."confidence", r."pinned", r."source", r."valid_from", r."valid_to", r."valid_to_was", r."recorded_at", r."retired_at", r."expires_at", r."supersedes", r."aliases", r."content_hash", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."type", r."title", r."content", r."metadata", r."scope", r."agent_id", r."user_id", r."session_id", r."space", r."local", r."importance", r."confidence", r."pinned", r."source", r."valid_from", r."valid_to", r."valid_to_was", r."recorded_at", r."retired_at", r."expires_at", r."supersedes", r."aliases", r."content_hash", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_memory(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_memory(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.memory WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.memory WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'memory'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x000000066d656d6f7279'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.memory WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'memory', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'memory'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x000000066d656d6f7279'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.memory WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_memory() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'memory % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.memory SET "type" = NULL, "title" = NULL, "content" = NULL, "metadata" = NULL, "scope" = NULL, "agent_id" = NULL, "user_id" = NULL, "session_id" = NULL, "space" = NULL, "local" = NULL, "importance" = NULL, "confidence" = NULL, "pinned" = NULL, "source" = NULL, "valid_from" = NULL, "valid_to" = NULL, "valid_to_was" = NULL, "recorded_at" = NULL, "retired_at" = NULL, "expires_at" = NULL, "supersedes" = NULL, "aliases" = NULL, "content_hash" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    NEW."importance" := NEW."importance" + 0.0; NEW."confidence" := NEW."confidence" + 0.0;
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN coalesce(NEW.local, 0) <> 0 THEN 'the row is local' WHEN coalesce(NEW."importance" IN ('NaN', 'Infinity', '-Infinity'), false) OR coalesce(NEW."confidence" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'memory % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF ((strpos(NEW.metadata, '"promoted"') > 0 OR strpos(NEW.metadata, '"quoted"') > 0) AND EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = NEW.tenant AND s.id = ANY (satchel.marks_in(NEW.metadata)) AND s.life = 9223372036854775807)) THEN
        RAISE EXCEPTION 'memory % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'memory %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."type", NEW."title", NEW."content", NEW."metadata", NEW."scope", NEW."agent_id", NEW."user_id", NEW."session_id", NEW."space", NEW."local", NEW."importance", NEW."confidence", NEW."pinned", NEW."source", NEW."valid_from", NEW."valid_to", NEW."valid_to_was", NEW."recorded_at", NEW."retired_at", NEW."expires_at", NEW."supersedes", NEW."aliases", NEW."content_hash", NEW.extra) IS NOT DISTINCT FROM (OLD."type", OLD."title", OLD."content", OLD."metadata", OLD."scope", OLD."agent_id", OLD."user_id", OLD."session_id", OLD."space", OLD."local", OLD."importance", OLD."confidence", OLD."pinned", OLD."source", OLD."valid_from", OLD."valid_to", OLD."valid_to_was", OLD."recorded_at", OLD."retired_at", OLD."expires_at", OLD."supersedes", OLD."aliases", OLD."content_hash", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_memory(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.memory
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.memory
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_memory();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.memory
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- relationship: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_relationship(r satchel.relationship) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('from_id', 't', convert_to(r."from_id", 'UTF8')),
        ('to_id', 't', convert_to(r."to_id", 'UTF8')),
        ('type', 't', convert_to(r."type", 'UTF8')),
        ('weight', 'r', float8send(r."weight" + 0.0)),
        ('metadata', 't', convert_to(r."metadata", 'UTF8')),
        ('agent_id', 't', convert_to(r."agent_id", 'UTF8'))
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
        '\x0000000c72656c6174696f6e73686970'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_relationship(r satchel.relationship) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."from_id", r."to_id", r."type", r."weight", r."metadata", r."agent_id", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."from_id", r."to_id", r."type", r."weight", r."metadata", r."agent_id", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_relationship(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_relationship(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.relationship WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.relationship WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'relationship'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x0000000c72656c6174696f6e73686970'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.relationship WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'relationship', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'relationship'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x0000000c72656c6174696f6e73686970'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.relationship WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_relationship() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'relationship % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.relationship SET "from_id" = NULL, "to_id" = NULL, "type" = NULL, "weight" = NULL, "metadata" = NULL, "agent_id" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    NEW."weight" := NEW."weight" + 0.0;
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce(NEW."weight" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'relationship % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = NEW."from_id" AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = NEW."to_id" AND s.life = 9223372036854775807)) THEN
        RAISE EXCEPTION 'relationship % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'relationship %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."from_id", NEW."to_id", NEW."type", NEW."weight", NEW."metadata", NEW."agent_id", NEW.extra) IS NOT DISTINCT FROM (OLD."from_id", OLD."to_id", OLD."type", OLD."weight", OLD."metadata", OLD."agent_id", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_relationship(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.relationship
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.relationship
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_relationship();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.relationship
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- task: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_task(r satchel.task) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('title', 't', convert_to(r."title", 'UTF8')),
        ('description', 't', convert_to(r."description", 'UTF8')),
        ('status', 't', convert_to(r."status", 'UTF8')),
        ('priority', 'i', int8send(r."priority")),
        ('scope', 't', convert_to(r."scope", 'UTF8')),
        ('space', 't', convert_to(r."space", 'UTF8')),
        ('user_id', 't', convert_to(r."user_id", 'UTF8')),
        ('agent_id', 't', convert_to(r."agent_id", 'UTF8')),
        ('owner_agent', 't', convert_to(r."owner_agent", 'UTF8')),
        ('created_by', 't', convert_to(r."created_by", 'UTF8')),
        ('parent_id', 't', convert_to(r."parent_id", 'UTF8')),
        ('depends_on', 't', convert_to(r."depends_on", 'UTF8')),
        ('session_id', 't', convert_to(r."session_id", 'UTF8')),
        ('due_at', 'i', int8send(r."due_at")),
        ('claimed_by', 't', convert_to(r."claimed_by", 'UTF8')),
        ('lease_until', 'i', int8send(r."lease_until")),
        ('result', 't', convert_to(r."result", 'UTF8')),
        ('result_memory_id', 't', convert_to(r."result_memory_id", 'UTF8')),
        ('metadata', 't', convert_to(r."metadata", 'UTF8')),
        ('created_at', 'i', int8send(r."created_at")),
        ('completed_at', 'i', int8send(r."completed_at"))
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
        '\x000000047461736b'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_task(r satchel.task) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."title", r."description", r."status", r."priority", r."scope", r."space", r."user_id", r."agent_id", r."owner_agent", r."created_by", r."parent_id", r."depends_on", r."session_id", r."due_at", r."claimed_by", r."lease_until", r."result", r."result_memory_id", r."metadata", r."created_at", r."completed_at", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."title", r."description", r."status", r."priority", r."scope", r."space", r."user_id", r."agent_id", r."owner_agent", r."created_by", r."parent_id", r."depends_on", r."session_id", r."due_at", r."claimed_by", r."lease_until", r."result", r."result_memory_id", r."metadata", r."created_at", r."completed_at", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_task(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_task(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.task WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.task WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'task'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x000000047461736b'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.task WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'task', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'task'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x000000047461736b'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.task WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_task() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'task % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.task SET "title" = NULL, "description" = NULL, "status" = NULL, "priority" = NULL, "scope" = NULL, "space" = NULL, "user_id" = NULL, "agent_id" = NULL, "owner_agent" = NULL, "created_by" = NULL, "parent_id" = NULL, "depends_on" = NULL, "session_id" = NULL, "due_at" = NULL, "claimed_by" = NULL, "lease_until" = NULL, "result" = NULL, "result_memory_id" = NULL, "metadata" = NULL, "created_at" = NULL, "completed_at" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'task % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'task % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'task %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."title", NEW."description", NEW."status", NEW."priority", NEW."scope", NEW."space", NEW."user_id", NEW."agent_id", NEW."owner_agent", NEW."created_by", NEW."parent_id", NEW."depends_on", NEW."session_id", NEW."due_at", NEW."claimed_by", NEW."lease_until", NEW."result", NEW."result_memory_id", NEW."metadata", NEW."created_at", NEW."completed_at", NEW.extra) IS NOT DISTINCT FROM (OLD."title", OLD."description", OLD."status", OLD."priority", OLD."scope", OLD."space", OLD."user_id", OLD."agent_id", OLD."owner_agent", OLD."created_by", OLD."parent_id", OLD."depends_on", OLD."session_id", OLD."due_at", OLD."claimed_by", OLD."lease_until", OLD."result", OLD."result_memory_id", OLD."metadata", OLD."created_at", OLD."completed_at", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        ELSE NEW.life := satchel.next_end(OLD.life, OLD.status, NEW.status);
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_task(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.task
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.task
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_task();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.task
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- message: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_message(r satchel.message) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('to_agent', 't', convert_to(r."to_agent", 'UTF8')),
        ('from_agent', 't', convert_to(r."from_agent", 'UTF8')),
        ('kind', 't', convert_to(r."kind", 'UTF8')),
        ('title', 't', convert_to(r."title", 'UTF8')),
        ('content', 't', convert_to(r."content", 'UTF8')),
        ('conversation_id', 't', convert_to(r."conversation_id", 'UTF8')),
        ('task_id', 't', convert_to(r."task_id", 'UTF8')),
        ('context_ids', 't', convert_to(r."context_ids", 'UTF8')),
        ('thread_id', 't', convert_to(r."thread_id", 'UTF8')),
        ('priority', 'i', int8send(r."priority")),
        ('created_at', 'i', int8send(r."created_at")),
        ('expires_at', 'i', int8send(r."expires_at")),
        ('acked_at', 'i', int8send(r."acked_at")),
        ('dedup_key', 't', convert_to(r."dedup_key", 'UTF8'))
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
        '\x000000076d657373616765'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_message(r satchel.message) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."to_agent", r."from_agent", r."kind", r."title", r."content", r."conversation_id", r."task_id", r."context_ids", r."thread_id", r."priority", r."created_at", r."expires_at", r."acked_at", r."dedup_key", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."to_agent", r."from_agent", r."kind", r."title", r."content", r."conversation_id", r."task_id", r."context_ids", r."thread_id", r."priority", r."created_at", r."expires_at", r."acked_at", r."dedup_key", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_message(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_message(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.message WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.message WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'message'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x000000076d657373616765'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.message WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'message', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'message'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x000000076d657373616765'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.message WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_message() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'message % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.message SET "to_agent" = NULL, "from_agent" = NULL, "kind" = NULL, "title" = NULL, "content" = NULL, "conversation_id" = NULL, "task_id" = NULL, "context_ids" = NULL, "thread_id" = NULL, "priority" = NULL, "created_at" = NULL, "expires_at" = NULL, "acked_at" = NULL, "dedup_key" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'message % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'message % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'message %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."to_agent", NEW."from_agent", NEW."kind", NEW."title", NEW."content", NEW."conversation_id", NEW."task_id", NEW."context_ids", NEW."thread_id", NEW."priority", NEW."created_at", NEW."expires_at", NEW."acked_at", NEW."dedup_key", NEW.extra) IS NOT DISTINCT FROM (OLD."to_agent", OLD."from_agent", OLD."kind", OLD."title", OLD."content", OLD."conversation_id", OLD."task_id", OLD."context_ids", OLD."thread_id", OLD."priority", OLD."created_at", OLD."expires_at", OLD."acked_at", OLD."dedup_key", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_message(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.message
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.message
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_message();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.message
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- chatlog: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_chatlog(r satchel.chatlog) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('conversation_id', 't', convert_to(r."conversation_id", 'UTF8')),
        ('ordinal', 'i', int8send(r."ordinal")),
        ('role', 't', convert_to(r."role", 'UTF8')),
        ('content', 't', convert_to(r."content", 'UTF8')),
        ('scope', 't', convert_to(r."scope", 'UTF8')),
        ('space', 't', convert_to(r."space", 'UTF8')),
        ('agent_id', 't', convert_to(r."agent_id", 'UTF8')),
        ('user_id', 't', convert_to(r."user_id", 'UTF8')),
        ('host_agent', 't', convert_to(r."host_agent", 'UTF8')),
        ('provider', 't', convert_to(r."provider", 'UTF8')),
        ('model', 't', convert_to(r."model", 'UTF8')),
        ('tokens_in', 'i', int8send(r."tokens_in")),
        ('tokens_out', 'i', int8send(r."tokens_out")),
        ('cost', 'r', float8send(r."cost" + 0.0)),
        ('metadata', 't', convert_to(r."metadata", 'UTF8')),
        ('redactions', 'i', int8send(r."redactions")),
        ('said_at', 'i', int8send(r."said_at"))
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
        '\x00000007636861746c6f67'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_chatlog(r satchel.chatlog) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."conversation_id", r."ordinal", r."role", r."content", r."scope", r."space", r."agent_id", r."user_id", r."host_agent", r."provider", r."model", r."tokens_in", r."tokens_out", r."cost", r."metadata", r."redactions", r."said_at", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."conversation_id", r."ordinal", r."role", r."content", r."scope", r."space", r."agent_id", r."user_id", r."host_agent", r."provider", r."model", r."tokens_in", r."tokens_out", r."cost", r."metadata", r."redactions", r."said_at", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_chatlog(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_chatlog(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.chatlog WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.chatlog WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'chatlog'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x00000007636861746c6f67'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.chatlog WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'chatlog', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'chatlog'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x00000007636861746c6f67'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.chatlog WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_chatlog() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'chatlog % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.chatlog SET "conversation_id" = NULL, "ordinal" = NULL, "role" = NULL, "content" = NULL, "scope" = NULL, "space" = NULL, "agent_id" = NULL, "user_id" = NULL, "host_agent" = NULL, "provider" = NULL, "model" = NULL, "tokens_in" = NULL, "tokens_out" = NULL, "cost" = NULL, "metadata" = NULL, "redactions" = NULL, "said_at" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    NEW."cost" := NEW."cost" + 0.0;
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce(NEW."cost" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'chatlog % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF false THEN
        RAISE EXCEPTION 'chatlog % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'chatlog %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."conversation_id", NEW."ordinal", NEW."role", NEW."content", NEW."scope", NEW."space", NEW."agent_id", NEW."user_id", NEW."host_agent", NEW."provider", NEW."model", NEW."tokens_in", NEW."tokens_out", NEW."cost", NEW."metadata", NEW."redactions", NEW."said_at", NEW.extra) IS NOT DISTINCT FROM (OLD."conversation_id", OLD."ordinal", OLD."role", OLD."content", OLD."scope", OLD."space", OLD."agent_id", OLD."user_id", OLD."host_agent", OLD."provider", OLD."model", OLD."tokens_in", OLD."tokens_out", OLD."cost", OLD."metadata", OLD."redactions", OLD."said_at", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_chatlog(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.chatlog
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.chatlog
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_chatlog();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.chatlog
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- history: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_history(r satchel.history) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('kind', 't', convert_to(r."kind", 'UTF8')),
        ('key', 't', convert_to(r."key", 'UTF8')),
        ('event', 't', convert_to(r."event", 'UTF8')),
        ('changes', 't', convert_to(r."changes", 'UTF8')),
        ('actor', 't', convert_to(r."actor", 'UTF8')),
        ('at', 'i', int8send(r."at"))
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
        '\x00000007686973746f7279'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_history(r satchel.history) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."kind", r."key", r."event", r."changes", r."actor", r."at", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."kind", r."key", r."event", r."changes", r."actor", r."at", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_history(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_history(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.history WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.history WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'history'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x00000007686973746f7279'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.history WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'history', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'history'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x00000007686973746f7279'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.history WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_history() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'history % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.history SET "kind" = NULL, "key" = NULL, "event" = NULL, "changes" = NULL, "actor" = NULL, "at" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'history % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF (CASE NEW.kind WHEN 'space' THEN EXISTS (SELECT FROM satchel.space s WHERE s.tenant = NEW.tenant AND s."name" = NEW.key AND s.life = 9223372036854775807) WHEN 'agent' THEN EXISTS (SELECT FROM satchel.agent s WHERE s.tenant = NEW.tenant AND s."agent_id" = NEW.key AND s.life = 9223372036854775807) WHEN 'session' THEN EXISTS (SELECT FROM satchel.session s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) WHEN 'memory' THEN (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = NEW.tenant AND s.id = ANY (satchel.marks_told(NEW.kind, NEW.changes)) AND s.life = 9223372036854775807)) WHEN 'relationship' THEN (EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = ANY (satchel.memories_in(NEW.kind, NEW.changes)) AND s.life = 9223372036854775807)) WHEN 'task' THEN EXISTS (SELECT FROM satchel.task s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) WHEN 'message' THEN EXISTS (SELECT FROM satchel.message s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) WHEN 'chatlog' THEN EXISTS (SELECT FROM satchel.chatlog s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) WHEN 'history' THEN EXISTS (SELECT FROM satchel.history s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) WHEN 'embedding' THEN (EXISTS (SELECT FROM satchel.embedding s WHERE s.tenant = NEW.tenant AND s."id" = NEW.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = ANY (satchel.memories_in(NEW.kind, NEW.changes)) AND s.life = 9223372036854775807)) ELSE false END) THEN
        RAISE EXCEPTION 'history % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'history %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."kind", NEW."key", NEW."event", NEW."changes", NEW."actor", NEW."at", NEW.extra) IS NOT DISTINCT FROM (OLD."kind", OLD."key", OLD."event", OLD."changes", OLD."actor", OLD."at", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_history(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.history
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.history
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_history();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.history
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- embedding: the canonical digest and the triggers for SQL that is not a push.

-- satchel_sync.digest.row_digest of one row; `extra` merges in by name.
CREATE OR REPLACE FUNCTION satchel.digest_embedding(r satchel.embedding) RETURNS bytea
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH known (name, tag, data) AS (VALUES
        ('memory_id', 't', convert_to(r."memory_id", 'UTF8')),
        ('model', 't', convert_to(r."model", 'UTF8')),
        ('chunk', 'i', int8send(r."chunk")),
        ('content_hash', 't', convert_to(r."content_hash", 'UTF8')),
        ('dims', 'i', int8send(r."dims")),
        ('dtype', 't', convert_to(r."dtype", 'UTF8')),
        ('vector', 'b', r."vector")
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
        '\x00000009656d62656464696e67'::bytea || satchel.framed(convert_to(r."id", 'UTF8')) || coalesce(string_agg(
            satchel.framed(convert_to(name, 'UTF8')) || convert_to(tag, 'UTF8')
                || satchel.framed(data), ''::bytea ORDER BY name COLLATE "C"), ''::bytea)
    ), 1, 8) FROM parts
$$;

-- Whether the content of a row does not fit its version: somebody passed by the triggers.
CREATE OR REPLACE FUNCTION satchel.is_damaged_embedding(r satchel.embedding) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN r.life = 9223372036854775807 THEN num_nonnulls(r."memory_id", r."model", r."chunk", r."content_hash", r."dims", r."dtype", r."vector", r.extra) > 0
        WHEN (r.life >> 16) % 2 = 0 AND num_nonnulls(r."memory_id", r."model", r."chunk", r."content_hash", r."dims", r."dtype", r."vector", r.extra) > 0 THEN true
        WHEN (r.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$') OR (coalesce(r.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(r.extra::json))) THEN true
        ELSE satchel.digest_embedding(r) <> r.digest
    END
$$;

-- Count and sum mod 2^64 of a kind's versions by bucket (satchel_sync.digest.sums), and the highest
-- change sequence. Hashing every row takes seconds, so the sums of each 2048 change sequences are
-- kept. A row that changes leaves its place for a higher one, so what lies in a range can only
-- become less, but for the range of the newest: as long as rows, highest and sum of a range's
-- sequences are those of before, so are its versions. One statement, so one snapshot.
CREATE OR REPLACE FUNCTION satchel.buckets_embedding(_tenant text, _without text[])
RETURNS TABLE (bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET jit = off SET enable_seqscan = off AS $$
    WITH live AS MATERIALIZED (
        SELECT part, held, highest, checksum
        FROM (SELECT min(change_seq) AS low, max(change_seq) AS high
              FROM satchel.embedding WHERE tenant = _tenant) AS span,
            generate_series(low >> 11, high >> 11) AS part,
            LATERAL (SELECT count(*) AS held, max(change_seq) AS highest,
                         sum(change_seq) AS checksum
                     FROM satchel.embedding WHERE tenant = _tenant
                         AND change_seq >= part << 11 AND change_seq < (part + 1) << 11) AS counted
        WHERE held > 0
    ), kept AS MATERIALIZED (
        SELECT d.part, d.buckets, d.counts, d.totals
        FROM satchel.digest_part d JOIN live l USING (part, held, highest, checksum)
        WHERE d.tenant = _tenant AND d.kind = 'embedding'
    ), named AS (
        SELECT l.part, n.name, n.version
        FROM (SELECT part FROM live EXCEPT SELECT part FROM kept) AS l, LATERAL (
            SELECT '\x00000009656d62656464696e67'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
                satchel.packed(life, hlc, origin, digest) AS version
            FROM satchel.embedding WHERE tenant = _tenant
                AND change_seq >= l.part << 11 AND change_seq < (l.part + 1) << 11 OFFSET 0
        ) AS n
    ), hashed AS MATERIALIZED (
        SELECT part, get_byte(sha256(name), 0) AS bucket, count(*) AS rows,
            sum(satchel.summand(name, version)) AS total
        FROM named GROUP BY 1, 2
    ), renewed AS (
        INSERT INTO satchel.digest_part AS d
            (tenant, kind, part, held, highest, checksum, buckets, counts, totals)
        SELECT _tenant, 'embedding', l.part, l.held, l.highest, l.checksum,
            array_agg(h.bucket), array_agg(h.rows), array_agg(h.total)
        FROM live l JOIN hashed h USING (part)
        GROUP BY l.part, l.held, l.highest, l.checksum ORDER BY l.part
        ON CONFLICT (tenant, kind, part) DO UPDATE SET held = excluded.held,
            highest = excluded.highest, checksum = excluded.checksum, buckets = excluded.buckets,
            counts = excluded.counts, totals = excluded.totals
    ), gone AS (
        DELETE FROM satchel.digest_part d WHERE d.tenant = _tenant AND d.kind = 'embedding'
            AND d.part NOT IN (SELECT part FROM live)
    ), left_out AS (
        SELECT '\x00000009656d62656464696e67'::bytea || satchel.framed(convert_to("id", 'UTF8')) AS name,
            satchel.packed(life, hlc, origin, digest) AS version
        FROM satchel.embedding WHERE tenant = _tenant AND "id" = ANY (_without) OFFSET 0
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
CREATE OR REPLACE FUNCTION satchel.stamp_embedding() RETURNS trigger
LANGUAGE plpgsql SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    was_dead boolean;
    refused text;
    deleting boolean := current_setting('satchel.deleting', true) IS NOT DISTINCT FROM 'on';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        IF OLD.life = 9223372036854775807 THEN
            RAISE EXCEPTION 'embedding % was forgotten: it stays as it is', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        was_dead := (OLD.life >> 16) % 2 = 0;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF NOT was_dead THEN
            PERFORM set_config('satchel.deleting', 'on', true);
            UPDATE satchel.embedding SET "memory_id" = NULL, "model" = NULL, "chunk" = NULL, "content_hash" = NULL, "dims" = NULL, "dtype" = NULL, "vector" = NULL, extra = NULL
            WHERE tenant = OLD.tenant AND "id" = OLD."id";
            PERFORM set_config('satchel.deleting', '', true);
        END IF;
        RETURN NULL;
    END IF;
    NEW.tenant := coalesce(NEW.tenant, 'default');
    
    refused := CASE WHEN NEW."id" = '' THEN 'the key is empty' WHEN octet_length(NEW."id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN NEW.extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(NEW.extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(NEW.extra::json)) THEN 'extra names a column twice' END;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'embedding % is not for the hub: %', quote_literal(left(NEW."id", 80)),
            refused USING ERRCODE = 'SA004';
    END IF;
    PERFORM satchel.lock_tenant(NEW.tenant);
    IF (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = NEW.tenant AND s."id" = NEW."memory_id" AND s.life = 9223372036854775807)) THEN
        RAISE EXCEPTION 'embedding % is about something that was forgotten',
            quote_literal(left(NEW."id", 80)) USING ERRCODE = 'SA004';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.life := 65536;
        NEW.lineage := '';
        NEW.hlc := satchel.next_hlc(0);
    ELSE
        IF (NEW.tenant, NEW."id") <> (OLD.tenant, OLD."id") THEN
            RAISE EXCEPTION 'embedding %: a key never changes', quote_literal(OLD."id")
                USING ERRCODE = 'SA004';
        END IF;
        IF NOT deleting
            AND (NEW."memory_id", NEW."model", NEW."chunk", NEW."content_hash", NEW."dims", NEW."dtype", NEW."vector", NEW.extra) IS NOT DISTINCT FROM (OLD."memory_id", OLD."model", OLD."chunk", OLD."content_hash", OLD."dims", OLD."dtype", OLD."vector", OLD.extra) THEN
            RETURN OLD;
        END IF;
        NEW.life := OLD.life;
        IF was_dead OR deleting THEN
            NEW.life := satchel.next_generation(OLD.life);
        
        END IF;
        NEW.lineage := satchel.extend(
            OLD.lineage, satchel.hex(OLD.life, OLD.hlc, OLD.origin, OLD.digest));
        NEW.hlc := satchel.next_hlc(OLD.hlc);
    END IF;
    SELECT t.id, t.id, h.schema, satchel.now_ms()
    INTO NEW.origin, NEW.pushed_by, NEW.schema_ver, NEW.received_at
    FROM satchel.hub h, satchel.tenant t WHERE t.name = NEW.tenant;
    NEW.digest := satchel.digest_embedding(NEW);
    NEW.change_seq := satchel.next_change_seq(NEW.tenant);
    RETURN NEW;
END
$$;

-- Only a door can fulfil the condition: it runs as the owner and sets the flag for its own call.
CREATE OR REPLACE TRIGGER satchel_1_lock BEFORE INSERT OR UPDATE OR DELETE ON satchel.embedding
FOR EACH STATEMENT
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.lock_all_tenants();

CREATE OR REPLACE TRIGGER satchel_2_stamp BEFORE INSERT OR UPDATE OR DELETE ON satchel.embedding
FOR EACH ROW
WHEN (NOT (current_user = 'satchel_owner' AND current_setting('satchel.door', true)
    IS NOT DISTINCT FROM 'push'))
EXECUTE FUNCTION satchel.stamp_embedding();

CREATE OR REPLACE TRIGGER satchel_3_truncate BEFORE TRUNCATE ON satchel.embedding
FOR EACH STATEMENT EXECUTE FUNCTION satchel.refuse_truncate();

-- Hash partitions of the tables that were made with them (partitions.py), and what guards them.

-- `parts` partitions for each table that is partitioned and has none yet.
CREATE OR REPLACE FUNCTION satchel.make_partitions(parts integer) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class c
        WHERE relnamespace = 'satchel'::regnamespace AND relkind = 'p'
            AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid)
    LOOP
        FOR part IN 0..parts - 1 LOOP
            EXECUTE format('CREATE TABLE satchel.%I PARTITION OF satchel.%I'
                ' FOR VALUES WITH (MODULUS %s, REMAINDER %s)', name || '_p' || part, name, parts,
                part);
        END LOOP;
    END LOOP;
END
$$;

-- Who names a partition meets what who names its table meets: the same policies, the same triggers
-- of statements. Those of rows a partition has by itself.
CREATE OR REPLACE FUNCTION satchel.guard_partitions() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET client_min_messages = warning AS $$
DECLARE
    part record;
    rule record;
    made text;
BEGIN
    FOR part IN SELECT inhrelid::regclass AS name, inhparent AS parent, relname AS kind
        FROM pg_inherits JOIN pg_class p ON p.oid = inhparent
        WHERE relnamespace = 'satchel'::regnamespace AND relkind = 'p'
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY',
            part.name);
        FOR rule IN SELECT polname FROM pg_policy WHERE polrelid = part.name AND (polpermissive
            OR polname IN (SELECT polname FROM pg_policy WHERE polrelid = part.parent))
        LOOP
            EXECUTE format('DROP POLICY %I ON %s', rule.polname, part.name);
        END LOOP;
        FOR rule IN SELECT policyname, permissive, cmd, qual, with_check,
                (SELECT string_agg(CASE one WHEN 'public' THEN 'PUBLIC' ELSE quote_ident(one) END,
                    ', ') FROM unnest(roles) AS one) AS who
            FROM pg_policies WHERE schemaname = 'satchel' AND tablename = part.kind
        LOOP
            EXECUTE format('CREATE POLICY %I ON %s AS %s FOR %s TO %s', rule.policyname, part.name,
                    rule.permissive, rule.cmd, rule.who)
                || coalesce(' USING (' || rule.qual || ')', '')
                || coalesce(' WITH CHECK (' || rule.with_check || ')', '');
        END LOOP;
        FOR made IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
            WHERE tgrelid = part.parent AND NOT tgisinternal AND tgtype & 1 = 0
        LOOP
            EXECUTE replace(replace(made, format(' ON satchel.%I ', part.kind),
                format(' ON %s ', part.name)), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER');
        END LOOP;
    END LOOP;
END
$$;

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
    IF NOT coalesce((strpos(_metadata, '"promoted"') > 0 OR strpos(_metadata, '"quoted"') > 0), false) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT 'linked:' || (id #>> '{}')
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
    IF _kind = 'memory' THEN
        DELETE FROM satchel.conflict c
        WHERE c.tenant = _tenant AND c.kind = 'embedding' AND (satchel.field(c.content, 'memory_id') = ANY (_keys));
        WITH gone AS (
            UPDATE satchel.embedding t SET "memory_id" = NULL, "model" = NULL, "chunk" = NULL, "content_hash" = NULL, "dims" = NULL, "dtype" = NULL, "vector" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND (t."memory_id" = ANY (_keys))
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'embedding', found_keys, _by, _schema);
        END IF;
    END IF;
    IF _kind = 'memory' THEN
        DELETE FROM satchel.conflict c
        WHERE c.tenant = _tenant AND c.kind = 'relationship' AND (satchel.field(c.content, 'from_id') = ANY (_keys) OR satchel.field(c.content, 'to_id') = ANY (_keys));
        WITH gone AS (
            UPDATE satchel.relationship t SET "from_id" = NULL, "to_id" = NULL, "type" = NULL, "weight" = NULL, "metadata" = NULL, "agent_id" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND (t."from_id" = ANY (_keys) OR t."to_id" = ANY (_keys))
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'relationship', found_keys, _by, _schema);
        END IF;
    END IF;
    IF _kind <> 'history' THEN
        DELETE FROM satchel.conflict c
        WHERE c.tenant = _tenant AND c.kind = 'history' AND (satchel.field(c.content, 'kind') = _kind AND satchel.field(c.content, 'key') = ANY (_keys));
        WITH gone AS (
            UPDATE satchel.history t SET "kind" = NULL, "key" = NULL, "event" = NULL, "changes" = NULL, "actor" = NULL, "at" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND (t.kind = _kind AND t.key = ANY (_keys))
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'history', found_keys, _by, _schema);
        END IF;
    END IF;
    IF _kind = 'memory' THEN
        WITH gone AS (
            UPDATE satchel.history t SET "kind" = NULL, "key" = NULL, "event" = NULL, "changes" = NULL, "actor" = NULL, "at" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND (t.id = ANY (ARRAY(SELECT m.id FROM satchel.history_memory m WHERE m.tenant = _tenant AND m.memory_id = ANY (_keys))) AND satchel.memories_in(t.kind, t.changes) && _keys)
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'history', found_keys, _by, _schema);
        END IF;
        DELETE FROM satchel.history_memory m WHERE m.tenant = _tenant AND m.memory_id = ANY (_keys);
    END IF;
    IF _kind = 'relationship' THEN
        _keys := ARRAY(SELECT k FROM unnest(_keys) AS k WHERE starts_with(k, 'linked:'));
        IF _keys <> '{}' THEN
            DELETE FROM satchel.conflict c
            WHERE c.tenant = _tenant AND c.kind = 'memory' AND (strpos(c.content, 'promoted') > 0 OR strpos(c.content, 'quoted') > 0)
                AND satchel.marks_in(satchel.field(c.content, 'metadata')) && _keys;
            WITH gone AS (
            UPDATE satchel.memory t SET "type" = NULL, "title" = NULL, "content" = NULL, "metadata" = NULL, "scope" = NULL, "agent_id" = NULL, "user_id" = NULL, "session_id" = NULL, "space" = NULL, "local" = NULL, "importance" = NULL, "confidence" = NULL, "pinned" = NULL, "source" = NULL, "valid_from" = NULL, "valid_to" = NULL, "valid_to_was" = NULL, "recorded_at" = NULL, "retired_at" = NULL, "expires_at" = NULL, "supersedes" = NULL, "aliases" = NULL, "content_hash" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND ((strpos(t.metadata, '"promoted"') > 0 OR strpos(t.metadata, '"quoted"') > 0) AND satchel.marks_in(t.metadata) && _keys)
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'memory', found_keys, _by, _schema);
        END IF;
            WITH gone AS (
            UPDATE satchel.history t SET "kind" = NULL, "key" = NULL, "event" = NULL, "changes" = NULL, "actor" = NULL, "at" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = '',
                change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
                pushed_by = _by
            WHERE t.tenant = _tenant AND t.life < 9223372036854775807 AND (t.kind = 'memory' AND satchel.marks_told(t.kind, t.changes) && _keys)
            RETURNING t."id" AS key
        ) SELECT array_agg(key) INTO found_keys FROM gone;
        IF found_keys IS NOT NULL THEN
            PERFORM satchel.scrub_about(_tenant, 'history', found_keys, _by, _schema);
        END IF;
        END IF;
    END IF;
END
$$;

-- Keeps which memories the history of an edge names, whoever writes it.
CREATE OR REPLACE FUNCTION satchel.note_memories() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO satchel.history_memory
    SELECT a.tenant, m, a.id FROM added a, unnest(satchel.memories_in(a.kind, a.changes)) AS m
    WHERE a.kind IN ('embedding', 'relationship')
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
    SELECT CASE _kind WHEN 'space' THEN EXISTS (SELECT FROM satchel.space s WHERE s.tenant = _tenant AND s."name" = _key AND s.life = 9223372036854775807)
        WHEN 'agent' THEN EXISTS (SELECT FROM satchel.agent s WHERE s.tenant = _tenant AND s."agent_id" = _key AND s.life = 9223372036854775807)
        WHEN 'session' THEN EXISTS (SELECT FROM satchel.session s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'memory' THEN EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'relationship' THEN EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'task' THEN EXISTS (SELECT FROM satchel.task s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'message' THEN EXISTS (SELECT FROM satchel.message s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'chatlog' THEN EXISTS (SELECT FROM satchel.chatlog s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'history' THEN EXISTS (SELECT FROM satchel.history s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807)
        WHEN 'embedding' THEN EXISTS (SELECT FROM satchel.embedding s WHERE s.tenant = _tenant AND s."id" = _key AND s.life = 9223372036854775807) ELSE false END
$$;

-- A push's answer in which the rows about forgotten ones lost to what they were kept as.
CREATE OR REPLACE FUNCTION satchel.with_forgotten(answer jsonb, _keys text[]) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN _keys = '{}' THEN answer ELSE jsonb_set(
        answer, '{superseded}', (answer -> 'superseded') || coalesce((
            SELECT jsonb_agg(jsonb_build_array(k, '7fffffffffffffff7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff', '')) FROM unnest(_keys) AS k
            WHERE NOT EXISTS (SELECT FROM jsonb_array_elements(answer -> 'refused') AS r
                WHERE r ->> 0 = k)), '[]')) END
$$;

-- What is old goes, and what a restore needs. Never pruned: rows, tombstones, scrubbed stubs,
-- replicas, attempts (only their reports), tokens, receipts and relayed origins: by these a file
-- that was away for years is told from one that was restored, and the hub from one set back.

-- Whether the machine whose version lost has seen that since: it began and ended a sync after the
-- entry came, or a bundle of it named a cursor behind the row; its own journal has the entry then.
-- True where nobody is left to see it: an origin that is no machine's, or of revoked ones only.
CREATE OR REPLACE FUNCTION satchel.loser_has_seen(
    _tenant text, _kind text, _key text, _version text, _received_at bigint
) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    WITH machine AS (
        SELECT r.replica_id FROM satchel.replica r JOIN satchel.login l ON l.role_name = r.login
        WHERE l.tenant = _tenant AND r.revoked_at IS NULL
            AND decode(substr(_version, 33, 32), 'hex') = ANY (r.replica_id || r.predecessors)
    )
    SELECT NOT EXISTS (SELECT FROM machine)
        OR EXISTS (SELECT FROM machine m JOIN satchel.attempt a USING (replica_id)
            WHERE a.started_at > _received_at AND a.finished_at IS NOT NULL AND a.carrier IS NULL)
        OR EXISTS (SELECT FROM machine m JOIN satchel.bundle_peer p USING (replica_id)
            WHERE (p.cursors ->> _kind)::bigint >= CASE _kind WHEN 'space' THEN (SELECT change_seq FROM satchel.space WHERE tenant = _tenant AND "name" = _key) WHEN 'agent' THEN (SELECT change_seq FROM satchel.agent WHERE tenant = _tenant AND "agent_id" = _key) WHEN 'session' THEN (SELECT change_seq FROM satchel.session WHERE tenant = _tenant AND "id" = _key) WHEN 'memory' THEN (SELECT change_seq FROM satchel.memory WHERE tenant = _tenant AND "id" = _key) WHEN 'relationship' THEN (SELECT change_seq FROM satchel.relationship WHERE tenant = _tenant AND "id" = _key) WHEN 'task' THEN (SELECT change_seq FROM satchel.task WHERE tenant = _tenant AND "id" = _key) WHEN 'message' THEN (SELECT change_seq FROM satchel.message WHERE tenant = _tenant AND "id" = _key) WHEN 'chatlog' THEN (SELECT change_seq FROM satchel.chatlog WHERE tenant = _tenant AND "id" = _key) WHEN 'history' THEN (SELECT change_seq FROM satchel.history WHERE tenant = _tenant AND "id" = _key) WHEN 'embedding' THEN (SELECT change_seq FROM satchel.embedding WHERE tenant = _tenant AND "id" = _key) END)
$$;

-- When what is older goes. 1 day is the least: what came this very day is looked at by nobody yet.
CREATE OR REPLACE FUNCTION satchel.retained_since(_days integer) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(_days, 0) < 1 THEN
        RAISE EXCEPTION 'what is pruned was kept for at least a day' USING ERRCODE = '22023';
    END IF;
    RETURN satchel.now_ms() - _days * 86400000::bigint;
END
$$;

-- The conflict journal's retention: entries that came more than so many days ago. `expired` went
-- (or would go, with `_dry`), `waiting` are as old and stay until their machine has seen them.
CREATE OR REPLACE FUNCTION satchel.expire_journal(
    _days integer, _dry boolean DEFAULT false, OUT expired bigint, OUT waiting bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.retained_since(_days);
BEGIN
    IF _dry THEN
        SELECT count(*) FILTER (WHERE seen), count(*) FILTER (WHERE NOT seen) INTO expired, waiting
        FROM (SELECT satchel.loser_has_seen(tenant, kind, key, version, received_at) AS seen
            FROM satchel.conflict WHERE received_at < since OFFSET 0) AS old;
    ELSE
        DELETE FROM satchel.conflict c WHERE c.received_at < since
            AND satchel.loser_has_seen(c.tenant, c.kind, c.key, c.version, c.received_at);
        GET DIAGNOSTICS expired = ROW_COUNT;
        SELECT count(*) INTO waiting FROM satchel.conflict c WHERE c.received_at < since;
    END IF;
END
$$;

-- The reports' retention. The attempts stay, without what they reported; of each machine the
-- newest report stays too, as it says how the machine fares.
CREATE OR REPLACE FUNCTION satchel.expire_reports(_days integer, _dry boolean DEFAULT false)
RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    since bigint := satchel.retained_since(_days);
    expired bigint;
BEGIN
    WITH old AS (
        SELECT a.attempt, a.replica_id FROM satchel.attempt a
        WHERE a.report IS NOT NULL AND coalesce(a.finished_at, a.started_at) < since
            AND EXISTS (SELECT FROM satchel.attempt n WHERE n.replica_id = a.replica_id
                AND n.started_at > a.started_at AND n.report IS NOT NULL)
    ), emptied AS (
        UPDATE satchel.attempt a SET report = NULL FROM old o
        WHERE NOT _dry AND a.attempt = o.attempt AND a.replica_id = o.replica_id
    )
    SELECT count(*) INTO expired FROM old;
    RETURN expired;
END
$$;

-- How many audit records satchel.expire_audit would remove.
CREATE OR REPLACE FUNCTION satchel.expirable_audit(_days integer) RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT coalesce(sum(CASE WHEN youngest IS NULL THEN held ELSE youngest - oldest END), 0)::bigint
    FROM (SELECT count(*) AS held, min(seq) AS oldest,
            min(seq) FILTER (WHERE received_at >= satchel.retained_since(_days)) AS youngest
        FROM satchel.audit GROUP BY tenant, replica_id, chain) AS c
$$;

-- After a restore: each tenant is in a time of its own, so that every machine compares all rows
-- with the hub before anything else. Those that come by bundle are asked for it by the next one.
-- A sequence that a restore left behind its rows would hide new ones from all cursors.
CREATE OR REPLACE FUNCTION satchel.mark_restored() RETURNS TABLE (name text, epoch text)
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    one record;
    reached bigint;
BEGIN
    FOR one IN SELECT t.name FROM satchel.tenant t ORDER BY t.number LOOP
        PERFORM satchel.lock_tenant(one.name);
        SELECT max(b.value::bigint) INTO reached
        FROM jsonb_each_text(satchel.bound(one.name)) AS b;
        IF reached > coalesce(pg_sequence_last_value(satchel.change_sequence(one.name)), 0) THEN
            PERFORM setval(satchel.change_sequence(one.name), reached);
        END IF;
    END LOOP;
    UPDATE satchel.replica r SET must_reconcile = true
    WHERE r.replica_id IN (SELECT p.replica_id FROM satchel.bundle_peer p)
        -- Of an earlier id it would stay, and each new id of that file would inherit it.
        AND NOT EXISTS (SELECT FROM satchel.replica s WHERE s.predecessors @> ARRAY[r.replica_id]);
    RETURN QUERY UPDATE satchel.tenant t SET epoch = satchel.random_hex(8)
    RETURNING t.name, t.epoch;
END
$$;


DROP SCHEMA IF EXISTS satchel_api CASCADE;
CREATE SCHEMA satchel_api;

-- The doors that are no kind's own: SECURITY DEFINER, EXECUTE for replica logins only.

-- Judges the file's past and opens an attempt, unless the file has to take a new id first. "Of the
-- file" is what the hub knows under its id and its predecessors', within the tenant of the login.
CREATE FUNCTION satchel_api.hello(_hello jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    _tenant text := satchel.login_tenant();
    known_epoch text := (SELECT epoch FROM satchel.tenant WHERE name = _tenant);
    known_hub bytea := (SELECT id FROM satchel.tenant WHERE name = _tenant);
    _replica bytea;
    _attempt text := _hello ->> 'attempt';
    _last_attempt text := coalesce(_hello ->> 'last_attempt', '');
    _token text := coalesce(_hello ->> 'token', '');
    _epoch text := coalesce(_hello ->> 'epoch', '');
    _schema integer;
    _predecessors bytea[];
    file bytea[];
    facts record;
    is_new boolean;
    _standing text;
    now bigint := satchel.now_ms();
    answer jsonb;
BEGIN
    SELECT * INTO h FROM satchel.hub;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not initialised' USING ERRCODE = '3F000';
    END IF;
    answer := jsonb_build_object(
        'hub_id', encode(known_hub, 'hex'), 'protocol', h.protocol, 'schema', h.schema,
        'columns', '{"space": {"description": "t", "members": "t", "grants": "t", "created_at": "i"}, "agent": {"description": "t", "capabilities": "t", "trust": "r", "registered_at": "i", "status": "t", "last_seen": "i"}, "session": {"title": "t", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "agent_ids": "t", "opened_at": "i", "closed_at": "i", "summary_memory_id": "t"}, "memory": {"type": "t", "title": "t", "content": "t", "metadata": "t", "scope": "t", "agent_id": "t", "user_id": "t", "session_id": "t", "space": "t", "local": "i", "importance": "r", "confidence": "r", "pinned": "i", "source": "t", "valid_from": "i", "valid_to": "i", "valid_to_was": "i", "recorded_at": "i", "retired_at": "i", "expires_at": "i", "supersedes": "t", "aliases": "t", "content_hash": "t"}, "relationship": {"from_id": "t", "to_id": "t", "type": "t", "weight": "r", "metadata": "t", "agent_id": "t"}, "task": {"title": "t", "description": "t", "status": "t", "priority": "i", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "owner_agent": "t", "created_by": "t", "parent_id": "t", "depends_on": "t", "session_id": "t", "due_at": "i", "claimed_by": "t", "lease_until": "i", "result": "t", "result_memory_id": "t", "metadata": "t", "created_at": "i", "completed_at": "i"}, "message": {"to_agent": "t", "from_agent": "t", "kind": "t", "title": "t", "content": "t", "conversation_id": "t", "task_id": "t", "context_ids": "t", "thread_id": "t", "priority": "i", "created_at": "i", "expires_at": "i", "acked_at": "i", "dedup_key": "t"}, "chatlog": {"conversation_id": "t", "ordinal": "i", "role": "t", "content": "t", "scope": "t", "space": "t", "agent_id": "t", "user_id": "t", "host_agent": "t", "provider": "t", "model": "t", "tokens_in": "i", "tokens_out": "i", "cost": "r", "metadata": "t", "redactions": "i", "said_at": "i"}, "history": {"kind": "t", "key": "t", "event": "t", "changes": "t", "actor": "t", "at": "i"}, "embedding": {"memory_id": "t", "model": "t", "chunk": "i", "content_hash": "t", "dims": "i", "dtype": "t", "vector": "b"}}'::jsonb, 'seqs', '{}'::jsonb, 'now_ms', now, 'epoch', known_epoch,
        'standing', 'known', 'access', 'ok');
    IF NOT (CASE jsonb_typeof(_hello -> 'protocol') WHEN 'number'
        THEN (_hello ->> 'protocol')::numeric BETWEEN 2 AND h.protocol ELSE false END)
    THEN
        RETURN answer || '{"access": "upgrade_required"}';
    END IF;
    PERFORM satchel.check_hello(_hello);
    IF coalesce(_attempt, '') = '' THEN
        RAISE EXCEPTION 'the id of an attempt has 1 to 200 bytes' USING ERRCODE = 'SA001';
    END IF;
    _replica := decode(_hello ->> 'replica_id', 'hex');
    _predecessors := satchel.named_predecessors(_hello);
    _schema := _hello ->> 'schema';
    PERFORM satchel.check_hub(_hello, known_hub);

    -- One hello of an id at a time: a copy of the file that asks meanwhile waits for this answer.
    INSERT INTO satchel.login VALUES (session_user::text, _tenant, now) ON CONFLICT DO NOTHING;
    INSERT INTO satchel.replica (tenant, replica_id, login, host, version, first_seen, last_seen)
    VALUES (_tenant, _replica, session_user::text, '', '', now, now) ON CONFLICT DO NOTHING;
    is_new := FOUND;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    -- Known by a bundle that somebody carried here: the first hello binds it.
    IF NOT r.bound AND r.tenant = _tenant THEN
        UPDATE satchel.replica SET login = session_user::text, bound = true
        WHERE replica_id = _replica RETURNING * INTO r;
    END IF;
    file := ARRAY(SELECT replica_id FROM satchel.replica
        WHERE tenant = _tenant AND replica_id = ANY (_replica || _predecessors));
    -- Of another tenant's machine there is no row to be seen.
    IF r.login IS DISTINCT FROM session_user::text OR r.revoked_at IS NOT NULL
        OR (is_new AND satchel.comes_of_revoked(_tenant, _predecessors))
    THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;

    SELECT EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _attempt AND replica_id = _replica) AS attempt_known,
        EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _last_attempt AND replica_id = ANY (file)) AS link_known,
        (SELECT number FROM satchel.token
            WHERE token = _token AND replica_id = ANY (file)) AS token_number,
        (SELECT coalesce(jsonb_object_agg(kind, seq), '{}') FROM (
            SELECT d.key AS kind, max(d.value::bigint) AS seq
            FROM satchel.replica f, jsonb_each_text(f.delivered) d
            WHERE f.replica_id = ANY (file) GROUP BY d.key) AS most) AS delivered,
        r.must_reconcile OR (is_new AND EXISTS (SELECT FROM satchel.replica
            WHERE replica_id = ANY (file) AND must_reconcile)) AS must_reconcile
    INTO facts;
    _standing := satchel.judge(
        _attempt, _last_attempt, _token, _epoch, satchel.known_seqs(_hello -> 'cursors'),
        known_epoch, r.last_attempt, facts.attempt_known, facts.link_known,
        facts.token_number IS NOT NULL,
        coalesce(r.token_number > facts.token_number, false),
        facts.delivered, facts.must_reconcile);
    answer := answer || jsonb_build_object('standing', _standing, 'seqs', satchel.bound(_tenant));
    IF _standing = 'restored' THEN
        RETURN answer;
    END IF;

    UPDATE satchel.replica SET
        host = coalesce(left(_hello ->> 'host', 255), ''),
        version = coalesce(left(_hello ->> 'version', 255), ''),
        last_seen = now, predecessors = _predecessors, last_attempt = _attempt,
        token_number = greatest(token_number, facts.token_number),
        must_reconcile = facts.must_reconcile
    WHERE replica_id = _replica;
    INSERT INTO satchel.attempt AS a
        (tenant, attempt, replica_id, started_at, standing, epoch, relaying, read_only, columns)
    VALUES (_tenant, _attempt, _replica, now, _standing, _epoch,
        coalesce(_hello ->> 'reconcile', '') <> '' OR _standing <> 'known',
        coalesce(_schema, 0) < 1, '1a822900')
    ON CONFLICT (attempt, replica_id, tenant) DO UPDATE SET standing = excluded.standing,
        epoch = excluded.epoch, relaying = a.relaying OR excluded.relaying,
        read_only = excluded.read_only, columns = excluded.columns;
    PERFORM satchel.caller(_attempt);
    RETURN answer || jsonb_build_object(
        'access', CASE WHEN coalesce(_schema, 0) < 1 THEN 'read_only' ELSE 'ok' END,
        'audit', satchel.audit_standing(_tenant, _replica));
END
$$;

-- Two replicas that find one rewind open one epoch: the second finds that it is in an older one.
-- It is the tenant's own, so what a login makes up costs nobody else a reconcile.
-- An attempt that ended before its reconcile counts, as its successor may no longer see the rewind.
CREATE FUNCTION satchel_api.reconcile(_attempt text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    _epoch text;
    answer jsonb;
BEGIN
    SELECT epoch INTO _epoch FROM satchel.tenant WHERE name = me.tenant FOR NO KEY UPDATE;
    SELECT reconciling INTO answer FROM satchel.attempt
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    IF answer IS NOT NULL THEN
        RETURN answer;
    END IF;
    IF EXISTS (SELECT FROM satchel.attempt WHERE replica_id = me.replica_id
        AND standing = 'rewound' AND epoch = _epoch)
    THEN
        UPDATE satchel.tenant SET epoch = satchel.random_hex(8)
        WHERE name = me.tenant RETURNING epoch INTO _epoch;
    END IF;
    answer := jsonb_build_object('epoch', _epoch, 'seqs', satchel.bound(me.tenant));
    UPDATE satchel.attempt SET relaying = true, reconciling = answer
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    RETURN answer;
END
$$;

-- The file forgets its token in the same breath, so none that it named before counts any more.
CREATE FUNCTION satchel_api.reconciled(_attempt text, _seqs jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
BEGIN
    IF satchel.seqs_fault(_seqs) IS NOT NULL THEN
        RAISE EXCEPTION '%', satchel.seqs_fault(_seqs) USING ERRCODE = 'SA001';
    END IF;
    PERFORM satchel.deliver(me.tenant, me.replica_id, _seqs);
    UPDATE satchel.replica SET must_reconcile = false, token_number = 0
    WHERE replica_id = me.replica_id;
END
$$;

-- The hub's clock, for whoever may enter at all.
CREATE FUNCTION satchel_api.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT satchel.now_ms()
$$;

CREATE FUNCTION satchel_api.bound(_attempt text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN satchel.bound(me.tenant);
END
$$;

-- Of `_kinds` only, without the rows whose kind and key stand side by side in the two other arrays.
-- Each kind in one snapshot of its own.
CREATE FUNCTION satchel_api.digests(
    _attempt text, _kinds text[], _held_kinds text[], _held_keys text[]
)
RETURNS TABLE (kind text, bucket integer, rows bigint, total numeric, seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT 'space', b.* FROM satchel.buckets_space(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'space')) b WHERE 'space' = ANY (_kinds) UNION ALL SELECT 'agent', b.* FROM satchel.buckets_agent(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'agent')) b WHERE 'agent' = ANY (_kinds) UNION ALL SELECT 'session', b.* FROM satchel.buckets_session(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'session')) b WHERE 'session' = ANY (_kinds) UNION ALL SELECT 'memory', b.* FROM satchel.buckets_memory(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'memory')) b WHERE 'memory' = ANY (_kinds) UNION ALL SELECT 'relationship', b.* FROM satchel.buckets_relationship(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'relationship')) b WHERE 'relationship' = ANY (_kinds) UNION ALL SELECT 'task', b.* FROM satchel.buckets_task(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'task')) b WHERE 'task' = ANY (_kinds) UNION ALL SELECT 'message', b.* FROM satchel.buckets_message(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'message')) b WHERE 'message' = ANY (_kinds) UNION ALL SELECT 'chatlog', b.* FROM satchel.buckets_chatlog(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'chatlog')) b WHERE 'chatlog' = ANY (_kinds) UNION ALL SELECT 'history', b.* FROM satchel.buckets_history(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'history')) b WHERE 'history' = ANY (_kinds) UNION ALL SELECT 'embedding', b.* FROM satchel.buckets_embedding(me.tenant, ARRAY(SELECT k FROM unnest(_held_kinds, _held_keys) AS h (kind, k) WHERE h.kind = 'embedding')) b WHERE 'embedding' = ANY (_kinds);
END
$$;

CREATE FUNCTION satchel_api.journal(_attempt text, _losers jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
BEGIN
    PERFORM satchel.check_journal(_losers);
    -- Under the lock, so that nothing is forgotten between the look and the entry.
    PERFORM satchel.lock_tenant(me.tenant);
    INSERT INTO satchel.conflict
    SELECT me.tenant, kind, key, version, lineage, content, winner, path, at, me.replica_id
    FROM jsonb_to_recordset(_losers) AS l (kind text, key text, version text, lineage text,
        content text, winner text, path text, at bigint, about jsonb)
    WHERE NOT satchel.is_forgotten(me.tenant, kind, key) AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(about) AS a
        WHERE satchel.is_forgotten(me.tenant, a ->> 0, a ->> 1))
    ON CONFLICT DO NOTHING;
END
$$;

-- Not `writer`: what a machine did is told also by a program that may only read.
CREATE FUNCTION satchel_api.audit(_attempt text, _parts jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN satchel.take_audits(me.tenant, me.replica_id, _attempt, _parts);
END
$$;

-- The last audit records come with it, and so cost no round trip of their own.
CREATE FUNCTION satchel_api.bye(_attempt text, _report text, _parts jsonb DEFAULT '[]')
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    answer jsonb;
BEGIN
    IF _parts <> '[]' THEN
        answer := satchel.take_audits(me.tenant, me.replica_id, _attempt, _parts);
    END IF;
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = satchel.kept_report(_report)
    WHERE attempt = _attempt AND replica_id = me.replica_id;
    RETURN answer;
END
$$;

-- space: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_space(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_space;
    CREATE TEMPORARY TABLE incoming_space (
        "name" text COLLATE "C" NOT NULL, "description" text COLLATE "C", "members" text COLLATE "C", "grants" text COLLATE "C", "created_at" bigint, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_space TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_space(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_space');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_space WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "name" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("description", "members", "grants", "created_at", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("name"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("members"), 0) + coalesce(octet_length("grants"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "name" = '' THEN 'the key is empty' WHEN octet_length("name") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_space OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.space h
            WHERE h.tenant = me.tenant AND h."name" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'space', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('description', i."description", 'members', i."members", 'grants', i."grants", 'created_at', i."created_at", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_space i ON i.ctid = j.place
        JOIN satchel.space t ON t.tenant = me.tenant AND t."name" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."description", i."members", i."grants", i."created_at", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'space', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('description', t."description", 'members', t."members", 'grants', t."grants", 'created_at', t."created_at", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_space i ON i.ctid = j.place
        JOIN satchel.space t ON t.tenant = me.tenant AND t."name" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."description", t."members", t."grants", t."created_at", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.space (tenant, "name", "description", "members", "grants", "created_at", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."name", i."description", i."members", i."grants", i."created_at", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_space i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.space t SET "description" = i."description", "members" = i."members", "grants" = i."grants", "created_at" = i."created_at", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_space i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."name" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'space', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_space i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'space', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of space were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_space;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_space(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.space
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("name"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("members"), 0) + coalesce(octet_length("grants"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.space t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.space
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('space', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('space', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.space
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_space(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."name", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.space t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000057370616365'::bytea || satchel.framed(convert_to(t."name", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_space(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.space
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.space;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."name" AS key, row_number() OVER (ORDER BY t."name") AS place,
            sum((200 + coalesce(octet_length("name"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("members"), 0) + coalesce(octet_length("grants"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."name") - (200 + coalesce(octet_length("name"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("members"), 0) + coalesce(octet_length("grants"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.space t WHERE t.tenant = me.tenant AND t."name" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.space t
    WHERE t.tenant = me.tenant AND t."name" = ANY (_keys) AND t."name" <= last_key
    ORDER BY t."name";
    FOR left_out."name" IN SELECT t."name" FROM satchel.space t
        WHERE t.tenant = me.tenant AND t."name" = ANY (_keys) AND t."name" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_space
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_space(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'space';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."name" AS key, satchel.is_damaged_space(t) AS damaged
            FROM satchel.space t WHERE t.tenant = me.tenant AND t."name" > _after
            ORDER BY t."name" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_space(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.space;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_space');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_space LOOP
        SELECT * INTO held FROM satchel.space t WHERE t.tenant = me.tenant AND t."name" = i."name"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_space(held);
        held."description" := i."description"; held."members" := i."members"; held."grants" := i."grants"; held."created_at" := i."created_at";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_space(held);
        UPDATE satchel.space t SET "description" = i."description", "members" = i."members", "grants" = i."grants", "created_at" = i."created_at", extra = i.extra
        WHERE t.tenant = me.tenant AND t."name" = i."name";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_space;
    RETURN healed;
END
$$;

-- agent: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_agent(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_agent;
    CREATE TEMPORARY TABLE incoming_agent (
        "agent_id" text COLLATE "C" NOT NULL, "description" text COLLATE "C", "capabilities" text COLLATE "C", "trust" double precision, "registered_at" bigint, "status" text COLLATE "C", "last_seen" bigint, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_agent TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_agent(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_agent');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_agent WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "agent_id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("description", "capabilities", "trust", "registered_at", "status", "last_seen", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("capabilities"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "agent_id" = '' THEN 'the key is empty' WHEN octet_length("agent_id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce("trust" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_agent OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.agent h
            WHERE h.tenant = me.tenant AND h."agent_id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'agent', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('description', i."description", 'capabilities', i."capabilities", 'trust', i."trust", 'registered_at', i."registered_at", 'status', i."status", 'last_seen', i."last_seen", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_agent i ON i.ctid = j.place
        JOIN satchel.agent t ON t.tenant = me.tenant AND t."agent_id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."description", i."capabilities", i."trust", i."registered_at", i."status", i."last_seen", i."extra") > 0 AND (i."description", i."capabilities", i."trust", i."registered_at", i."status", i."extra") IS DISTINCT FROM (t."description", t."capabilities", t."trust", t."registered_at", t."status", t."extra")
        UNION ALL
        SELECT me.tenant, 'agent', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('description', t."description", 'capabilities', t."capabilities", 'trust', t."trust", 'registered_at', t."registered_at", 'status', t."status", 'last_seen', t."last_seen", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_agent i ON i.ctid = j.place
        JOIN satchel.agent t ON t.tenant = me.tenant AND t."agent_id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."description", t."capabilities", t."trust", t."registered_at", t."status", t."last_seen", t."extra") > 0 AND (t."description", t."capabilities", t."trust", t."registered_at", t."status", t."extra") IS DISTINCT FROM (i."description", i."capabilities", i."trust", i."registered_at", i."status", i."extra")
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.agent (tenant, "agent_id", "description", "capabilities", "trust", "registered_at", "status", "last_seen", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."agent_id", i."description", i."capabilities", i."trust", i."registered_at", i."status", i."last_seen", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_agent i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.agent t SET "description" = i."description", "capabilities" = i."capabilities", "trust" = i."trust", "registered_at" = i."registered_at", "status" = i."status", "last_seen" = i."last_seen", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_agent i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."agent_id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'agent', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_agent i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'agent', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of agent were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_agent;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_agent(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.agent
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("capabilities"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.agent t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.agent
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('agent', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('agent', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.agent
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_agent(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."agent_id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.agent t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000056167656e74'::bytea || satchel.framed(convert_to(t."agent_id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_agent(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.agent
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.agent;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."agent_id" AS key, row_number() OVER (ORDER BY t."agent_id") AS place,
            sum((200 + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("capabilities"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."agent_id") - (200 + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("capabilities"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.agent t WHERE t.tenant = me.tenant AND t."agent_id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.agent t
    WHERE t.tenant = me.tenant AND t."agent_id" = ANY (_keys) AND t."agent_id" <= last_key
    ORDER BY t."agent_id";
    FOR left_out."agent_id" IN SELECT t."agent_id" FROM satchel.agent t
        WHERE t.tenant = me.tenant AND t."agent_id" = ANY (_keys) AND t."agent_id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_agent
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_agent(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'agent';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."agent_id" AS key, satchel.is_damaged_agent(t) AS damaged
            FROM satchel.agent t WHERE t.tenant = me.tenant AND t."agent_id" > _after
            ORDER BY t."agent_id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_agent(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.agent;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_agent');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_agent LOOP
        SELECT * INTO held FROM satchel.agent t WHERE t.tenant = me.tenant AND t."agent_id" = i."agent_id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_agent(held);
        held."description" := i."description"; held."capabilities" := i."capabilities"; held."trust" := i."trust"; held."registered_at" := i."registered_at"; held."status" := i."status"; held."last_seen" := i."last_seen";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_agent(held);
        UPDATE satchel.agent t SET "description" = i."description", "capabilities" = i."capabilities", "trust" = i."trust", "registered_at" = i."registered_at", "status" = i."status", "last_seen" = i."last_seen", extra = i.extra
        WHERE t.tenant = me.tenant AND t."agent_id" = i."agent_id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_agent;
    RETURN healed;
END
$$;

-- session: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_session(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_session;
    CREATE TEMPORARY TABLE incoming_session (
        "id" text COLLATE "C" NOT NULL, "title" text COLLATE "C", "scope" text COLLATE "C", "space" text COLLATE "C", "user_id" text COLLATE "C", "agent_id" text COLLATE "C", "agent_ids" text COLLATE "C", "opened_at" bigint, "closed_at" bigint, "summary_memory_id" text COLLATE "C", extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_session TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_session(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_session');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_session WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("title", "scope", "space", "user_id", "agent_id", "agent_ids", "opened_at", "closed_at", "summary_memory_id", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("agent_ids"), 0) + coalesce(octet_length("summary_memory_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_session OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.session h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'session', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('title', i."title", 'scope', i."scope", 'space', i."space", 'user_id', i."user_id", 'agent_id', i."agent_id", 'agent_ids', i."agent_ids", 'opened_at', i."opened_at", 'closed_at', i."closed_at", 'summary_memory_id', i."summary_memory_id", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_session i ON i.ctid = j.place
        JOIN satchel.session t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."title", i."scope", i."space", i."user_id", i."agent_id", i."agent_ids", i."opened_at", i."closed_at", i."summary_memory_id", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'session', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('title', t."title", 'scope', t."scope", 'space', t."space", 'user_id', t."user_id", 'agent_id', t."agent_id", 'agent_ids', t."agent_ids", 'opened_at', t."opened_at", 'closed_at', t."closed_at", 'summary_memory_id', t."summary_memory_id", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_session i ON i.ctid = j.place
        JOIN satchel.session t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."title", t."scope", t."space", t."user_id", t."agent_id", t."agent_ids", t."opened_at", t."closed_at", t."summary_memory_id", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.session (tenant, "id", "title", "scope", "space", "user_id", "agent_id", "agent_ids", "opened_at", "closed_at", "summary_memory_id", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."title", i."scope", i."space", i."user_id", i."agent_id", i."agent_ids", i."opened_at", i."closed_at", i."summary_memory_id", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_session i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.session t SET "title" = i."title", "scope" = i."scope", "space" = i."space", "user_id" = i."user_id", "agent_id" = i."agent_id", "agent_ids" = i."agent_ids", "opened_at" = i."opened_at", "closed_at" = i."closed_at", "summary_memory_id" = i."summary_memory_id", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_session i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'session', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_session i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'session', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of session were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_session;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_session(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.session
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("agent_ids"), 0) + coalesce(octet_length("summary_memory_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.session t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.session
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('session', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('session', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.session
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_session(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.session t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x0000000773657373696f6e'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_session(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.session
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.session;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("agent_ids"), 0) + coalesce(octet_length("summary_memory_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("agent_ids"), 0) + coalesce(octet_length("summary_memory_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.session t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.session t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.session t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_session
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_session(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'session';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_session(t) AS damaged
            FROM satchel.session t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_session(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.session;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_session');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_session LOOP
        SELECT * INTO held FROM satchel.session t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_session(held);
        held."title" := i."title"; held."scope" := i."scope"; held."space" := i."space"; held."user_id" := i."user_id"; held."agent_id" := i."agent_id"; held."agent_ids" := i."agent_ids"; held."opened_at" := i."opened_at"; held."closed_at" := i."closed_at"; held."summary_memory_id" := i."summary_memory_id";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_session(held);
        UPDATE satchel.session t SET "title" = i."title", "scope" = i."scope", "space" = i."space", "user_id" = i."user_id", "agent_id" = i."agent_id", "agent_ids" = i."agent_ids", "opened_at" = i."opened_at", "closed_at" = i."closed_at", "summary_memory_id" = i."summary_memory_id", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_session;
    RETURN healed;
END
$$;

-- memory: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_memory(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_memory;
    CREATE TEMPORARY TABLE incoming_memory (
        "id" text COLLATE "C" NOT NULL, "type" text COLLATE "C", "title" text COLLATE "C", "content" text COLLATE "C", "metadata" text COLLATE "C", "scope" text COLLATE "C", "agent_id" text COLLATE "C", "user_id" text COLLATE "C", "session_id" text COLLATE "C", "space" text COLLATE "C", "local" bigint, "importance" double precision, "confidence" double precision, "pinned" bigint, "source" text COLLATE "C", "valid_from" bigint, "valid_to" bigint, "valid_to_was" bigint, "recorded_at" bigint, "retired_at" bigint, "expires_at" bigint, "supersedes" text COLLATE "C", "aliases" text COLLATE "C", "content_hash" text COLLATE "C", extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_memory TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_memory(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_memory');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_memory WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    WITH turned AS (
        UPDATE pg_temp.incoming_memory i SET "type" = NULL, "title" = NULL, "content" = NULL, "metadata" = NULL, "scope" = NULL, "agent_id" = NULL, "user_id" = NULL, "session_id" = NULL, "space" = NULL, "local" = NULL, "importance" = NULL, "confidence" = NULL, "pinned" = NULL, "source" = NULL, "valid_from" = NULL, "valid_to" = NULL, "valid_to_was" = NULL, "recorded_at" = NULL, "retired_at" = NULL, "expires_at" = NULL, "supersedes" = NULL, "aliases" = NULL, "content_hash" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = ''
        WHERE i.life < 9223372036854775807 AND ((strpos(i.metadata, '"promoted"') > 0 OR strpos(i.metadata, '"quoted"') > 0) AND EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = me.tenant AND s.id = ANY (satchel.marks_in(i.metadata)) AND s.life = 9223372036854775807))
        RETURNING i."id" AS key
    )
    SELECT coalesce(array_agg(DISTINCT key), '{}') INTO forgotten FROM turned;
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("type", "title", "content", "metadata", "scope", "agent_id", "user_id", "session_id", "space", "local", "importance", "confidence", "pinned", "source", "valid_from", "valid_to", "valid_to_was", "recorded_at", "retired_at", "expires_at", "supersedes", "aliases", "content_hash", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("source"), 0) + coalesce(octet_length("supersedes"), 0) + coalesce(octet_length("aliases"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN coalesce(local, 0) <> 0 THEN 'the row is local' WHEN coalesce("importance" IN ('NaN', 'Infinity', '-Infinity'), false) OR coalesce("confidence" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_memory OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.memory h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'memory', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('type', i."type", 'title', i."title", 'content', i."content", 'metadata', i."metadata", 'scope', i."scope", 'agent_id', i."agent_id", 'user_id', i."user_id", 'session_id', i."session_id", 'space', i."space", 'local', i."local", 'importance', i."importance", 'confidence', i."confidence", 'pinned', i."pinned", 'source', i."source", 'valid_from', i."valid_from", 'valid_to', i."valid_to", 'valid_to_was', i."valid_to_was", 'recorded_at', i."recorded_at", 'retired_at', i."retired_at", 'expires_at', i."expires_at", 'supersedes', i."supersedes", 'aliases', i."aliases", 'content_hash', i."content_hash", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_memory i ON i.ctid = j.place
        JOIN satchel.memory t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."type", i."title", i."content", i."metadata", i."scope", i."agent_id", i."user_id", i."session_id", i."space", i."local", i."importance", i."confidence", i."pinned", i."source", i."valid_from", i."valid_to", i."valid_to_was", i."recorded_at", i."retired_at", i."expires_at", i."supersedes", i."aliases", i."content_hash", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'memory', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('type', t."type", 'title', t."title", 'content', t."content", 'metadata', t."metadata", 'scope', t."scope", 'agent_id', t."agent_id", 'user_id', t."user_id", 'session_id', t."session_id", 'space', t."space", 'local', t."local", 'importance', t."importance", 'confidence', t."confidence", 'pinned', t."pinned", 'source', t."source", 'valid_from', t."valid_from", 'valid_to', t."valid_to", 'valid_to_was', t."valid_to_was", 'recorded_at', t."recorded_at", 'retired_at', t."retired_at", 'expires_at', t."expires_at", 'supersedes', t."supersedes", 'aliases', t."aliases", 'content_hash', t."content_hash", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_memory i ON i.ctid = j.place
        JOIN satchel.memory t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."type", t."title", t."content", t."metadata", t."scope", t."agent_id", t."user_id", t."session_id", t."space", t."local", t."importance", t."confidence", t."pinned", t."source", t."valid_from", t."valid_to", t."valid_to_was", t."recorded_at", t."retired_at", t."expires_at", t."supersedes", t."aliases", t."content_hash", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.memory (tenant, "id", "type", "title", "content", "metadata", "scope", "agent_id", "user_id", "session_id", "space", "local", "importance", "confidence", "pinned", "source", "valid_from", "valid_to", "valid_to_was", "recorded_at", "retired_at", "expires_at", "supersedes", "aliases", "content_hash", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."type", i."title", i."content", i."metadata", i."scope", i."agent_id", i."user_id", i."session_id", i."space", i."local", i."importance", i."confidence", i."pinned", i."source", i."valid_from", i."valid_to", i."valid_to_was", i."recorded_at", i."retired_at", i."expires_at", i."supersedes", i."aliases", i."content_hash", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_memory i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.memory t SET "type" = i."type", "title" = i."title", "content" = i."content", "metadata" = i."metadata", "scope" = i."scope", "agent_id" = i."agent_id", "user_id" = i."user_id", "session_id" = i."session_id", "space" = i."space", "local" = i."local", "importance" = i."importance", "confidence" = i."confidence", "pinned" = i."pinned", "source" = i."source", "valid_from" = i."valid_from", "valid_to" = i."valid_to", "valid_to_was" = i."valid_to_was", "recorded_at" = i."recorded_at", "retired_at" = i."retired_at", "expires_at" = i."expires_at", "supersedes" = i."supersedes", "aliases" = i."aliases", "content_hash" = i."content_hash", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_memory i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'memory', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_memory i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'memory', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of memory were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_memory;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_memory(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.memory
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("source"), 0) + coalesce(octet_length("supersedes"), 0) + coalesce(octet_length("aliases"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.memory t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.memory
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('memory', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('memory', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.memory
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_memory(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.memory t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000066d656d6f7279'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_memory(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.memory
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.memory;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("source"), 0) + coalesce(octet_length("supersedes"), 0) + coalesce(octet_length("aliases"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("source"), 0) + coalesce(octet_length("supersedes"), 0) + coalesce(octet_length("aliases"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.memory t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.memory t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.memory t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_memory
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_memory(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'memory';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_memory(t) AS damaged
            FROM satchel.memory t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_memory(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.memory;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_memory');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_memory LOOP
        SELECT * INTO held FROM satchel.memory t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_memory(held);
        held."type" := i."type"; held."title" := i."title"; held."content" := i."content"; held."metadata" := i."metadata"; held."scope" := i."scope"; held."agent_id" := i."agent_id"; held."user_id" := i."user_id"; held."session_id" := i."session_id"; held."space" := i."space"; held."local" := i."local"; held."importance" := i."importance"; held."confidence" := i."confidence"; held."pinned" := i."pinned"; held."source" := i."source"; held."valid_from" := i."valid_from"; held."valid_to" := i."valid_to"; held."valid_to_was" := i."valid_to_was"; held."recorded_at" := i."recorded_at"; held."retired_at" := i."retired_at"; held."expires_at" := i."expires_at"; held."supersedes" := i."supersedes"; held."aliases" := i."aliases"; held."content_hash" := i."content_hash";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_memory(held);
        UPDATE satchel.memory t SET "type" = i."type", "title" = i."title", "content" = i."content", "metadata" = i."metadata", "scope" = i."scope", "agent_id" = i."agent_id", "user_id" = i."user_id", "session_id" = i."session_id", "space" = i."space", "local" = i."local", "importance" = i."importance", "confidence" = i."confidence", "pinned" = i."pinned", "source" = i."source", "valid_from" = i."valid_from", "valid_to" = i."valid_to", "valid_to_was" = i."valid_to_was", "recorded_at" = i."recorded_at", "retired_at" = i."retired_at", "expires_at" = i."expires_at", "supersedes" = i."supersedes", "aliases" = i."aliases", "content_hash" = i."content_hash", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_memory;
    RETURN healed;
END
$$;

-- relationship: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_relationship(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_relationship;
    CREATE TEMPORARY TABLE incoming_relationship (
        "id" text COLLATE "C" NOT NULL, "from_id" text COLLATE "C", "to_id" text COLLATE "C", "type" text COLLATE "C", "weight" double precision, "metadata" text COLLATE "C", "agent_id" text COLLATE "C", extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_relationship TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_relationship(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_relationship');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_relationship WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    WITH turned AS (
        UPDATE pg_temp.incoming_relationship i SET "from_id" = NULL, "to_id" = NULL, "type" = NULL, "weight" = NULL, "metadata" = NULL, "agent_id" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = ''
        WHERE i.life < 9223372036854775807 AND (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = i."from_id" AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = i."to_id" AND s.life = 9223372036854775807))
        RETURNING i."id" AS key
    )
    SELECT coalesce(array_agg(DISTINCT key), '{}') INTO forgotten FROM turned;
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("from_id", "to_id", "type", "weight", "metadata", "agent_id", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("from_id"), 0) + coalesce(octet_length("to_id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce("weight" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_relationship OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.relationship h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'relationship', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('from_id', i."from_id", 'to_id', i."to_id", 'type', i."type", 'weight', i."weight", 'metadata', i."metadata", 'agent_id', i."agent_id", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_relationship i ON i.ctid = j.place
        JOIN satchel.relationship t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."from_id", i."to_id", i."type", i."weight", i."metadata", i."agent_id", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'relationship', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('from_id', t."from_id", 'to_id', t."to_id", 'type', t."type", 'weight', t."weight", 'metadata', t."metadata", 'agent_id', t."agent_id", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_relationship i ON i.ctid = j.place
        JOIN satchel.relationship t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."from_id", t."to_id", t."type", t."weight", t."metadata", t."agent_id", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.relationship (tenant, "id", "from_id", "to_id", "type", "weight", "metadata", "agent_id", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."from_id", i."to_id", i."type", i."weight", i."metadata", i."agent_id", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_relationship i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.relationship t SET "from_id" = i."from_id", "to_id" = i."to_id", "type" = i."type", "weight" = i."weight", "metadata" = i."metadata", "agent_id" = i."agent_id", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_relationship i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'relationship', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_relationship i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'relationship', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of relationship were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_relationship;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_relationship(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.relationship
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("from_id"), 0) + coalesce(octet_length("to_id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.relationship t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.relationship
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('relationship', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('relationship', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.relationship
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_relationship(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.relationship t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x0000000c72656c6174696f6e73686970'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_relationship(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.relationship
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.relationship;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("from_id"), 0) + coalesce(octet_length("to_id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("from_id"), 0) + coalesce(octet_length("to_id"), 0) + coalesce(octet_length("type"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.relationship t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.relationship t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.relationship t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_relationship
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_relationship(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'relationship';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_relationship(t) AS damaged
            FROM satchel.relationship t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_relationship(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.relationship;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_relationship');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_relationship LOOP
        SELECT * INTO held FROM satchel.relationship t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_relationship(held);
        held."from_id" := i."from_id"; held."to_id" := i."to_id"; held."type" := i."type"; held."weight" := i."weight"; held."metadata" := i."metadata"; held."agent_id" := i."agent_id";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_relationship(held);
        UPDATE satchel.relationship t SET "from_id" = i."from_id", "to_id" = i."to_id", "type" = i."type", "weight" = i."weight", "metadata" = i."metadata", "agent_id" = i."agent_id", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_relationship;
    RETURN healed;
END
$$;

-- task: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_task(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_task;
    CREATE TEMPORARY TABLE incoming_task (
        "id" text COLLATE "C" NOT NULL, "title" text COLLATE "C", "description" text COLLATE "C", "status" text COLLATE "C", "priority" bigint, "scope" text COLLATE "C", "space" text COLLATE "C", "user_id" text COLLATE "C", "agent_id" text COLLATE "C", "owner_agent" text COLLATE "C", "created_by" text COLLATE "C", "parent_id" text COLLATE "C", "depends_on" text COLLATE "C", "session_id" text COLLATE "C", "due_at" bigint, "claimed_by" text COLLATE "C", "lease_until" bigint, "result" text COLLATE "C", "result_memory_id" text COLLATE "C", "metadata" text COLLATE "C", "created_at" bigint, "completed_at" bigint, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_task TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_task(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_task');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_task WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("title", "description", "status", "priority", "scope", "space", "user_id", "agent_id", "owner_agent", "created_by", "parent_id", "depends_on", "session_id", "due_at", "claimed_by", "lease_until", "result", "result_memory_id", "metadata", "created_at", "completed_at", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("owner_agent"), 0) + coalesce(octet_length("created_by"), 0) + coalesce(octet_length("parent_id"), 0) + coalesce(octet_length("depends_on"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("claimed_by"), 0) + coalesce(octet_length("result"), 0) + coalesce(octet_length("result_memory_id"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_task OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.task h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'task', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('title', i."title", 'description', i."description", 'status', i."status", 'priority', i."priority", 'scope', i."scope", 'space', i."space", 'user_id', i."user_id", 'agent_id', i."agent_id", 'owner_agent', i."owner_agent", 'created_by', i."created_by", 'parent_id', i."parent_id", 'depends_on', i."depends_on", 'session_id', i."session_id", 'due_at', i."due_at", 'claimed_by', i."claimed_by", 'lease_until', i."lease_until", 'result', i."result", 'result_memory_id', i."result_memory_id", 'metadata', i."metadata", 'created_at', i."created_at", 'completed_at', i."completed_at", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_task i ON i.ctid = j.place
        JOIN satchel.task t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."title", i."description", i."status", i."priority", i."scope", i."space", i."user_id", i."agent_id", i."owner_agent", i."created_by", i."parent_id", i."depends_on", i."session_id", i."due_at", i."claimed_by", i."lease_until", i."result", i."result_memory_id", i."metadata", i."created_at", i."completed_at", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'task', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('title', t."title", 'description', t."description", 'status', t."status", 'priority', t."priority", 'scope', t."scope", 'space', t."space", 'user_id', t."user_id", 'agent_id', t."agent_id", 'owner_agent', t."owner_agent", 'created_by', t."created_by", 'parent_id', t."parent_id", 'depends_on', t."depends_on", 'session_id', t."session_id", 'due_at', t."due_at", 'claimed_by', t."claimed_by", 'lease_until', t."lease_until", 'result', t."result", 'result_memory_id', t."result_memory_id", 'metadata', t."metadata", 'created_at', t."created_at", 'completed_at', t."completed_at", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_task i ON i.ctid = j.place
        JOIN satchel.task t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."title", t."description", t."status", t."priority", t."scope", t."space", t."user_id", t."agent_id", t."owner_agent", t."created_by", t."parent_id", t."depends_on", t."session_id", t."due_at", t."claimed_by", t."lease_until", t."result", t."result_memory_id", t."metadata", t."created_at", t."completed_at", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.task (tenant, "id", "title", "description", "status", "priority", "scope", "space", "user_id", "agent_id", "owner_agent", "created_by", "parent_id", "depends_on", "session_id", "due_at", "claimed_by", "lease_until", "result", "result_memory_id", "metadata", "created_at", "completed_at", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."title", i."description", i."status", i."priority", i."scope", i."space", i."user_id", i."agent_id", i."owner_agent", i."created_by", i."parent_id", i."depends_on", i."session_id", i."due_at", i."claimed_by", i."lease_until", i."result", i."result_memory_id", i."metadata", i."created_at", i."completed_at", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_task i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.task t SET "title" = i."title", "description" = i."description", "status" = i."status", "priority" = i."priority", "scope" = i."scope", "space" = i."space", "user_id" = i."user_id", "agent_id" = i."agent_id", "owner_agent" = i."owner_agent", "created_by" = i."created_by", "parent_id" = i."parent_id", "depends_on" = i."depends_on", "session_id" = i."session_id", "due_at" = i."due_at", "claimed_by" = i."claimed_by", "lease_until" = i."lease_until", "result" = i."result", "result_memory_id" = i."result_memory_id", "metadata" = i."metadata", "created_at" = i."created_at", "completed_at" = i."completed_at", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_task i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'task', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_task i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'task', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of task were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_task;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_task(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.task
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("owner_agent"), 0) + coalesce(octet_length("created_by"), 0) + coalesce(octet_length("parent_id"), 0) + coalesce(octet_length("depends_on"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("claimed_by"), 0) + coalesce(octet_length("result"), 0) + coalesce(octet_length("result_memory_id"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.task t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.task
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('task', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('task', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.task
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_task(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.task t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000047461736b'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_task(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.task
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.task;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("owner_agent"), 0) + coalesce(octet_length("created_by"), 0) + coalesce(octet_length("parent_id"), 0) + coalesce(octet_length("depends_on"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("claimed_by"), 0) + coalesce(octet_length("result"), 0) + coalesce(octet_length("result_memory_id"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("description"), 0) + coalesce(octet_length("status"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("owner_agent"), 0) + coalesce(octet_length("created_by"), 0) + coalesce(octet_length("parent_id"), 0) + coalesce(octet_length("depends_on"), 0) + coalesce(octet_length("session_id"), 0) + coalesce(octet_length("claimed_by"), 0) + coalesce(octet_length("result"), 0) + coalesce(octet_length("result_memory_id"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.task t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.task t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.task t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_task
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_task(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'task';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_task(t) AS damaged
            FROM satchel.task t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_task(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.task;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_task');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_task LOOP
        SELECT * INTO held FROM satchel.task t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_task(held);
        held."title" := i."title"; held."description" := i."description"; held."status" := i."status"; held."priority" := i."priority"; held."scope" := i."scope"; held."space" := i."space"; held."user_id" := i."user_id"; held."agent_id" := i."agent_id"; held."owner_agent" := i."owner_agent"; held."created_by" := i."created_by"; held."parent_id" := i."parent_id"; held."depends_on" := i."depends_on"; held."session_id" := i."session_id"; held."due_at" := i."due_at"; held."claimed_by" := i."claimed_by"; held."lease_until" := i."lease_until"; held."result" := i."result"; held."result_memory_id" := i."result_memory_id"; held."metadata" := i."metadata"; held."created_at" := i."created_at"; held."completed_at" := i."completed_at";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_task(held);
        UPDATE satchel.task t SET "title" = i."title", "description" = i."description", "status" = i."status", "priority" = i."priority", "scope" = i."scope", "space" = i."space", "user_id" = i."user_id", "agent_id" = i."agent_id", "owner_agent" = i."owner_agent", "created_by" = i."created_by", "parent_id" = i."parent_id", "depends_on" = i."depends_on", "session_id" = i."session_id", "due_at" = i."due_at", "claimed_by" = i."claimed_by", "lease_until" = i."lease_until", "result" = i."result", "result_memory_id" = i."result_memory_id", "metadata" = i."metadata", "created_at" = i."created_at", "completed_at" = i."completed_at", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_task;
    RETURN healed;
END
$$;

-- message: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_message(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_message;
    CREATE TEMPORARY TABLE incoming_message (
        "id" text COLLATE "C" NOT NULL, "to_agent" text COLLATE "C", "from_agent" text COLLATE "C", "kind" text COLLATE "C", "title" text COLLATE "C", "content" text COLLATE "C", "conversation_id" text COLLATE "C", "task_id" text COLLATE "C", "context_ids" text COLLATE "C", "thread_id" text COLLATE "C", "priority" bigint, "created_at" bigint, "expires_at" bigint, "acked_at" bigint, "dedup_key" text COLLATE "C", extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_message TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_message(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_message');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_message WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("to_agent", "from_agent", "kind", "title", "content", "conversation_id", "task_id", "context_ids", "thread_id", "priority", "created_at", "expires_at", "acked_at", "dedup_key", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("to_agent"), 0) + coalesce(octet_length("from_agent"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("task_id"), 0) + coalesce(octet_length("context_ids"), 0) + coalesce(octet_length("thread_id"), 0) + coalesce(octet_length("dedup_key"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_message OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.message h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'message', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('to_agent', i."to_agent", 'from_agent', i."from_agent", 'kind', i."kind", 'title', i."title", 'content', i."content", 'conversation_id', i."conversation_id", 'task_id', i."task_id", 'context_ids', i."context_ids", 'thread_id', i."thread_id", 'priority', i."priority", 'created_at', i."created_at", 'expires_at', i."expires_at", 'acked_at', i."acked_at", 'dedup_key', i."dedup_key", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_message i ON i.ctid = j.place
        JOIN satchel.message t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."to_agent", i."from_agent", i."kind", i."title", i."content", i."conversation_id", i."task_id", i."context_ids", i."thread_id", i."priority", i."created_at", i."expires_at", i."acked_at", i."dedup_key", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'message', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('to_agent', t."to_agent", 'from_agent', t."from_agent", 'kind', t."kind", 'title', t."title", 'content', t."content", 'conversation_id', t."conversation_id", 'task_id', t."task_id", 'context_ids', t."context_ids", 'thread_id', t."thread_id", 'priority', t."priority", 'created_at', t."created_at", 'expires_at', t."expires_at", 'acked_at', t."acked_at", 'dedup_key', t."dedup_key", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_message i ON i.ctid = j.place
        JOIN satchel.message t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."to_agent", t."from_agent", t."kind", t."title", t."content", t."conversation_id", t."task_id", t."context_ids", t."thread_id", t."priority", t."created_at", t."expires_at", t."acked_at", t."dedup_key", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.message (tenant, "id", "to_agent", "from_agent", "kind", "title", "content", "conversation_id", "task_id", "context_ids", "thread_id", "priority", "created_at", "expires_at", "acked_at", "dedup_key", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."to_agent", i."from_agent", i."kind", i."title", i."content", i."conversation_id", i."task_id", i."context_ids", i."thread_id", i."priority", i."created_at", i."expires_at", i."acked_at", i."dedup_key", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_message i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.message t SET "to_agent" = i."to_agent", "from_agent" = i."from_agent", "kind" = i."kind", "title" = i."title", "content" = i."content", "conversation_id" = i."conversation_id", "task_id" = i."task_id", "context_ids" = i."context_ids", "thread_id" = i."thread_id", "priority" = i."priority", "created_at" = i."created_at", "expires_at" = i."expires_at", "acked_at" = i."acked_at", "dedup_key" = i."dedup_key", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_message i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'message', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_message i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'message', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of message were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_message;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_message(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.message
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("to_agent"), 0) + coalesce(octet_length("from_agent"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("task_id"), 0) + coalesce(octet_length("context_ids"), 0) + coalesce(octet_length("thread_id"), 0) + coalesce(octet_length("dedup_key"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.message t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.message
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('message', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('message', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.message
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_message(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.message t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000076d657373616765'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_message(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.message
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.message;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("to_agent"), 0) + coalesce(octet_length("from_agent"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("task_id"), 0) + coalesce(octet_length("context_ids"), 0) + coalesce(octet_length("thread_id"), 0) + coalesce(octet_length("dedup_key"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("to_agent"), 0) + coalesce(octet_length("from_agent"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("title"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("task_id"), 0) + coalesce(octet_length("context_ids"), 0) + coalesce(octet_length("thread_id"), 0) + coalesce(octet_length("dedup_key"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.message t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.message t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.message t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_message
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_message(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'message';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_message(t) AS damaged
            FROM satchel.message t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_message(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.message;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_message');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_message LOOP
        SELECT * INTO held FROM satchel.message t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_message(held);
        held."to_agent" := i."to_agent"; held."from_agent" := i."from_agent"; held."kind" := i."kind"; held."title" := i."title"; held."content" := i."content"; held."conversation_id" := i."conversation_id"; held."task_id" := i."task_id"; held."context_ids" := i."context_ids"; held."thread_id" := i."thread_id"; held."priority" := i."priority"; held."created_at" := i."created_at"; held."expires_at" := i."expires_at"; held."acked_at" := i."acked_at"; held."dedup_key" := i."dedup_key";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_message(held);
        UPDATE satchel.message t SET "to_agent" = i."to_agent", "from_agent" = i."from_agent", "kind" = i."kind", "title" = i."title", "content" = i."content", "conversation_id" = i."conversation_id", "task_id" = i."task_id", "context_ids" = i."context_ids", "thread_id" = i."thread_id", "priority" = i."priority", "created_at" = i."created_at", "expires_at" = i."expires_at", "acked_at" = i."acked_at", "dedup_key" = i."dedup_key", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_message;
    RETURN healed;
END
$$;

-- chatlog: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_chatlog(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_chatlog;
    CREATE TEMPORARY TABLE incoming_chatlog (
        "id" text COLLATE "C" NOT NULL, "conversation_id" text COLLATE "C", "ordinal" bigint, "role" text COLLATE "C", "content" text COLLATE "C", "scope" text COLLATE "C", "space" text COLLATE "C", "agent_id" text COLLATE "C", "user_id" text COLLATE "C", "host_agent" text COLLATE "C", "provider" text COLLATE "C", "model" text COLLATE "C", "tokens_in" bigint, "tokens_out" bigint, "cost" double precision, "metadata" text COLLATE "C", "redactions" bigint, "said_at" bigint, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_chatlog TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_chatlog(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_chatlog');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_chatlog WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("conversation_id", "ordinal", "role", "content", "scope", "space", "agent_id", "user_id", "host_agent", "provider", "model", "tokens_in", "tokens_out", "cost", "metadata", "redactions", "said_at", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("role"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("host_agent"), 0) + coalesce(octet_length("provider"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN coalesce("cost" IN ('NaN', 'Infinity', '-Infinity'), false) THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_chatlog OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.chatlog h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'chatlog', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('conversation_id', i."conversation_id", 'ordinal', i."ordinal", 'role', i."role", 'content', i."content", 'scope', i."scope", 'space', i."space", 'agent_id', i."agent_id", 'user_id', i."user_id", 'host_agent', i."host_agent", 'provider', i."provider", 'model', i."model", 'tokens_in', i."tokens_in", 'tokens_out', i."tokens_out", 'cost', i."cost", 'metadata', i."metadata", 'redactions', i."redactions", 'said_at', i."said_at", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_chatlog i ON i.ctid = j.place
        JOIN satchel.chatlog t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND num_nonnulls(i."conversation_id", i."ordinal", i."role", i."content", i."scope", i."space", i."agent_id", i."user_id", i."host_agent", i."provider", i."model", i."tokens_in", i."tokens_out", i."cost", i."metadata", i."redactions", i."said_at", i."extra") > 0
        UNION ALL
        SELECT me.tenant, 'chatlog', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('conversation_id', t."conversation_id", 'ordinal', t."ordinal", 'role', t."role", 'content', t."content", 'scope', t."scope", 'space', t."space", 'agent_id', t."agent_id", 'user_id', t."user_id", 'host_agent', t."host_agent", 'provider', t."provider", 'model', t."model", 'tokens_in', t."tokens_in", 'tokens_out', t."tokens_out", 'cost', t."cost", 'metadata', t."metadata", 'redactions', t."redactions", 'said_at', t."said_at", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_chatlog i ON i.ctid = j.place
        JOIN satchel.chatlog t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND num_nonnulls(t."conversation_id", t."ordinal", t."role", t."content", t."scope", t."space", t."agent_id", t."user_id", t."host_agent", t."provider", t."model", t."tokens_in", t."tokens_out", t."cost", t."metadata", t."redactions", t."said_at", t."extra") > 0
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.chatlog (tenant, "id", "conversation_id", "ordinal", "role", "content", "scope", "space", "agent_id", "user_id", "host_agent", "provider", "model", "tokens_in", "tokens_out", "cost", "metadata", "redactions", "said_at", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."conversation_id", i."ordinal", i."role", i."content", i."scope", i."space", i."agent_id", i."user_id", i."host_agent", i."provider", i."model", i."tokens_in", i."tokens_out", i."cost", i."metadata", i."redactions", i."said_at", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_chatlog i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.chatlog t SET "conversation_id" = i."conversation_id", "ordinal" = i."ordinal", "role" = i."role", "content" = i."content", "scope" = i."scope", "space" = i."space", "agent_id" = i."agent_id", "user_id" = i."user_id", "host_agent" = i."host_agent", "provider" = i."provider", "model" = i."model", "tokens_in" = i."tokens_in", "tokens_out" = i."tokens_out", "cost" = i."cost", "metadata" = i."metadata", "redactions" = i."redactions", "said_at" = i."said_at", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_chatlog i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'chatlog', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_chatlog i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'chatlog', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of chatlog were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_chatlog;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_chatlog(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.chatlog
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("role"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("host_agent"), 0) + coalesce(octet_length("provider"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.chatlog t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.chatlog
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('chatlog', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('chatlog', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.chatlog
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_chatlog(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.chatlog t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000007636861746c6f67'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_chatlog(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.chatlog
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.chatlog;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("role"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("host_agent"), 0) + coalesce(octet_length("provider"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("conversation_id"), 0) + coalesce(octet_length("role"), 0) + coalesce(octet_length("content"), 0) + coalesce(octet_length("scope"), 0) + coalesce(octet_length("space"), 0) + coalesce(octet_length("agent_id"), 0) + coalesce(octet_length("user_id"), 0) + coalesce(octet_length("host_agent"), 0) + coalesce(octet_length("provider"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("metadata"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.chatlog t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.chatlog t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.chatlog t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_chatlog
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_chatlog(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'chatlog';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_chatlog(t) AS damaged
            FROM satchel.chatlog t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_chatlog(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.chatlog;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_chatlog');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_chatlog LOOP
        SELECT * INTO held FROM satchel.chatlog t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_chatlog(held);
        held."conversation_id" := i."conversation_id"; held."ordinal" := i."ordinal"; held."role" := i."role"; held."content" := i."content"; held."scope" := i."scope"; held."space" := i."space"; held."agent_id" := i."agent_id"; held."user_id" := i."user_id"; held."host_agent" := i."host_agent"; held."provider" := i."provider"; held."model" := i."model"; held."tokens_in" := i."tokens_in"; held."tokens_out" := i."tokens_out"; held."cost" := i."cost"; held."metadata" := i."metadata"; held."redactions" := i."redactions"; held."said_at" := i."said_at";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_chatlog(held);
        UPDATE satchel.chatlog t SET "conversation_id" = i."conversation_id", "ordinal" = i."ordinal", "role" = i."role", "content" = i."content", "scope" = i."scope", "space" = i."space", "agent_id" = i."agent_id", "user_id" = i."user_id", "host_agent" = i."host_agent", "provider" = i."provider", "model" = i."model", "tokens_in" = i."tokens_in", "tokens_out" = i."tokens_out", "cost" = i."cost", "metadata" = i."metadata", "redactions" = i."redactions", "said_at" = i."said_at", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_chatlog;
    RETURN healed;
END
$$;

-- history: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_history(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_history;
    CREATE TEMPORARY TABLE incoming_history (
        "id" text COLLATE "C" NOT NULL, "kind" text COLLATE "C", "key" text COLLATE "C", "event" text COLLATE "C", "changes" text COLLATE "C", "actor" text COLLATE "C", "at" bigint, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_history TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_history(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_history');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_history WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    WITH turned AS (
        UPDATE pg_temp.incoming_history i SET "kind" = NULL, "key" = NULL, "event" = NULL, "changes" = NULL, "actor" = NULL, "at" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = ''
        WHERE i.life < 9223372036854775807 AND (CASE i.kind WHEN 'space' THEN EXISTS (SELECT FROM satchel.space s WHERE s.tenant = me.tenant AND s."name" = i.key AND s.life = 9223372036854775807) WHEN 'agent' THEN EXISTS (SELECT FROM satchel.agent s WHERE s.tenant = me.tenant AND s."agent_id" = i.key AND s.life = 9223372036854775807) WHEN 'session' THEN EXISTS (SELECT FROM satchel.session s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) WHEN 'memory' THEN (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = me.tenant AND s.id = ANY (satchel.marks_told(i.kind, i.changes)) AND s.life = 9223372036854775807)) WHEN 'relationship' THEN (EXISTS (SELECT FROM satchel.relationship s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = ANY (satchel.memories_in(i.kind, i.changes)) AND s.life = 9223372036854775807)) WHEN 'task' THEN EXISTS (SELECT FROM satchel.task s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) WHEN 'message' THEN EXISTS (SELECT FROM satchel.message s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) WHEN 'chatlog' THEN EXISTS (SELECT FROM satchel.chatlog s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) WHEN 'history' THEN EXISTS (SELECT FROM satchel.history s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) WHEN 'embedding' THEN (EXISTS (SELECT FROM satchel.embedding s WHERE s.tenant = me.tenant AND s."id" = i.key AND s.life = 9223372036854775807) OR EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = ANY (satchel.memories_in(i.kind, i.changes)) AND s.life = 9223372036854775807)) ELSE false END)
        RETURNING i."id" AS key
    )
    SELECT coalesce(array_agg(DISTINCT key), '{}') INTO forgotten FROM turned;
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("kind", "key", "event", "changes", "actor", "at", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("key"), 0) + coalesce(octet_length("event"), 0) + coalesce(octet_length("changes"), 0) + coalesce(octet_length("actor"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_history OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.history h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'history', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('kind', i."kind", 'key', i."key", 'event', i."event", 'changes', i."changes", 'actor', i."actor", 'at', i."at", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_history i ON i.ctid = j.place
        JOIN satchel.history t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND false
        UNION ALL
        SELECT me.tenant, 'history', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('kind', t."kind", 'key', t."key", 'event', t."event", 'changes', t."changes", 'actor', t."actor", 'at', t."at", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_history i ON i.ctid = j.place
        JOIN satchel.history t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND false
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.history (tenant, "id", "kind", "key", "event", "changes", "actor", "at", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."kind", i."key", i."event", i."changes", i."actor", i."at", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_history i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.history t SET "kind" = i."kind", "key" = i."key", "event" = i."event", "changes" = i."changes", "actor" = i."actor", "at" = i."at", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_history i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'history', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_history i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'history', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of history were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_history;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_history(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.history
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("key"), 0) + coalesce(octet_length("event"), 0) + coalesce(octet_length("changes"), 0) + coalesce(octet_length("actor"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.history t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.history
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('history', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('history', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.history
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_history(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.history t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000007686973746f7279'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_history(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.history
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.history;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("key"), 0) + coalesce(octet_length("event"), 0) + coalesce(octet_length("changes"), 0) + coalesce(octet_length("actor"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("kind"), 0) + coalesce(octet_length("key"), 0) + coalesce(octet_length("event"), 0) + coalesce(octet_length("changes"), 0) + coalesce(octet_length("actor"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.history t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.history t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.history t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_history
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_history(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'history';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_history(t) AS damaged
            FROM satchel.history t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_history(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.history;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_history');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_history LOOP
        SELECT * INTO held FROM satchel.history t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_history(held);
        held."kind" := i."kind"; held."key" := i."key"; held."event" := i."event"; held."changes" := i."changes"; held."actor" := i."actor"; held."at" := i."at";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_history(held);
        UPDATE satchel.history t SET "kind" = i."kind", "key" = i."key", "event" = i."event", "changes" = i."changes", "actor" = i."actor", "at" = i."at", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_history;
    RETURN healed;
END
$$;

-- embedding: the doors of one kind.

CREATE FUNCTION satchel_api.push_begin_embedding(_attempt text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET client_min_messages = warning AS $$
BEGIN
    PERFORM satchel.writer(_attempt);
    DROP TABLE IF EXISTS pg_temp.incoming_embedding;
    CREATE TEMPORARY TABLE incoming_embedding (
        "id" text COLLATE "C" NOT NULL, "memory_id" text COLLATE "C", "model" text COLLATE "C", "chunk" bigint, "content_hash" text COLLATE "C", "dims" bigint, "dtype" text COLLATE "C", "vector" bytea, extra text COLLATE "C",
        life bigint, hlc bigint, origin bytea, digest bytea, lineage text COLLATE "C"
    ) ON COMMIT DROP;
    EXECUTE format('GRANT INSERT ON pg_temp.incoming_embedding TO %I', session_user);
END
$$;

-- Merges what was copied in: the highest version of each key, set-based, under the tenant's lock.
-- Held rows are looked up by key, one by one: a plan made while a table was empty must not read it
-- from end to end for each arriving row, so a plan is made each time. Under the lock no key can
-- appear meanwhile, so new rows need no ON CONFLICT, which takes a sixth of a push.
CREATE FUNCTION satchel_api.push_end_embedding(_attempt text, _schema integer) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp
SET work_mem = '64MB' SET jit = off SET enable_seqscan = off
SET plan_cache_mode = force_custom_plan AS $body$
DECLARE
    me record := satchel.writer(_attempt);
    ahead constant bigint := 5::bigint * 60 * 1000 << 16;
    now bigint;
    _changes regclass;
    foreign_origins bytea[];
    unknown_origins bytea[];
    forgotten text[] := '{}';
    scrubbed text[];
    answer jsonb;
    expected bigint;
    written bigint;
BEGIN
    PERFORM satchel.check_incoming('incoming_embedding');
    -- In a statement of its own: the next one then sees everything that is committed.
    PERFORM satchel.lock_tenant(me.tenant);
    now := satchel.now_ms();
    _changes := satchel.change_sequence(me.tenant);
    foreign_origins := satchel.foreign_origins(me.tenant, ARRAY(
        SELECT DISTINCT origin FROM pg_temp.incoming_embedding WHERE life < 9223372036854775807));
    unknown_origins := satchel.unknown_origins(me.tenant, foreign_origins);
    WITH turned AS (
        UPDATE pg_temp.incoming_embedding i SET "memory_id" = NULL, "model" = NULL, "chunk" = NULL, "content_hash" = NULL, "dims" = NULL, "dtype" = NULL, "vector" = NULL, "extra" = NULL, life = 9223372036854775807, hlc = 9223372036854775807, origin = '\xffffffffffffffffffffffffffffffff', digest = '\xffffffffffffffff', lineage = ''
        WHERE i.life < 9223372036854775807 AND (EXISTS (SELECT FROM satchel.memory s WHERE s.tenant = me.tenant AND s."id" = i."memory_id" AND s.life = 9223372036854775807))
        RETURNING i."id" AS key
    )
    SELECT coalesce(array_agg(DISTINCT key), '{}') INTO forgotten FROM turned;
    PERFORM set_config('satchel.door', 'push', true);
    WITH best AS MATERIALIZED (
        SELECT DISTINCT ON (row_key) * FROM (
            SELECT ctid AS place, "id" AS row_key, life, hlc, origin, digest, lineage,
                coalesce(CASE WHEN num_nulls(life, hlc, origin, digest, lineage) > 0 OR octet_length(origin) <> 16 OR octet_length(digest) <> 8 OR hlc < 0 OR life < 65536 OR (life > 4611686018427387904 AND life < 9223372036854775807) OR ((life = 9223372036854775807 OR hlc = 9223372036854775807) AND NOT (life = 9223372036854775807 AND hlc = 9223372036854775807 AND origin = '\xffffffffffffffffffffffffffffffff'::bytea AND digest = '\xffffffffffffffff'::bytea)) THEN 'the version is not whole' WHEN hlc > 4198274747596800000 AND life < 9223372036854775807 THEN 'the version is from after the year 4000' WHEN lineage <> '' AND (octet_length(lineage) > 647 OR lineage !~ '^[0-9a-f]{80}( [0-9a-f]{80})*$') THEN 'the lineage is no list of versions' WHEN lineage <> '' AND greatest(substr(lineage, 17, 16), substr(lineage, 98, 16), substr(lineage, 179, 16), substr(lineage, 260, 16), substr(lineage, 341, 16), substr(lineage, 422, 16), substr(lineage, 503, 16), substr(lineage, 584, 16)) > '3a4344a3b8000000' THEN 'the lineage is from after the year 4000' WHEN ((life >> 16) % 2 = 0 OR life = 9223372036854775807) AND num_nonnulls("memory_id", "model", "chunk", "content_hash", "dims", "dtype", "vector", extra) > 0 THEN 'a deleted row has content' WHEN (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("memory_id"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("dtype"), 0) + coalesce(octet_length("vector"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) > 8388608 THEN 'the row is larger than 8388608 bytes' WHEN "id" = '' THEN 'the key is empty' WHEN octet_length("id") > 1024 THEN 'the key is larger than 1024 bytes' WHEN false THEN 'the row is local' WHEN false THEN 'a number is not finite' WHEN extra !~ '^(?:\{(?:"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})"(?:, ?"[^"\\\x01-\x1f]+": ?"(?:[tb]:(?:[0-9a-f]{2})*|[ir]:[0-9a-f]{16})")*)?\})?$' THEN 'extra is no list of columns' WHEN coalesce(extra, '') <> '' AND (SELECT count(*) > count(DISTINCT key) FROM json_each_text(extra::json)) THEN 'extra names a column twice' END, CASE WHEN NOT me.relaying AND origin = ANY (unknown_origins)
                    THEN 'origin ' || encode(origin, 'hex') || ' is unknown here' END) AS invalid
            FROM pg_temp.incoming_embedding OFFSET 0
        ) AS checked
        ORDER BY row_key, invalid IS NOT NULL, life DESC, hlc DESC, origin DESC, digest DESC
    ), judged AS MATERIALIZED (
        SELECT b.place, b.row_key AS key, b.invalid, b.life = 9223372036854775807 AS scrubs,
            t.life, t.hlc, t.origin, t.digest, t.lineage,
            CASE
                WHEN b.invalid IS NOT NULL THEN 'invalid'
                WHEN b.life < 9223372036854775807 AND b.hlc - ahead > greatest(
                        now << 16, coalesce(t.hlc, 0), satchel.base_hlc(b.lineage))
                    THEN 'future'
                ELSE satchel.verdict(t.life, t.hlc, t.origin, t.digest, t.lineage,
                                     b.life, b.hlc, b.origin, b.digest, b.lineage)
            END AS verdict
        FROM best b LEFT JOIN LATERAL (
            SELECT h.life, h.hlc, h.origin, h.digest, h.lineage FROM satchel.embedding h
            WHERE h.tenant = me.tenant AND h."id" = b.row_key LIMIT 1
        ) AS t ON true
    ), lost AS (
        INSERT INTO satchel.conflict
        SELECT me.tenant, 'embedding', j.key, satchel.hex(i.life, i.hlc, i.origin, i.digest),
            i.lineage, json_strip_nulls(json_build_object('memory_id', i."memory_id", 'model', i."model", 'chunk', i."chunk", 'content_hash', i."content_hash", 'dims', i."dims", 'dtype', i."dtype", 'extra', i."extra"))::text,
            satchel.hex(j.life, j.hlc, j.origin, j.digest), 'push', now, me.replica_id
        FROM judged j JOIN pg_temp.incoming_embedding i ON i.ctid = j.place
        JOIN satchel.embedding t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'keep concurrent' AND false
        UNION ALL
        SELECT me.tenant, 'embedding', j.key, satchel.hex(j.life, j.hlc, j.origin, j.digest),
            t.lineage, json_strip_nulls(json_build_object('memory_id', t."memory_id", 'model', t."model", 'chunk', t."chunk", 'content_hash', t."content_hash", 'dims', t."dims", 'dtype', t."dtype", 'extra', t."extra"))::text, satchel.hex(i.life, i.hlc, i.origin, i.digest), 'push', now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_embedding i ON i.ctid = j.place
        JOIN satchel.embedding t ON t.tenant = me.tenant AND t."id" = j.key
        WHERE j.verdict = 'replace concurrent' AND false
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), added AS (
        INSERT INTO satchel.embedding (tenant, "id", "memory_id", "model", "chunk", "content_hash", "dims", "dtype", "vector", extra,
            life, hlc, origin, digest, lineage, change_seq, schema_ver, received_at, pushed_by)
        SELECT me.tenant, i."id", i."memory_id", i."model", i."chunk", i."content_hash", i."dims", i."dtype", i."vector", i.extra,
            i.life, i.hlc, i.origin, i.digest, i.lineage, nextval(_changes), _schema, now,
            me.replica_id
        FROM judged j JOIN pg_temp.incoming_embedding i ON i.ctid = j.place
        WHERE j.verdict = 'new'
        RETURNING 1
    ), replaced AS (
        UPDATE satchel.embedding t SET "memory_id" = i."memory_id", "model" = i."model", "chunk" = i."chunk", "content_hash" = i."content_hash", "dims" = i."dims", "dtype" = i."dtype", "vector" = i."vector", extra = i.extra,
            life = i.life, hlc = i.hlc, origin = i.origin, digest = i.digest, lineage = i.lineage,
            change_seq = nextval(_changes), schema_ver = _schema, received_at = now,
            pushed_by = me.replica_id
        FROM judged j JOIN pg_temp.incoming_embedding i ON i.ctid = j.place
        WHERE j.verdict IN ('replace', 'replace concurrent')
            AND t.tenant = me.tenant AND t."id" = j.key
            AND (i.life, i.hlc, i.origin, i.digest) > (t.life, t.hlc, t.origin, t.digest)
        RETURNING 1
    ), relayed AS (
        INSERT INTO satchel.relayed AS r
        SELECT me.tenant, me.replica_id, _attempt, 'embedding', i.origin, count(*), now
        FROM judged j JOIN pg_temp.incoming_embedding i ON i.ctid = j.place
        WHERE i.origin = ANY (foreign_origins)
            AND j.verdict IN ('new', 'replace', 'replace concurrent')
        GROUP BY i.origin
        ON CONFLICT (tenant, replica_id, attempt, kind, origin)
            DO UPDATE SET rows = r.rows + excluded.rows, at = excluded.at
    )
    SELECT jsonb_build_object(
            'now_ms', now,
            'conflicts', (SELECT count(*) FROM lost),
            'superseded', coalesce(jsonb_agg(jsonb_build_array(
                key, satchel.hex(life, hlc, origin, digest), lineage))
                FILTER (WHERE verdict LIKE 'keep%'), '[]'),
            'refused', coalesce(jsonb_agg(jsonb_build_array(key, verdict, coalesce(invalid, '')))
                FILTER (WHERE verdict IN ('future', 'invalid')), '[]')),
        count(*) FILTER (WHERE verdict IN ('new', 'replace', 'replace concurrent')),
        (SELECT count(*) FROM added) + (SELECT count(*) FROM replaced),
        array_agg(key) FILTER (WHERE scrubs AND verdict IN ('new', 'replace'))
    INTO answer, expected, written, scrubbed FROM judged;
    IF scrubbed IS NOT NULL THEN
        PERFORM satchel.scrub_about(me.tenant, 'embedding', scrubbed, me.replica_id, _schema);
    END IF;
    PERFORM set_config('satchel.door', '', true);
    IF written <> expected THEN
        RAISE EXCEPTION '% of % rows of embedding were stored: a trigger of somebody left some out',
            written, expected USING ERRCODE = 'SA005';
    END IF;
    DROP TABLE pg_temp.incoming_embedding;
    PERFORM satchel.writer(_attempt);
    RETURN satchel.with_forgotten(answer, forgotten) || jsonb_build_object(
        'token', satchel.give_token(me.replica_id, _attempt));
END
$body$;

CREATE FUNCTION satchel_api.pull_embedding(
    _attempt text, _after bigint, _upto bigint, _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.embedding
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
    bound bigint;
BEGIN
    SELECT max(change_seq) INTO bound FROM (
        SELECT change_seq, sum(size) OVER (ORDER BY change_seq) - size AS bytes_before FROM (
            SELECT change_seq, (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("memory_id"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("dtype"), 0) + coalesce(octet_length("vector"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS size FROM satchel.embedding t
            WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= _upto
            ORDER BY change_seq LIMIT _rows_max
        ) AS page
    ) AS sized WHERE bytes_before < _bytes_max;
    -- The cursor of the last page is `_upto`, that of an empty page too.
    IF NOT EXISTS (SELECT FROM satchel.embedding
        WHERE tenant = me.tenant AND change_seq > coalesce(bound, _after) AND change_seq <= _upto)
    THEN
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('embedding', _upto));
    ELSE
        PERFORM satchel.deliver(
            me.tenant, me.replica_id, jsonb_build_object('embedding', bound));
    END IF;
    RETURN QUERY SELECT * FROM satchel.embedding
    WHERE tenant = me.tenant AND change_seq > _after AND change_seq <= bound ORDER BY change_seq;
    -- Asked again, as the rows may have been waited for until a migration was done with them.
    PERFORM satchel.caller(_attempt);
END
$$;

CREATE FUNCTION satchel_api.manifest_embedding(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest)
    FROM satchel.embedding t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000009656d62656464696e67'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- In the order of keys, as many as fit; then, without version and content, what is left of them.
CREATE FUNCTION satchel_api.fetch_embedding(
    _attempt text, _keys text[], _rows_max integer, _bytes_max bigint
) RETURNS SETOF satchel.embedding
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
    last_key text COLLATE "C";
    left_out satchel.embedding;
BEGIN
    SELECT max(key) INTO last_key FROM (
        SELECT t."id" AS key, row_number() OVER (ORDER BY t."id") AS place,
            sum((200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("memory_id"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("dtype"), 0) + coalesce(octet_length("vector"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0))) OVER (ORDER BY t."id") - (200 + coalesce(octet_length("id"), 0) + coalesce(octet_length("memory_id"), 0) + coalesce(octet_length("model"), 0) + coalesce(octet_length("content_hash"), 0) + coalesce(octet_length("dtype"), 0) + coalesce(octet_length("vector"), 0) + coalesce(octet_length("extra"), 0) + coalesce(octet_length("lineage"), 0)) AS bytes_before
        FROM satchel.embedding t WHERE t.tenant = me.tenant AND t."id" = ANY (_keys)
    ) AS sized WHERE place <= _rows_max AND bytes_before < _bytes_max;
    RETURN QUERY SELECT * FROM satchel.embedding t
    WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" <= last_key
    ORDER BY t."id";
    FOR left_out."id" IN SELECT t."id" FROM satchel.embedding t
        WHERE t.tenant = me.tenant AND t."id" = ANY (_keys) AND t."id" > last_key
    LOOP
        RETURN NEXT left_out;
    END LOOP;
    PERFORM satchel.caller(_attempt);
END
$$;

-- Keys, of the next `_rows_max` after `_after`, whose content does not fit their digest; and where
-- the next call goes on, null at the end. The first call also drops the sums that buckets_embedding
-- keeps: of a version that was changed in place they tell nothing.
CREATE FUNCTION satchel_api.damaged_embedding(_attempt text, _after text, _rows_max integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    IF _after = '' THEN
        DELETE FROM satchel.digest_part WHERE tenant = me.tenant AND kind = 'embedding';
    END IF;
    RETURN (SELECT jsonb_build_object(
            'keys', coalesce(jsonb_agg(key) FILTER (WHERE damaged), '[]'),
            'next', CASE WHEN count(*) = _rows_max THEN max(key) END)
        FROM (
            SELECT t."id" AS key, satchel.is_damaged_embedding(t) AS damaged
            FROM satchel.embedding t WHERE t.tenant = me.tenant AND t."id" > _after
            ORDER BY t."id" LIMIT _rows_max
        ) AS looked_at);
END
$$;

-- Takes from what was copied in (push_begin) the content of damaged rows held in just that version.
-- It stays the version that everybody has, so it draws no change sequence.
CREATE FUNCTION satchel_api.heal_embedding(_attempt text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    i record;
    held satchel.embedding;
    healed integer := 0;
BEGIN
    PERFORM satchel.check_incoming('incoming_embedding');
    PERFORM satchel.lock_tenant(me.tenant);
    PERFORM set_config('satchel.door', 'push', true);
    FOR i IN SELECT * FROM pg_temp.incoming_embedding LOOP
        SELECT * INTO held FROM satchel.embedding t WHERE t.tenant = me.tenant AND t."id" = i."id"
            AND (t.life, t.hlc, t.origin, t.digest) = (i.life, i.hlc, i.origin, i.digest);
        CONTINUE WHEN NOT FOUND OR NOT satchel.is_damaged_embedding(held);
        held."memory_id" := i."memory_id"; held."model" := i."model"; held."chunk" := i."chunk"; held."content_hash" := i."content_hash"; held."dims" := i."dims"; held."dtype" := i."dtype"; held."vector" := i."vector";
        held.extra := i.extra;
        CONTINUE WHEN satchel.is_damaged_embedding(held);
        UPDATE satchel.embedding t SET "memory_id" = i."memory_id", "model" = i."model", "chunk" = i."chunk", "content_hash" = i."content_hash", "dims" = i."dims", "dtype" = i."dtype", "vector" = i."vector", extra = i.extra
        WHERE t.tenant = me.tenant AND t."id" = i."id";
        healed := healed + 1;
    END LOOP;
    PERFORM set_config('satchel.door', '', true);
    DROP TABLE pg_temp.incoming_embedding;
    RETURN healed;
END
$$;

-- The doors of bundles: `satchel_sync.bundles.ports.Depot`. A visit is an attempt that is no link
-- of the replica's chain; the other doors work for it. `satchel_sync.bundles.peer` decides alike.

-- Whether this login may act for a replica: its own, or an administrator's for the same tenant.
CREATE OR REPLACE FUNCTION satchel.may_carry(_login text, _tenant text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT _login = session_user::text OR (
        pg_has_role(session_user, 'satchel_owner', 'MEMBER')
        AND coalesce(satchel.session_tenant(), _tenant) = _tenant)
$$;

-- The tenant of a replica that comes for the first time: the login's. What an administrator carries
-- tells by the warehouse that it names, else by the earlier ids of its file; else there is but one.
CREATE OR REPLACE FUNCTION satchel.carried_tenant(_hub bytea, _predecessors bytea[]) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    found text[];
BEGIN
    IF satchel.session_tenant() IS NOT NULL
        OR NOT pg_has_role(session_user, 'satchel_owner', 'MEMBER')
    THEN
        RETURN satchel.login_tenant();
    END IF;
    IF _hub IS NOT NULL THEN
        found := ARRAY(SELECT name FROM satchel.tenant WHERE id = _hub);
        IF found = '{}' THEN
            RAISE EXCEPTION 'this replica belongs to the warehouse %, which is not this one',
                encode(_hub, 'hex') USING ERRCODE = 'SA003';
        END IF;
        RETURN found[1];
    END IF;
    found := ARRAY(SELECT DISTINCT tenant FROM satchel.replica
        WHERE replica_id = ANY (_predecessors));
    IF found = '{}' THEN
        found := ARRAY(SELECT name FROM satchel.tenant);
    END IF;
    IF cardinality(found) <> 1 THEN
        RAISE EXCEPTION 'the bundle does not tell of which of % tenants its machine is',
            cardinality(found) USING ERRCODE = 'SA001',
            HINT = 'let a login of the right tenant import it, or the machine sync with one first';
    END IF;
    RETURN found[1];
END
$$;

-- The login of a replica that comes for the first time: who carries it, or of an administrator's
-- the tenant's stand-in. Its name is longer than a role's can be, so nobody ever logs in as it.
CREATE OR REPLACE FUNCTION satchel.carried_login(_tenant text) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    _login text := session_user::text;
BEGIN
    IF satchel.session_tenant() IS NULL THEN
        SELECT 'no login yet: what an administrator carries for machines of tenant number '
            || number INTO _login
        FROM satchel.tenant WHERE name = _tenant;
    END IF;
    INSERT INTO satchel.login VALUES (_login, _tenant, satchel.now_ms()) ON CONFLICT DO NOTHING;
    RETURN _login;
END
$$;

CREATE OR REPLACE FUNCTION satchel.begin_visit(
    _attempt text, _replica bytea, _relaying boolean, _levels boolean
) RETURNS void LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    INSERT INTO satchel.attempt
        (tenant, attempt, replica_id, started_at, relaying, levels, columns, carrier)
    SELECT tenant, _attempt, _replica, satchel.now_ms(), _relaying, _levels, '1a822900',
        session_user::text
    FROM satchel.replica WHERE replica_id = _replica
$$;

-- Begins to take a push in: registers the sender and judges its past by what the bundle names.
CREATE FUNCTION satchel_api.bundle_unpack(_attempt text, _head jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    p satchel.bundle_peer;
    _tenant text;
    _replica bytea;
    _predecessors bytea[];
    _reconcile text := _head ->> 'reconcile';
    file bytea[];
    named bigint;
    levels boolean;
    known_epoch text;
    known_hub bytea;
    _standing text;
    is_stale boolean;
    reason text;
    now bigint := satchel.now_ms();
BEGIN
    SELECT * INTO h FROM satchel.hub;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the warehouse is not initialised' USING ERRCODE = '3F000';
    END IF;
    PERFORM satchel.check_hello(_head);
    _replica := decode(_head ->> 'replica_id', 'hex');
    _predecessors := satchel.named_predecessors(_head);
    IF NOT (_head ->> 'protocol')::bigint BETWEEN 2 AND h.protocol
        OR (_head ->> 'schema')::bigint < 1
    THEN
        RAISE EXCEPTION 'the bundle speaks protocol %, schema %; the warehouse % and %',
            _head ->> 'protocol', _head ->> 'schema', h.protocol, h.schema USING ERRCODE = 'SA002';
    END IF;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        _tenant := satchel.carried_tenant(decode(_head ->> 'hub_id', 'hex'), _predecessors);
        INSERT INTO satchel.replica (tenant, replica_id, login, host, version, first_seen,
            last_seen, bound, must_reconcile)
        VALUES (_tenant, _replica, satchel.carried_login(_tenant), '', '', now, now, false, EXISTS (
            SELECT FROM satchel.replica f
            WHERE f.tenant = _tenant AND f.replica_id = ANY (_predecessors) AND f.must_reconcile))
        ON CONFLICT DO NOTHING;
        SELECT * INTO r FROM satchel.replica WHERE replica_id = _replica FOR NO KEY UPDATE;
        IF satchel.comes_of_revoked(_tenant, _predecessors) THEN
            RAISE EXCEPTION 'this replica is revoked' USING ERRCODE = 'SA001';
        END IF;
    END IF;
    _tenant := r.tenant;
    IF r.replica_id IS NULL OR r.revoked_at IS NOT NULL OR NOT satchel.may_carry(r.login, _tenant)
    THEN
        RAISE EXCEPTION 'this replica is revoked or bound to another login' USING ERRCODE = 'SA001';
    END IF;
    -- Two bundles that find one rewind open one epoch.
    SELECT epoch, id INTO known_epoch, known_hub
    FROM satchel.tenant WHERE name = _tenant FOR NO KEY UPDATE;
    PERFORM satchel.check_hub(_head, known_hub);
    INSERT INTO satchel.bundle_peer (tenant, replica_id) VALUES (_tenant, _replica)
    ON CONFLICT DO NOTHING;
    SELECT * INTO p FROM satchel.bundle_peer WHERE replica_id = _replica FOR UPDATE;
    file := ARRAY(SELECT replica_id FROM satchel.replica
        WHERE tenant = _tenant AND replica_id = ANY (_replica || _predecessors));

    -- satchel_sync.bundles.peer.weigh
    named := coalesce((SELECT number FROM satchel.token
        WHERE token = _head ->> 'token' AND replica_id = ANY (file)), 0);
    levels := p.manifest > 0 AND named >= p.manifest AND _reconcile = '' AND NOT p.levelled;
    is_stale := named BETWEEN 1 AND r.token_number - 1;
    _standing := satchel.judge(
        '', _head ->> 'last_attempt', _head ->> 'token', _head ->> 'epoch',
        satchel.known_seqs(_head -> 'cursors'),
        known_epoch, '', false, levels OR EXISTS (SELECT FROM satchel.attempt
            WHERE attempt = _head ->> 'last_attempt' AND replica_id = ANY (file)),
        named > 0, false,
        (SELECT coalesce(jsonb_object_agg(kind, seq), '{}') FROM (
            SELECT d.key AS kind, max(d.value::bigint) AS seq
            FROM satchel.replica f, jsonb_each_text(f.delivered) d
            WHERE f.replica_id = ANY (file) GROUP BY d.key) AS most),
        r.must_reconcile AND NOT levels);
    IF _reconcile <> '' AND _standing = 'known' THEN
        _standing := 'moved';
    END IF;
    reason := CASE WHEN is_stale THEN 'known' ELSE _standing END;

    UPDATE satchel.replica SET
        host = left(_head ->> 'host', 255), version = left(_head ->> 'version', 255),
        last_seen = now, predecessors = _predecessors,
        token_number = greatest(token_number, named),
        must_reconcile = must_reconcile OR reason <> 'known'
    WHERE replica_id = _replica;
    IF reason = 'rewound' AND _head ->> 'epoch' = known_epoch THEN
        UPDATE satchel.tenant SET epoch = satchel.random_hex(8) WHERE name = _tenant;
    END IF;
    PERFORM satchel.begin_visit(_attempt, _replica,
        (p.manifest > 0 AND named = p.manifest) OR _reconcile <> '' OR _standing <> 'known',
        levels);
    RETURN jsonb_build_object('reason', reason, 'columns', '{"space": {"description": "t", "members": "t", "grants": "t", "created_at": "i"}, "agent": {"description": "t", "capabilities": "t", "trust": "r", "registered_at": "i", "status": "t", "last_seen": "i"}, "session": {"title": "t", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "agent_ids": "t", "opened_at": "i", "closed_at": "i", "summary_memory_id": "t"}, "memory": {"type": "t", "title": "t", "content": "t", "metadata": "t", "scope": "t", "agent_id": "t", "user_id": "t", "session_id": "t", "space": "t", "local": "i", "importance": "r", "confidence": "r", "pinned": "i", "source": "t", "valid_from": "i", "valid_to": "i", "valid_to_was": "i", "recorded_at": "i", "retired_at": "i", "expires_at": "i", "supersedes": "t", "aliases": "t", "content_hash": "t"}, "relationship": {"from_id": "t", "to_id": "t", "type": "t", "weight": "r", "metadata": "t", "agent_id": "t"}, "task": {"title": "t", "description": "t", "status": "t", "priority": "i", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "owner_agent": "t", "created_by": "t", "parent_id": "t", "depends_on": "t", "session_id": "t", "due_at": "i", "claimed_by": "t", "lease_until": "i", "result": "t", "result_memory_id": "t", "metadata": "t", "created_at": "i", "completed_at": "i"}, "message": {"to_agent": "t", "from_agent": "t", "kind": "t", "title": "t", "content": "t", "conversation_id": "t", "task_id": "t", "context_ids": "t", "thread_id": "t", "priority": "i", "created_at": "i", "expires_at": "i", "acked_at": "i", "dedup_key": "t"}, "chatlog": {"conversation_id": "t", "ordinal": "i", "role": "t", "content": "t", "scope": "t", "space": "t", "agent_id": "t", "user_id": "t", "host_agent": "t", "provider": "t", "model": "t", "tokens_in": "i", "tokens_out": "i", "cost": "r", "metadata": "t", "redactions": "i", "said_at": "i"}, "history": {"kind": "t", "key": "t", "event": "t", "changes": "t", "actor": "t", "at": "i"}, "embedding": {"memory_id": "t", "model": "t", "chunk": "i", "content_hash": "t", "dims": "i", "dtype": "t", "vector": "b"}}'::jsonb);
END
$$;

-- Keeps what the hub said of versions of one kind until the replica names a later token.
CREATE FUNCTION satchel_api.bundle_keep(_attempt text, _kind text, _receipts jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    newest bigint := coalesce(
        pg_sequence_last_value(pg_get_serial_sequence('satchel.token', 'number')::regclass), 0);
BEGIN
    INSERT INTO satchel.receipt (tenant, replica_id, kind, key, version, verdict, now_ms, winner,
        lineage, reason, detail, number)
    SELECT me.tenant, me.replica_id, _kind, key, version, verdict, now_ms, winner, lineage, reason,
        detail, newest
    FROM jsonb_to_recordset(_receipts) AS r (key text, version text, verdict text, now_ms bigint,
        winner text, lineage text, reason text, detail text)
    ON CONFLICT (replica_id, kind, key, version, tenant) DO UPDATE SET
        verdict = excluded.verdict, now_ms = excluded.now_ms, winner = excluded.winner,
        lineage = excluded.lineage, reason = excluded.reason, detail = excluded.detail,
        number = excluded.number;
END
$$;

-- The push was taken in to its end: the next export starts at the cursors that it named.
CREATE FUNCTION satchel_api.bundle_unpacked(_attempt text, _head jsonb, _report text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.writer(_attempt);
    _levels boolean := (SELECT levels FROM satchel.attempt
        WHERE attempt = _attempt AND replica_id = me.replica_id);
    _link text := _head ->> 'last_attempt';
BEGIN
    PERFORM satchel.check_hello(_head);
    UPDATE satchel.bundle_peer p SET
        cursors = satchel.known_seqs(_head -> 'cursors'),
        token = _head ->> 'token', imported_at = satchel.now_ms(),
        levelled = p.levelled OR _levels OR NOT r.must_reconcile
    FROM satchel.replica r WHERE r.replica_id = p.replica_id AND p.replica_id = me.replica_id;
    IF _levels THEN
        UPDATE satchel.replica f SET must_reconcile = false
        FROM satchel.replica r
        WHERE f.tenant = me.tenant AND r.replica_id = me.replica_id
            AND f.replica_id = ANY (r.replica_id || r.predecessors);
        -- After a reconcile the chain of the file is the hub's; a link of it that was no sync.
        INSERT INTO satchel.attempt
            (tenant, attempt, replica_id, started_at, epoch, columns, levels)
        SELECT me.tenant, _link, me.replica_id, satchel.now_ms(), _head ->> 'epoch',
            '1a822900', true
        WHERE _link <> '' ON CONFLICT DO NOTHING;
        IF FOUND THEN
            UPDATE satchel.replica SET last_attempt = _link WHERE replica_id = me.replica_id;
        END IF;
    END IF;
    UPDATE satchel.attempt SET finished_at = satchel.now_ms(), report = satchel.kept_report(_report)
    WHERE attempt = _attempt AND replica_id = me.replica_id;
END
$$;

-- Begins an export: draws its token, writes down what it will deliver, drops receipts that arrived.
CREATE FUNCTION satchel_api.bundle_dispatch(_attempt text, _replica text) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    h satchel.hub;
    r satchel.replica;
    p satchel.bundle_peer;
    t satchel.tenant;
    _id bytea := decode(_replica, 'hex');
    _tenant text;
    reach jsonb;
    _kind text;
    _token text;
BEGIN
    SELECT * INTO h FROM satchel.hub;
    SELECT * INTO r FROM satchel.replica WHERE replica_id = _id FOR NO KEY UPDATE;
    _tenant := r.tenant;
    IF r.replica_id IS NULL OR r.revoked_at IS NOT NULL OR NOT satchel.may_carry(r.login, _tenant)
    THEN
        RAISE EXCEPTION 'the warehouse has no replica % for this login, or it is revoked', _replica
            USING ERRCODE = 'SA001';
    END IF;
    INSERT INTO satchel.bundle_peer (tenant, replica_id) VALUES (_tenant, _id)
    ON CONFLICT DO NOTHING;
    SELECT * INTO p FROM satchel.bundle_peer WHERE replica_id = _id FOR UPDATE;
    reach := satchel.bound(_tenant);
    _token := satchel.give_token(_id, _attempt);
    _kind := CASE
        WHEN r.must_reconcile THEN 'manifest'
        WHEN EXISTS (SELECT FROM jsonb_each_text(reach) s
            WHERE s.value::bigint > coalesce((p.cursors ->> s.key)::bigint, 0)) THEN 'pull'
        ELSE 'ack' END;
    IF r.must_reconcile THEN
        UPDATE satchel.bundle_peer SET levelled = false,
            manifest = (SELECT number FROM satchel.token WHERE token = _token)
        WHERE replica_id = _id;
    END IF;
    PERFORM satchel.deliver(_tenant, _id, reach);
    DELETE FROM satchel.receipt WHERE replica_id = _id AND number < r.token_number;
    PERFORM satchel.begin_visit(_attempt, _id, false, false);
    SELECT * INTO t FROM satchel.tenant WHERE name = _tenant;
    RETURN jsonb_build_object('hub_id', encode(t.id, 'hex'), 'epoch', t.epoch,
        'protocol', h.protocol, 'columns', '{"space": {"description": "t", "members": "t", "grants": "t", "created_at": "i"}, "agent": {"description": "t", "capabilities": "t", "trust": "r", "registered_at": "i", "status": "t", "last_seen": "i"}, "session": {"title": "t", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "agent_ids": "t", "opened_at": "i", "closed_at": "i", "summary_memory_id": "t"}, "memory": {"type": "t", "title": "t", "content": "t", "metadata": "t", "scope": "t", "agent_id": "t", "user_id": "t", "session_id": "t", "space": "t", "local": "i", "importance": "r", "confidence": "r", "pinned": "i", "source": "t", "valid_from": "i", "valid_to": "i", "valid_to_was": "i", "recorded_at": "i", "retired_at": "i", "expires_at": "i", "supersedes": "t", "aliases": "t", "content_hash": "t"}, "relationship": {"from_id": "t", "to_id": "t", "type": "t", "weight": "r", "metadata": "t", "agent_id": "t"}, "task": {"title": "t", "description": "t", "status": "t", "priority": "i", "scope": "t", "space": "t", "user_id": "t", "agent_id": "t", "owner_agent": "t", "created_by": "t", "parent_id": "t", "depends_on": "t", "session_id": "t", "due_at": "i", "claimed_by": "t", "lease_until": "i", "result": "t", "result_memory_id": "t", "metadata": "t", "created_at": "i", "completed_at": "i"}, "message": {"to_agent": "t", "from_agent": "t", "kind": "t", "title": "t", "content": "t", "conversation_id": "t", "task_id": "t", "context_ids": "t", "thread_id": "t", "priority": "i", "created_at": "i", "expires_at": "i", "acked_at": "i", "dedup_key": "t"}, "chatlog": {"conversation_id": "t", "ordinal": "i", "role": "t", "content": "t", "scope": "t", "space": "t", "agent_id": "t", "user_id": "t", "host_agent": "t", "provider": "t", "model": "t", "tokens_in": "i", "tokens_out": "i", "cost": "r", "metadata": "t", "redactions": "i", "said_at": "i"}, "history": {"kind": "t", "key": "t", "event": "t", "changes": "t", "actor": "t", "at": "i"}, "embedding": {"memory_id": "t", "model": "t", "chunk": "i", "content_hash": "t", "dims": "i", "dtype": "t", "vector": "b"}}'::jsonb, 'kind', _kind,
        'base', p.cursors, 'reach', reach, 'token', _token, 'after', p.token);
END
$$;

-- A page of the receipts that are kept, after this kind, key and version.
CREATE FUNCTION satchel_api.bundle_receipts(
    _attempt text, _kind text, _key text, _version text, _rows_max integer
)
RETURNS SETOF satchel.receipt
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT * FROM satchel.receipt r
    WHERE r.replica_id = me.replica_id AND (r.kind, r.key, r.version) > (_kind, _key, _version)
    ORDER BY r.kind, r.key, r.version LIMIT _rows_max;
END
$$;

-- The replicas that this login may carry for.
CREATE FUNCTION satchel_api.bundle_replicas() RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT encode(r.replica_id, 'hex')
    FROM satchel.replica r WHERE satchel.may_carry(r.login, r.tenant) ORDER BY r.replica_id
$$;

-- space: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_space(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."name", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.space t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000057370616365'::bytea || satchel.framed(convert_to(t."name", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- agent: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_agent(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."agent_id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.agent t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000056167656e74'::bytea || satchel.framed(convert_to(t."agent_id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- session: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_session(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.session t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x0000000773657373696f6e'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- memory: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_memory(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.memory t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000066d656d6f7279'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- relationship: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_relationship(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.relationship t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x0000000c72656c6174696f6e73686970'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- task: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_task(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.task t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000047461736b'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- message: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_message(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.message t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x000000076d657373616765'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- chatlog: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_chatlog(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.chatlog t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000007636861746c6f67'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- history: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_history(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.history t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000007686973746f7279'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

-- embedding: all rows without content, for a replica that reconciles by bundles.

CREATE FUNCTION satchel_api.bundle_versions_embedding(_attempt text, _buckets integer[])
RETURNS TABLE (key text, version text, change_seq bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    me record := satchel.caller(_attempt);
BEGIN
    RETURN QUERY SELECT t."id", satchel.hex(t.life, t.hlc, t.origin, t.digest), t.change_seq
    FROM satchel.embedding t WHERE t.tenant = me.tenant AND get_byte(sha256(
        '\x00000009656d62656464696e67'::bytea || satchel.framed(convert_to(t."id", 'UTF8'))), 0) = ANY (_buckets);
END
$$;

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

-- memory: what changes or goes leaves the index. A row that changed in place, as damage is mended,
-- keeps its change sequence, so nobody would index it again: its words are made anew here.
CREATE OR REPLACE FUNCTION satchel.unindex_memory() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM satchel.search_text s USING before b
        WHERE s.tenant = b.tenant AND s.kind = 'memory' AND s.id = b.id;
        RETURN NULL;
    END IF;
    DELETE FROM satchel.search_text s USING before b JOIN changed t ON t.tenant = b.tenant
        AND t.id = b.id
    WHERE s.tenant = b.tenant AND s.kind = 'memory' AND s.id = b.id
        AND (t.change_seq <> b.change_seq OR t.content IS NULL OR NOT satchel.is_alive(t.life));
    UPDATE satchel.search_text s SET words = satchel.words_of(concat_ws(' ', t.title, t.aliases, t.content))
    FROM changed t JOIN before b ON b.tenant = t.tenant AND b.id = t.id
    WHERE s.tenant = t.tenant AND s.kind = 'memory' AND s.id = t.id
        AND t.change_seq = b.change_seq AND (t.title, t.aliases, t.content, t.agent_id, t.recorded_at) IS DISTINCT FROM (b.title, b.aliases, b.content, b.agent_id, b.recorded_at);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_6_words_changed AFTER UPDATE ON satchel.memory
REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_memory();

CREATE OR REPLACE TRIGGER satchel_7_words_gone AFTER DELETE ON satchel.memory
REFERENCING OLD TABLE AS before FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_memory();

-- Index the next rows of a tenant, `_most` at the most; how many were looked at. One at a time: who
-- comes second waits, or where it must not wait finds nothing to do. It locks no writer out: a row
-- that is deleted meanwhile has a new change sequence, and leaves the index with the next run.
CREATE OR REPLACE FUNCTION satchel.index_memory(_tenant text, _most integer, _waits boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    behind bigint;
    last bigint;
    looked_at integer;
BEGIN
    INSERT INTO satchel.search_reached VALUES (_tenant, 'memory', 0, satchel.now_ms())
    ON CONFLICT DO NOTHING;
    IF _waits THEN
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = 'memory' FOR UPDATE;
    ELSE
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = 'memory' FOR UPDATE SKIP LOCKED;
    END IF;
    IF behind IS NULL THEN
        RETURN 0;
    END IF;
    SELECT max(seq), count(*) INTO last, looked_at FROM (
        SELECT t.change_seq AS seq FROM satchel.memory t
        WHERE t.tenant = _tenant AND t.change_seq > behind ORDER BY t.change_seq LIMIT _most
    ) AS next;
    IF looked_at = 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM satchel.search_text s USING satchel.memory t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND s.tenant = _tenant AND s.kind = 'memory' AND s.id = t.id
        AND (t.content IS NULL OR NOT satchel.is_alive(t.life));
    INSERT INTO satchel.search_text AS s
    SELECT t.tenant, 'memory', t.id, coalesce(t.recorded_at, t.valid_from, 0), left(lower(t.agent_id), 200), satchel.leading_name(t.content), satchel.words_of(concat_ws(' ', t.title, t.aliases, t.content))
    FROM satchel.memory t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND satchel.is_alive(t.life) AND t.content IS NOT NULL
    ON CONFLICT (tenant, kind, id) DO UPDATE SET at = excluded.at, speaker = excluded.speaker,
        lead_name = excluded.lead_name, words = excluded.words;
    UPDATE satchel.search_reached SET upto = last, indexed_at = satchel.now_ms()
    WHERE tenant = _tenant AND source = 'memory';
    RETURN looked_at;
END
$$;

-- chatlog: what changes or goes leaves the index. A row that changed in place, as damage is mended,
-- keeps its change sequence, so nobody would index it again: its words are made anew here.
CREATE OR REPLACE FUNCTION satchel.unindex_chatlog() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp SET jit = off AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM satchel.search_text s USING before b
        WHERE s.tenant = b.tenant AND s.kind = 'chatlog' AND s.id = b.id;
        RETURN NULL;
    END IF;
    DELETE FROM satchel.search_text s USING before b JOIN changed t ON t.tenant = b.tenant
        AND t.id = b.id
    WHERE s.tenant = b.tenant AND s.kind = 'chatlog' AND s.id = b.id
        AND (t.change_seq <> b.change_seq OR t.content IS NULL OR NOT satchel.is_alive(t.life));
    UPDATE satchel.search_text s SET words = satchel.words_of(t.content)
    FROM changed t JOIN before b ON b.tenant = t.tenant AND b.id = t.id
    WHERE s.tenant = t.tenant AND s.kind = 'chatlog' AND s.id = t.id
        AND t.change_seq = b.change_seq AND (t.content, t.role, t.said_at) IS DISTINCT FROM (b.content, b.role, b.said_at);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER satchel_6_words_changed AFTER UPDATE ON satchel.chatlog
REFERENCING OLD TABLE AS before NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_chatlog();

CREATE OR REPLACE TRIGGER satchel_7_words_gone AFTER DELETE ON satchel.chatlog
REFERENCING OLD TABLE AS before FOR EACH STATEMENT
EXECUTE FUNCTION satchel.unindex_chatlog();

-- Index the next rows of a tenant, `_most` at the most; how many were looked at. One at a time: who
-- comes second waits, or where it must not wait finds nothing to do. It locks no writer out: a row
-- that is deleted meanwhile has a new change sequence, and leaves the index with the next run.
CREATE OR REPLACE FUNCTION satchel.index_chatlog(_tenant text, _most integer, _waits boolean)
RETURNS integer
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    behind bigint;
    last bigint;
    looked_at integer;
BEGIN
    INSERT INTO satchel.search_reached VALUES (_tenant, 'chatlog', 0, satchel.now_ms())
    ON CONFLICT DO NOTHING;
    IF _waits THEN
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = 'chatlog' FOR UPDATE;
    ELSE
        SELECT upto INTO behind FROM satchel.search_reached
        WHERE tenant = _tenant AND source = 'chatlog' FOR UPDATE SKIP LOCKED;
    END IF;
    IF behind IS NULL THEN
        RETURN 0;
    END IF;
    SELECT max(seq), count(*) INTO last, looked_at FROM (
        SELECT t.change_seq AS seq FROM satchel.chatlog t
        WHERE t.tenant = _tenant AND t.change_seq > behind ORDER BY t.change_seq LIMIT _most
    ) AS next;
    IF looked_at = 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM satchel.search_text s USING satchel.chatlog t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND s.tenant = _tenant AND s.kind = 'chatlog' AND s.id = t.id
        AND (t.content IS NULL OR NOT satchel.is_alive(t.life));
    INSERT INTO satchel.search_text AS s
    SELECT t.tenant, 'chatlog', t.id, coalesce(t.said_at, 0), satchel.named_role(t.role), satchel.leading_name(t.content), satchel.words_of(t.content)
    FROM satchel.chatlog t
    WHERE t.tenant = _tenant AND t.change_seq > behind AND t.change_seq <= last
        AND satchel.is_alive(t.life) AND t.content IS NOT NULL
    ON CONFLICT (tenant, kind, id) DO UPDATE SET at = excluded.at, speaker = excluded.speaker,
        lead_name = excluded.lead_name, words = excluded.words;
    UPDATE satchel.search_reached SET upto = last, indexed_at = satchel.now_ms()
    WHERE tenant = _tenant AND source = 'chatlog';
    RETURN looked_at;
END
$$;

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
    ) AS b ON coalesce(t.said_at - b.said_at, 0) <= 21600000
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

-- memory: candidates by their words, text, ids and times. What passes here is looked at once more
-- by whoever ranks it (satchel.memory.search.filters): a test holds both equal.
CREATE OR REPLACE FUNCTION satchel.passes_memory(t satchel.memory, f jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT satchel.is_alive(t.life) AND t.content IS NOT NULL AND 
        (t.expires_at IS NULL OR t.expires_at > (f ->> 'now')::bigint)
        AND (t.valid_from IS NULL OR t.valid_from <= coalesce((f ->> 'as_of')::bigint, greatest((f ->> 'now')::bigint, t.recorded_at, t.retired_at)))
        AND (t.valid_to IS NULL OR t.valid_to > coalesce((f ->> 'as_of')::bigint, greatest((f ->> 'now')::bigint, t.recorded_at, t.retired_at)))
        AND coalesce(t.type = f ->> 'type', f ->> 'type' IS NULL)
        AND coalesce(t.scope = f ->> 'scope', f ->> 'scope' IS NULL)
        AND coalesce(f -> 'spaces' ? t.space, f -> 'spaces' IS NULL)
        AND coalesce(f -> 'agents' ? t.agent_id, f -> 'agents' IS NULL)
        AND coalesce(t.recorded_at >= (f ->> 'since')::bigint, f ->> 'since' IS NULL)
        AND coalesce(t.recorded_at < (f ->> 'until')::bigint, f ->> 'until' IS NULL)
$$;

-- Rows that have any of the words, those with the rarest and most first; of equals the newest. Of
-- one word ts_rank grows with how often it is there about as BM25 does without lengths (k1 = 0.8).
CREATE FUNCTION satchel_search.by_words_memory(
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
        WHERE s.tenant = _tenant AND s.kind = 'memory' GROUP BY s.id, s.at
    )
    SELECT f.id FROM found f JOIN satchel.memory t ON t.tenant = _tenant AND t.id = f.id
    WHERE satchel.passes_memory(t, _filter) ORDER BY f.score DESC, f.at DESC, f.id LIMIT _limit;
END
$$;

-- The same of the newest rows that have all of the words (or any), of a time if one is given.
CREATE FUNCTION satchel_search.newest_memory(
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
        WHERE s.tenant = _tenant AND s.kind = 'memory' AND (wanted IS NULL OR s.words @@ wanted)
            AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
        ORDER BY s.at DESC LIMIT _measure
    ) AS n;
    SELECT array_agg(t.id) INTO passing FROM satchel.memory t
    WHERE t.tenant = _tenant AND t.id = ANY (newest) AND satchel.passes_memory(t, _filter);
    IF coalesce(array_length(passing, 1), 0) < _limit AND array_length(newest, 1) = _measure THEN
        SELECT array_agg(n.id) INTO passing FROM (
            SELECT s.id FROM satchel.search_text s
            JOIN satchel.memory t ON t.tenant = _tenant AND t.id = s.id
            WHERE s.tenant = _tenant AND s.kind = 'memory'
                AND (wanted IS NULL OR s.words @@ wanted)
                AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
                AND satchel.passes_memory(t, _filter)
            ORDER BY s.at DESC LIMIT _measure
        ) AS n;
    END IF;
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s, LATERAL (
        SELECT sum(weight * ts_rank('{1,1,1,1}', s.words, a.word)) AS score
        FROM unnest(asked, _weights) AS a (word, weight) WHERE s.words @@ a.word
    ) AS scored
    WHERE s.tenant = _tenant AND s.kind = 'memory' AND s.id = ANY (passing)
    ORDER BY scored.score DESC NULLS LAST, s.at DESC, s.id LIMIT _limit;
END
$$;

-- The newest rows that hold a text as it stands. This reads the text of every row.
CREATE FUNCTION satchel_search.by_literal_memory(
    _tenant text, _search text, _filter jsonb, _literal text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM satchel.memory t WHERE t.tenant = _tenant
        AND strpos(concat_ws(chr(10), t.title, t.content, t.aliases), _literal) > 0 AND satchel.passes_memory(t, _filter)
    ORDER BY t.change_seq DESC LIMIT _limit;
END
$$;

-- Rows with an id, or with its first or last digits.
CREATE FUNCTION satchel_search.by_id_memory(
    _tenant text, _search text, _start text, _end text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = 'memory'
        AND s.id >= _start AND s.id < _start || 'g'
    UNION
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = 'memory'
        AND right(s.id, length(_end)) = _end
    LIMIT _limit;
END
$$;

-- Those of some ids whose rows pass, in their order.
CREATE FUNCTION satchel_search.passing_memory(
    _tenant text, _search text, _filter jsonb, _ids text[]
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM unnest(_ids) WITH ORDINALITY AS i (id, place)
    JOIN satchel.memory t ON t.tenant = _tenant AND t.id = i.id
    WHERE satchel.passes_memory(t, _filter) ORDER BY i.place;
END
$$;

-- Rows whose indexed vectors lie nearest, each once: by HNSW, or where too few of those pass the
-- filter by all vectors of those that do.
CREATE FUNCTION satchel_search.nearest_memory(
    _tenant text, _search text, _filter jsonb, _model text, _dims bigint, _vector text,
    _limit integer, _exact boolean
) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET jit = off AS $body$
DECLARE
    _of text := satchel.nearest_table(_tenant, 'memory', _model, _dims);
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
            ) AS once JOIN satchel.memory t ON t.tenant = $1 AND t.id = once.of_id
            WHERE satchel.passes_memory(t, $4)
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    IF coalesce(array_length(found, 1), 0) < _limit THEN
        EXECUTE format($$
            SELECT array_agg(of_id ORDER BY apart, of_id) FROM (
                SELECT one.of_id, min(one.apart) AS apart FROM (
                    SELECT v.of_id, v.vector OPERATOR(%2$I.<=>) $2::%2$I.vector AS apart
                    FROM satchel.%1$I v JOIN satchel.memory t ON t.tenant = $1 AND t.id = v.of_id
                    WHERE v.tenant = $1 AND satchel.passes_memory(t, $4) OFFSET 0
                ) AS one GROUP BY one.of_id ORDER BY apart LIMIT $3 -- no sort of whole vectors
            ) AS near
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    RETURN QUERY SELECT unnest(found);
END
$body$;

-- chatlog: candidates by their words, text, ids and times. What passes here is looked at once more
-- by whoever ranks it (satchel.memory.search.filters): a test holds both equal.
CREATE OR REPLACE FUNCTION satchel.passes_chatlog(t satchel.chatlog, f jsonb) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT satchel.is_alive(t.life) AND t.content IS NOT NULL AND coalesce(t.said_at <= (f ->> 'as_of')::bigint, true)
        AND coalesce(NULL::text = f ->> 'type', f ->> 'type' IS NULL)
        AND coalesce(t.scope = f ->> 'scope', f ->> 'scope' IS NULL)
        AND coalesce(f -> 'spaces' ? t.space, f -> 'spaces' IS NULL)
        AND coalesce(f -> 'agents' ? t.agent_id, f -> 'agents' IS NULL)
        AND coalesce(t.said_at >= (f ->> 'since')::bigint, f ->> 'since' IS NULL)
        AND coalesce(t.said_at < (f ->> 'until')::bigint, f ->> 'until' IS NULL)
$$;

-- Rows that have any of the words, those with the rarest and most first; of equals the newest. Of
-- one word ts_rank grows with how often it is there about as BM25 does without lengths (k1 = 0.8).
CREATE FUNCTION satchel_search.by_words_chatlog(
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
        WHERE s.tenant = _tenant AND s.kind = 'chatlog' GROUP BY s.id, s.at
    )
    SELECT f.id FROM found f JOIN satchel.chatlog t ON t.tenant = _tenant AND t.id = f.id
    WHERE satchel.passes_chatlog(t, _filter) ORDER BY f.score DESC, f.at DESC, f.id LIMIT _limit;
END
$$;

-- The same of the newest rows that have all of the words (or any), of a time if one is given.
CREATE FUNCTION satchel_search.newest_chatlog(
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
        WHERE s.tenant = _tenant AND s.kind = 'chatlog' AND (wanted IS NULL OR s.words @@ wanted)
            AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
        ORDER BY s.at DESC LIMIT _measure
    ) AS n;
    SELECT array_agg(t.id) INTO passing FROM satchel.chatlog t
    WHERE t.tenant = _tenant AND t.id = ANY (newest) AND satchel.passes_chatlog(t, _filter);
    IF coalesce(array_length(passing, 1), 0) < _limit AND array_length(newest, 1) = _measure THEN
        SELECT array_agg(n.id) INTO passing FROM (
            SELECT s.id FROM satchel.search_text s
            JOIN satchel.chatlog t ON t.tenant = _tenant AND t.id = s.id
            WHERE s.tenant = _tenant AND s.kind = 'chatlog'
                AND (wanted IS NULL OR s.words @@ wanted)
                AND (_from IS NULL OR s.at >= _from) AND (_until IS NULL OR s.at < _until)
                AND satchel.passes_chatlog(t, _filter)
            ORDER BY s.at DESC LIMIT _measure
        ) AS n;
    END IF;
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s, LATERAL (
        SELECT sum(weight * ts_rank('{1,1,1,1}', s.words, a.word)) AS score
        FROM unnest(asked, _weights) AS a (word, weight) WHERE s.words @@ a.word
    ) AS scored
    WHERE s.tenant = _tenant AND s.kind = 'chatlog' AND s.id = ANY (passing)
    ORDER BY scored.score DESC NULLS LAST, s.at DESC, s.id LIMIT _limit;
END
$$;

-- The newest rows that hold a text as it stands. This reads the text of every row.
CREATE FUNCTION satchel_search.by_literal_chatlog(
    _tenant text, _search text, _filter jsonb, _literal text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM satchel.chatlog t WHERE t.tenant = _tenant
        AND strpos(t.content, _literal) > 0 AND satchel.passes_chatlog(t, _filter)
    ORDER BY t.change_seq DESC LIMIT _limit;
END
$$;

-- Rows with an id, or with its first or last digits.
CREATE FUNCTION satchel_search.by_id_chatlog(
    _tenant text, _search text, _start text, _end text, _limit integer
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = 'chatlog'
        AND s.id >= _start AND s.id < _start || 'g'
    UNION
    SELECT s.id FROM satchel.search_text s WHERE s.tenant = _tenant AND s.kind = 'chatlog'
        AND right(s.id, length(_end)) = _end
    LIMIT _limit;
END
$$;

-- Those of some ids whose rows pass, in their order.
CREATE FUNCTION satchel_search.passing_chatlog(
    _tenant text, _search text, _filter jsonb, _ids text[]
) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY
    SELECT t.id FROM unnest(_ids) WITH ORDINALITY AS i (id, place)
    JOIN satchel.chatlog t ON t.tenant = _tenant AND t.id = i.id
    WHERE satchel.passes_chatlog(t, _filter) ORDER BY i.place;
END
$$;

-- Rows whose indexed vectors lie nearest, each once: by HNSW, or where too few of those pass the
-- filter by all vectors of those that do.
CREATE FUNCTION satchel_search.nearest_chatlog(
    _tenant text, _search text, _filter jsonb, _model text, _dims bigint, _vector text,
    _limit integer, _exact boolean
) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET jit = off AS $body$
DECLARE
    _of text := satchel.nearest_table(_tenant, 'chatlog', _model, _dims);
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
            ) AS once JOIN satchel.chatlog t ON t.tenant = $1 AND t.id = once.of_id
            WHERE satchel.passes_chatlog(t, $4)
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    IF coalesce(array_length(found, 1), 0) < _limit THEN
        EXECUTE format($$
            SELECT array_agg(of_id ORDER BY apart, of_id) FROM (
                SELECT one.of_id, min(one.apart) AS apart FROM (
                    SELECT v.of_id, v.vector OPERATOR(%2$I.<=>) $2::%2$I.vector AS apart
                    FROM satchel.%1$I v JOIN satchel.chatlog t ON t.tenant = $1 AND t.id = v.of_id
                    WHERE v.tenant = $1 AND satchel.passes_chatlog(t, $4) OFFSET 0
                ) AS one GROUP BY one.of_id ORDER BY apart LIMIT $3 -- no sort of whole vectors
            ) AS near
        $$, _of, _in) INTO found USING _tenant, _vector, wanted, _filter;
    END IF;
    RETURN QUERY SELECT unnest(found);
END
$body$;

-- memory: whole living rows by id; how many is kept with the search.
CREATE FUNCTION satchel_search.rows_memory(
    _tenant text, _search text, _ids text[], _model text DEFAULT NULL
) RETURNS SETOF satchel.memory
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY SELECT t.* FROM satchel.memory t
    WHERE t.tenant = _tenant AND t.id = ANY (_ids) AND satchel.is_alive(t.life) ;
    GET DIAGNOSTICS found = ROW_COUNT;
    UPDATE satchel.searched s SET rows_read = s.rows_read + found
    WHERE s.tenant = _tenant AND s.id = _search;
END
$$;

-- chatlog: whole living rows by id; how many is kept with the search.
CREATE FUNCTION satchel_search.rows_chatlog(
    _tenant text, _search text, _ids text[], _model text DEFAULT NULL
) RETURNS SETOF satchel.chatlog
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY SELECT t.* FROM satchel.chatlog t
    WHERE t.tenant = _tenant AND t.id = ANY (_ids) AND satchel.is_alive(t.life) ;
    GET DIAGNOSTICS found = ROW_COUNT;
    UPDATE satchel.searched s SET rows_read = s.rows_read + found
    WHERE s.tenant = _tenant AND s.id = _search;
END
$$;

-- embedding: whole living rows by memory_id; how many is kept with the search.
CREATE FUNCTION satchel_search.rows_embedding(
    _tenant text, _search text, _ids text[], _model text DEFAULT NULL
) RETURNS SETOF satchel.embedding
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY SELECT t.* FROM satchel.embedding t
    WHERE t.tenant = _tenant AND t.memory_id = ANY (_ids) AND satchel.is_alive(t.life) AND t.model = _model;
    GET DIAGNOSTICS found = ROW_COUNT;
    UPDATE satchel.searched s SET rows_read = s.rows_read + found
    WHERE s.tenant = _tenant AND s.id = _search;
END
$$;

-- relationship: whole living rows by from_id; how many is kept with the search.
CREATE FUNCTION satchel_search.rows_relationship(
    _tenant text, _search text, _ids text[], _model text DEFAULT NULL
) RETURNS SETOF satchel.relationship
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
DECLARE
    found bigint;
BEGIN
    PERFORM satchel.check_search(_tenant, _search);
    RETURN QUERY SELECT t.* FROM satchel.relationship t
    WHERE t.tenant = _tenant AND t.from_id = ANY (_ids) AND satchel.is_alive(t.life) AND t.to_id = ANY (_ids);
    GET DIAGNOSTICS found = ROW_COUNT;
    UPDATE satchel.searched s SET rows_read = s.rows_read + found
    WHERE s.tenant = _tenant AND s.id = _search;
END
$$;


GRANT USAGE ON SCHEMA satchel_search TO satchel_searcher;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA satchel_search FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel_search TO satchel_searcher;

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
    SELECT btrim(CASE WHEN composed ~ U&'[\0009\000A\000B\000C\000D\001C\001D\001E\001F\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000]|  '
        THEN regexp_replace(composed, U&'[\0009\000A\000B\000C\000D\001C\001D\001E\001F\0020\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000]+', ' ', 'g') ELSE composed END, ' ')
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
    SELECT _content IS NOT NULL AND (_content ~ U&'[^\0009\000A\000B\000C\000D\001C\001D\001E\001F\0020\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000]'
        OR coalesce(replace(_title, '_', ' ') ~ U&'[^\0009\000A\000B\000C\000D\001C\001D\001E\001F\0020\0085\00A0\1680\2000\2001\2002\2003\2004\2005\2006\2007\2008\2009\200A\2028\2029\202F\205F\3000]', false)
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

-- Where each living task of a tenant stands in the tree that holds (satchel.memory.tasks.tree): of
-- a ring of parents the link with the highest version is cut, and so is every link to a parent that
-- is deleted or has not come. Tasks are numbered in the order of their versions, so of a ring the
-- highest number is cut. Chains and rings may be as long as somebody makes them: each task is
-- walked a few times only.
CREATE OR REPLACE FUNCTION satchel.task_places(_tenant text)
RETURNS TABLE (id text, parent_id text, root_id text, depth bigint)
LANGUAGE plpgsql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ids text[];
    parents integer[];
    roots integer[];
    depths integer[];
    walked integer[];
    tasks integer;
    here integer;
    top integer;
    steps integer;
BEGIN
    WITH task AS MATERIALIZED (
        SELECT t.id, t.parent_id,
            row_number() OVER (ORDER BY t.life, t.hlc, t.origin, t.digest, t.id)::integer AS number
        FROM satchel.task t WHERE t.tenant = _tenant AND satchel.is_alive(t.life)
    )
    SELECT array_agg(t.id ORDER BY t.number), array_agg(coalesce(p.number, 0) ORDER BY t.number),
        count(*)
    INTO ids, parents, tasks FROM task t LEFT JOIN task p ON p.id = t.parent_id;
    walked := array_fill(0, ARRAY[tasks]);
    roots := walked;
    depths := walked;

    -- A walk that comes back to where it has been itself has found a ring.
    FOR start IN 1..tasks LOOP
        here := start;
        WHILE here > 0 LOOP
            EXIT WHEN walked[here] > 0;
            walked[here] := start;
            here := parents[here];
        END LOOP;
        CONTINUE WHEN here = 0;
        CONTINUE WHEN walked[here] < start;
        top := here;
        steps := parents[here];
        WHILE steps <> here LOOP
            top := greatest(top, steps);
            steps := parents[steps];
        END LOOP;
        parents[top] := 0;
    END LOOP;

    -- Up to what has its place already, or the top; then the same way once more, counting down.
    FOR start IN 1..tasks LOOP
        here := start;
        steps := 0;
        top := start;
        WHILE here > 0 LOOP
            EXIT WHEN roots[here] > 0;
            steps := steps + 1;
            top := here;
            here := parents[here];
        END LOOP;
        IF here > 0 THEN
            steps := steps + depths[here] + 1;
            top := roots[here];
        END IF;
        here := start;
        WHILE here > 0 LOOP
            EXIT WHEN roots[here] > 0;
            steps := steps - 1;
            roots[here] := top;
            depths[here] := steps;
            here := parents[here];
        END LOOP;
    END LOOP;

    RETURN QUERY
    WITH placed AS MATERIALIZED (
        SELECT * FROM unnest(ids, parents, roots, depths)
            WITH ORDINALITY AS u (id, parent, root, depth, number)
    )
    SELECT t.id, p.id, r.id, t.depth::bigint FROM placed t
    JOIN placed r ON r.number = t.root LEFT JOIN placed p ON p.number = t.parent;
END
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_machines(_tenant text) RETURNS SETOF satchel.report_machines LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Of each machine: rows that it brought, changes that it lacks, its syncs of a week.
WITH machine AS (
    -- What an earlier id of its file was given, it was given (satchel_api.hello).
    SELECT r.replica_id AS id, (SELECT coalesce(jsonb_object_agg(most.kind, most.seq), '{}') FROM (
        SELECT d.key AS kind, max(d.value::bigint) AS seq
        FROM satchel.replica f, jsonb_each_text(f.delivered) d
        WHERE f.tenant = _tenant AND f.replica_id = ANY (r.replica_id || r.predecessors)
        GROUP BY d.key) AS most) AS delivered
    FROM satchel.replica r WHERE r.tenant = _tenant
), pushed AS (
    SELECT pushed_by, sum(rows) AS rows FROM (SELECT pushed_by, count(*) AS rows FROM satchel.space WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.agent WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.session WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.memory WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.relationship WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.task WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.message WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.chatlog WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.history WHERE tenant = _tenant GROUP BY pushed_by
    UNION ALL SELECT pushed_by, count(*) AS rows FROM satchel.embedding WHERE tenant = _tenant GROUP BY pushed_by) AS p GROUP BY pushed_by
), behind AS (
    SELECT id, sum(rows) AS rows FROM (SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.space t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'space')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'space')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.agent t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'agent')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'agent')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.session t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'session')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'session')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.memory t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'memory')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'memory')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.relationship t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'relationship')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'relationship')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.task t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'task')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'task')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.message t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'message')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'message')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.chatlog t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'chatlog')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'chatlog')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.history t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'history')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'history')::bigint, 0)
    UNION ALL SELECT m.id, n.rows FROM machine m JOIN (SELECT d.seq, (SELECT count(*) FROM satchel.embedding t WHERE t.tenant = _tenant AND t.change_seq > d.seq) AS rows FROM (SELECT DISTINCT coalesce((delivered ->> 'embedding')::bigint, 0) AS seq FROM machine) AS d) AS n ON n.seq = coalesce((m.delivered ->> 'embedding')::bigint, 0)) AS b GROUP BY id
), tried AS (
    SELECT a.replica_id, count(*) AS syncs, count(*) FILTER (WHERE CASE
            WHEN a.finished_at IS NULL THEN a.started_at < satchel.now_ms() - 3600000
            ELSE coalesce((a.said ->> 'exit')::numeric, 0) NOT IN (0, 11) END) AS failed
    FROM machine m JOIN satchel.attempt a ON a.replica_id = m.id
    WHERE a.tenant = _tenant
        -- A bundle that was made for a machine, or stands for its chain, is no sync that failed.
        AND (a.finished_at IS NOT NULL OR (a.carrier IS NULL AND NOT a.levels))
        AND a.started_at >= satchel.now_ms() - 7 * 86400000::bigint
    GROUP BY a.replica_id
)
SELECT _tenant, m.id, coalesce(p.rows, 0)::bigint, coalesce(b.rows, 0)::bigint,
    coalesce(t.syncs, 0), coalesce(t.failed, 0)
FROM machine m
LEFT JOIN pushed p ON p.pushed_by = m.id
LEFT JOIN behind b ON b.id = m.id
LEFT JOIN tried t ON t.replica_id = m.id
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_activity(_tenant text) RETURNS SETOF satchel.report_activity LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Rows created, changed and deleted, by day, machine, agent and kind.
WITH rows AS (
    SELECT 'space' AS kind, name AS key, created_at::bigint AS at, NULL::text AS agent, life, hlc, origin, lineage FROM satchel.space WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'agent' AS kind, agent_id AS key, registered_at::bigint AS at, agent_id::text AS agent, life, hlc, origin, lineage FROM satchel.agent WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'session' AS kind, id AS key, opened_at::bigint AS at, agent_id::text AS agent, life, hlc, origin, lineage FROM satchel.session WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'memory' AS kind, id AS key, recorded_at::bigint AS at, agent_id::text AS agent, life, hlc, origin, lineage FROM satchel.memory WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'relationship' AS kind, id AS key, NULL::bigint AS at, agent_id::text AS agent, life, hlc, origin, lineage FROM satchel.relationship WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'task' AS kind, id AS key, created_at::bigint AS at, created_by::text AS agent, life, hlc, origin, lineage FROM satchel.task WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'message' AS kind, id AS key, created_at::bigint AS at, from_agent::text AS agent, life, hlc, origin, lineage FROM satchel.message WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'chatlog' AS kind, id AS key, said_at::bigint AS at, coalesce(agent_id, host_agent)::text AS agent, life, hlc, origin, lineage FROM satchel.chatlog WHERE tenant = _tenant AND life < 9223372036854775807
    UNION ALL SELECT 'embedding' AS kind, id AS key, NULL::bigint AS at, NULL::text AS agent, life, hlc, origin, lineage FROM satchel.embedding WHERE tenant = _tenant AND life < 9223372036854775807
), ended AS (
    SELECT DISTINCT ON (h.kind, h.key) h.kind, h.key, h.actor
    FROM satchel.history h
    WHERE h.tenant = _tenant AND h.event = 'delete'
    ORDER BY h.kind, h.key, h.at DESC, h.id
), event AS (
    SELECT coalesce(satchel.day_of(r.at), satchel.day_of(satchel.drawn_ms(r.key)),
            CASE WHEN satchel.is_alive(r.life) OR r.lineage <> ''
                THEN satchel.day_of(satchel.first_ms(r.lineage, r.hlc)) END) AS day,
        satchel.first_origin(r.lineage, r.origin) AS machine, r.agent, r.kind, 1 AS what
    FROM rows r
    UNION ALL
    SELECT coalesce(satchel.day_of(h.at), satchel.day_of(h.hlc >> 16)), h.origin, h.actor, h.kind, 2
    FROM satchel.history h
    WHERE h.tenant = _tenant AND satchel.is_alive(h.life) AND h.event <> 'delete'
        AND h.kind = ANY ('{space,agent,session,memory,relationship,task,message,chatlog,embedding}')
    UNION ALL
    SELECT satchel.day_of(r.hlc >> 16), r.origin, e.actor, r.kind, 3
    FROM rows r LEFT JOIN ended e ON e.kind = r.kind AND e.key = r.key
    WHERE NOT satchel.is_alive(r.life)
)
SELECT _tenant, e.day, e.machine, satchel.short(e.agent) AS agent, e.kind,
    count(*) FILTER (WHERE e.what = 1), count(*) FILTER (WHERE e.what = 2),
    count(*) FILTER (WHERE e.what = 3)
FROM event e WHERE e.day IS NOT NULL
GROUP BY e.day, e.machine, satchel.short(e.agent), e.kind
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_memories(_tenant text) RETURNS SETOF satchel.report_memories LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Living memories by state, type, scope and space.
WITH moment AS MATERIALIZED (SELECT satchel.now_ms() AS now), successor AS (
    SELECT DISTINCT m.supersedes AS id FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life) AND m.supersedes IS NOT NULL
), judged AS (
    SELECT CASE
            WHEN m.expires_at <= now THEN 'expired'
            WHEN m.valid_to <= now AND m.retired_at IS NOT NULL AND s.id IS NOT NULL
                THEN 'superseded'
            WHEN m.valid_to <= now THEN 'retracted'
            WHEN m.valid_from > now THEN 'future'
            WHEN coalesce(m.pinned, 0) = 0 AND (m.hlc >> 16) < now - 180 * 86400000::bigint
                THEN 'stale'
            ELSE 'current'
        END AS state,
        satchel.short(m.type) AS type, satchel.short(m.scope) AS scope,
        satchel.short(m.space) AS space, coalesce(m.pinned, 0) <> 0 AS pinned,
        satchel.moment(m.recorded_at) AS recorded_at
    FROM satchel.memory m CROSS JOIN moment LEFT JOIN successor s ON s.id = m.id
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life)
)
SELECT _tenant, j.state, j.type, j.scope, j.space, count(*), count(*) FILTER (WHERE j.pinned),
    min(j.recorded_at), max(j.recorded_at)
FROM judged j GROUP BY j.state, j.type, j.scope, j.space
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_changes(_tenant text) RETURNS SETOF satchel.report_changes LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- One line a change of a memory, as the history tells it; names of columns, never a text.
WITH said AS MATERIALIZED (
    SELECT h.id, left(h.key, 1024) AS key,
        CASE WHEN h.event IN ('update', 'delete', 'restore') THEN h.event ELSE 'other' END
            AS event,
        left(h.actor, 200) AS actor, h.origin,
        coalesce(satchel.moment(h.at), satchel.moment(h.hlc >> 16)) AS at,
        satchel.audit_said(h.changes) AS changes
    FROM satchel.history h
    WHERE h.tenant = _tenant AND h.kind = 'memory' AND satchel.is_alive(h.life)
        AND h.key IS NOT NULL AND h.event IS NOT NULL
), told AS (
    SELECT s.*, CASE
            WHEN s.event <> 'update' THEN s.event
            WHEN s.changes #> '{supersedes, 0}' #>> '{}' IS NOT NULL
                AND (s.changes -> 'retired_at' IS NOT NULL OR s.changes -> 'valid_to' IS NOT NULL)
                AND s.changes #>> '{retired_at, 0}' IS NULL
                THEN 'retract'
            WHEN s.changes #>> '{retired_at, 1}' IS NOT NULL
                AND s.changes #>> '{retired_at, 0}' IS NULL THEN 'supersede'
            WHEN s.changes #>> '{retired_at, 0}' IS NOT NULL
                AND s.changes #>> '{retired_at, 1}' IS NULL THEN 'reopen'
            ELSE s.event
        END AS became
    FROM said s
), successor AS (
    SELECT m.supersedes AS of, m.recorded_at, min(m.id) AS id FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life) AND m.supersedes IS NOT NULL
    GROUP BY m.supersedes, m.recorded_at
)
SELECT _tenant, t.id, t.at, t.became, t.key,
    CASE t.became WHEN 'supersede' THEN s.id END,
    t.actor, t.origin,
    left(coalesce(m.type, CASE t.event WHEN 'delete' THEN t.changes #>> '{type, 0}' END), 200),
    left(coalesce(m.scope, CASE t.event WHEN 'delete' THEN t.changes #>> '{scope, 0}' END), 200),
    left(coalesce(m.space, CASE t.event WHEN 'delete' THEN t.changes #>> '{space, 0}' END), 200),
    CASE t.event WHEN 'update' THEN (
        SELECT string_agg(c.key, ', ' ORDER BY c.key) FROM json_each(t.changes) AS c
        WHERE c.key = ANY ('{type,title,content,metadata,scope,agent_id,user_id,session_id,space,local,importance,confidence,pinned,source,valid_from,valid_to,valid_to_was,recorded_at,retired_at,expires_at,supersedes,aliases,content_hash}')) END
FROM told t
LEFT JOIN successor s ON s.of = t.key
    AND s.recorded_at::text = t.changes #>> '{retired_at, 1}'
LEFT JOIN satchel.memory m ON m.tenant = _tenant AND m.id = t.key
WHERE t.at IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_conflicts(_tenant text) RETURNS SETOF satchel.report_conflicts LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- The conflict journal by day, machine, kind and path, beside what was written then.
SELECT _tenant, c.day, c.machine, c.kind, c.path, c.conflicts, coalesce(w.rows, 0)::bigint
FROM (
    SELECT coalesce(satchel.day_of(at), satchel.day_of(received_at)) AS day, replica_id AS machine,
        satchel.short(kind) AS kind, satchel.short(path) AS path, count(*) AS conflicts
    FROM satchel.conflict WHERE tenant = _tenant GROUP BY 1, 2, 3, 4
) AS c
LEFT JOIN (
    SELECT day, machine, kind, sum(created + changed + deleted) AS rows
    FROM satchel.report_activity WHERE tenant = _tenant GROUP BY 1, 2, 3
) AS w USING (day, machine, kind)
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_totals(_tenant text) RETURNS SETOF satchel.report_totals LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Rows of each kind.
SELECT _tenant, k.kind, k.alive, k.deleted, k.erased FROM (SELECT 'space' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.space WHERE tenant = _tenant
    UNION ALL SELECT 'agent' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.agent WHERE tenant = _tenant
    UNION ALL SELECT 'session' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.session WHERE tenant = _tenant
    UNION ALL SELECT 'memory' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.memory WHERE tenant = _tenant
    UNION ALL SELECT 'relationship' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.relationship WHERE tenant = _tenant
    UNION ALL SELECT 'task' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.task WHERE tenant = _tenant
    UNION ALL SELECT 'message' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.message WHERE tenant = _tenant
    UNION ALL SELECT 'chatlog' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.chatlog WHERE tenant = _tenant
    UNION ALL SELECT 'history' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.history WHERE tenant = _tenant
    UNION ALL SELECT 'embedding' AS kind, count(*) FILTER (WHERE satchel.is_alive(life)) AS alive, count(*) FILTER (WHERE NOT satchel.is_alive(life) AND life < 9223372036854775807) AS deleted, count(*) FILTER (WHERE life = 9223372036854775807) AS erased FROM satchel.embedding WHERE tenant = _tenant) AS k
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_tasks(_tenant text) RETURNS SETOF satchel.report_tasks LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- One line a living task, with its place in the tree.
WITH placed AS MATERIALIZED (
    SELECT * FROM satchel.task_places(_tenant)
), counted AS (
    SELECT p.parent_id AS id, count(*) AS children FROM placed p GROUP BY p.parent_id
)
SELECT _tenant, t.id, CASE t.scope WHEN 'org' THEN left(t.title, 1000) END,
    satchel.short(t.status), left(t.owner_agent, 200), left(t.created_by, 200),
    coalesce(satchel.moment(t.created_at), satchel.moment(satchel.drawn_ms(t.id)),
        satchel.moment(satchel.first_ms(t.lineage, t.hlc))),
    CASE WHEN t.status IN ('completed', 'failed', 'cancelled')
        THEN coalesce(satchel.moment(t.completed_at), satchel.moment(t.hlc >> 16)) END,
    satchel.moment(t.due_at), left(t.claimed_by, 200), satchel.moment(t.lease_until),
    p.parent_id, p.root_id, p.depth, coalesce(c.children, 0)
FROM satchel.task t JOIN placed p ON p.id = t.id LEFT JOIN counted c ON c.id = t.id
WHERE t.tenant = _tenant
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_conversations(_tenant text) RETURNS SETOF satchel.report_conversations LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- One line a conversation.
WITH turn AS (
    SELECT left(c.conversation_id, 500) AS conversation_id, left(c.host_agent, 200) AS host_agent,
        left(c.agent_id, 200) AS agent_id,
        satchel.first_origin(c.lineage, c.origin) AS machine,
        coalesce(satchel.moment(c.said_at), satchel.moment(satchel.first_ms(c.lineage, c.hlc)))
            AS at, c.tokens_in, c.tokens_out, satchel.dollars(c.cost) AS cost,
        row_number() OVER (PARTITION BY left(c.conversation_id, 500)
            ORDER BY c.ordinal, c.said_at, c.id) AS place
    FROM satchel.chatlog c
    WHERE c.tenant = _tenant AND satchel.is_alive(c.life) AND c.conversation_id IS NOT NULL
)
SELECT _tenant, t.conversation_id,
    max(t.host_agent) FILTER (WHERE t.place = 1), max(t.agent_id) FILTER (WHERE t.place = 1),
    (array_agg(t.machine) FILTER (WHERE t.place = 1))[1], min(t.at), max(t.at), count(*),
    satchel.bounded(coalesce(sum(t.tokens_in), 0)), satchel.bounded(coalesce(sum(t.tokens_out), 0)),
    sum(t.cost)
FROM turn t GROUP BY t.conversation_id
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_usage(_tenant text) RETURNS SETOF satchel.report_usage LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Turns of models by day, provider, model, machine and agent.
WITH turn AS (
    SELECT coalesce(satchel.day_of(c.said_at),
            satchel.day_of(satchel.first_ms(c.lineage, c.hlc))) AS day,
        satchel.short(c.provider) AS provider, satchel.short(c.model) AS model,
        satchel.first_origin(c.lineage, c.origin) AS machine,
        satchel.short(coalesce(c.agent_id, c.host_agent)) AS agent,
        c.tokens_in, c.tokens_out, satchel.dollars(c.cost) AS cost
    FROM satchel.chatlog c
    WHERE c.tenant = _tenant AND satchel.is_alive(c.life)
        AND num_nonnulls(c.model, c.tokens_in, c.tokens_out, c.cost) > 0
)
SELECT _tenant, t.day, t.provider, t.model, t.machine, t.agent, count(*),
    satchel.bounded(coalesce(sum(t.tokens_in), 0)), satchel.bounded(coalesce(sum(t.tokens_out), 0)),
    sum(t.cost)
FROM turn t WHERE t.day IS NOT NULL
GROUP BY t.day, t.provider, t.model, t.machine, t.agent
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_coverage(_tenant text) RETURNS SETOF satchel.report_coverage LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- How many memories have a vector of their present text, by model.
WITH memory AS MATERIALIZED (
    SELECT m.id, m.title, m.aliases, m.content FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life)
        AND satchel.is_embeddable(m.title, m.aliases, m.content)
), vector AS (
    SELECT satchel.short(e.model) AS model, e.memory_id,
        bool_or(e.content_hash = satchel.embedded_hash(m.title, m.aliases, m.content)) AS fits
    FROM satchel.embedding e JOIN memory m ON m.id = e.memory_id
    WHERE e.tenant = _tenant AND satchel.is_alive(e.life)
    GROUP BY satchel.short(e.model), e.memory_id
)
SELECT _tenant, v.model, (SELECT count(*) FROM memory),
    count(*) FILTER (WHERE v.fits), count(*) FILTER (WHERE v.fits IS NOT TRUE)
FROM vector v GROUP BY v.model
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_deletions(_tenant text) RETURNS SETOF satchel.report_deletions LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- Tombstones and erased rows, by day, machine and kind.
SELECT _tenant, d.day, d.machine, d.kind, count(*) FILTER (WHERE NOT d.erased),
    count(*) FILTER (WHERE d.erased)
FROM (SELECT 'space' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.space WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'agent' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.agent WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'session' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.session WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'memory' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.memory WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'relationship' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.relationship WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'task' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.task WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'message' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.message WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'chatlog' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.chatlog WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'history' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.history WHERE tenant = _tenant AND NOT satchel.is_alive(life)
    UNION ALL SELECT 'embedding' AS kind, life = 9223372036854775807 AS erased, CASE life WHEN 9223372036854775807 THEN satchel.day_of(received_at) ELSE satchel.day_of(hlc >> 16) END AS day, CASE life WHEN 9223372036854775807 THEN pushed_by ELSE origin END AS machine FROM satchel.embedding WHERE tenant = _tenant AND NOT satchel.is_alive(life)) AS d
GROUP BY d.day, d.machine, d.kind
$$;

CREATE OR REPLACE FUNCTION satchel.fresh_reads(_tenant text) RETURNS SETOF satchel.report_reads LANGUAGE sql STABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
-- The chains of reads by day, machine, actor, tool and action; with them who searched here.
WITH said AS MATERIALIZED (
    SELECT a.replica_id AS machine, satchel.day_of(a.at) AS day, satchel.audit_said(a.body) AS body
    FROM satchel.audit a WHERE a.tenant = _tenant AND a.chain = 'reads'
), told AS (
    SELECT s.machine, s.day, satchel.short(s.body ->> 'actor') AS actor,
        satchel.short(s.body ->> 'tool') AS tool,
        satchel.short(s.body ->> 'action') AS action,
        CASE json_typeof(s.body -> 'rows') WHEN 'array' THEN json_array_length(s.body -> 'rows')
            ELSE 0 END + CASE WHEN s.body ->> 'more' ~ '^[0-9]{1,15}$'
            THEN (s.body ->> 'more')::bigint ELSE 0 END AS given
    FROM said s
    UNION ALL
    SELECT t.id, satchel.day_of(f.at), satchel.short(f.login), 'warehouse search', 'searched',
        CASE jsonb_typeof(f.given) WHEN 'array' THEN jsonb_array_length(f.given) ELSE 0 END
    FROM satchel.searched f JOIN satchel.tenant t ON t.name = f.tenant
    WHERE f.tenant = _tenant
)
SELECT _tenant, t.day, t.machine, t.actor, t.tool, t.action, count(*), sum(t.given)::bigint
FROM told t WHERE t.day IS NOT NULL AND t.action NOT IN ('began', 'rotated', 'anchor')
GROUP BY t.day, t.machine, t.actor, t.tool, t.action
$$;

-- One sum of a tenant made anew: only lines that differ are written, so that a refresh of what has
-- hardly changed costs little room. Whole tables are joined: without nested loops, which a plan of
-- a table that was never analysed would take. Returns how many lines it has.
CREATE OR REPLACE FUNCTION satchel.refresh_report(_tenant text, _name text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = satchel, pg_catalog, pg_temp SET work_mem = '64MB' SET jit = off
SET enable_nestloop = off SET client_min_messages = warning AS $$
DECLARE
    began timestamp with time zone := clock_timestamp();
    sums constant text := quote_ident('report_' || _name);
    key text := (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = ('satchel.' || sums)::regclass AND i.indisprimary);
    held bigint;
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE fresh_report ON COMMIT DROP AS'
        ' SELECT * FROM satchel.%I($1)', 'fresh_' || _name) USING _tenant;
    EXECUTE format('DELETE FROM satchel.%1$s WHERE (%2$s) IN (SELECT %2$s FROM ('
        'SELECT * FROM satchel.%1$s WHERE tenant = $1 EXCEPT SELECT * FROM pg_temp.fresh_report'
        ') AS gone)', sums, key) USING _tenant;
    EXECUTE format('INSERT INTO satchel.%1$s SELECT * FROM pg_temp.fresh_report'
        ' EXCEPT SELECT * FROM satchel.%1$s WHERE tenant = $1', sums) USING _tenant;
    SELECT count(*) INTO held FROM pg_temp.fresh_report;
    DROP TABLE pg_temp.fresh_report;
    -- A report that comes before autoanalyze would be planned as if the sums were still empty.
    EXECUTE format('ANALYZE satchel.%s', sums);
    INSERT INTO satchel.report_refresh AS r VALUES (_tenant, _name,
        (SELECT now FROM satchel.clock), held,
        (extract(epoch FROM clock_timestamp() - began) * 1000)::bigint)
    ON CONFLICT (tenant, name) DO UPDATE SET refreshed_at = excluded.refreshed_at,
        lines = excluded.lines, took_ms = excluded.took_ms;
    RETURN held;
END
$$;

-- All sums of a tenant, or of all tenants; returns how many lines they have.
CREATE OR REPLACE FUNCTION satchel.refresh_reports(_tenant text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    of_tenant text;
    sum_name text;
    total bigint := 0;
BEGIN
    PERFORM satchel.begin_refresh();
    FOR of_tenant IN SELECT name FROM satchel.tenant
        WHERE _tenant IS NULL OR name = _tenant ORDER BY number
    LOOP
        FOREACH sum_name IN ARRAY '{machines,activity,memories,changes,conflicts,totals,tasks,conversations,usage,coverage,deletions,reads}'::text[] LOOP
            total := total + satchel.refresh_report(of_tenant, sum_name);
        END LOOP;
    END LOOP;
    RETURN total;
END
$$;

-- One refresh at a time; no reader and no sync waits for it.
CREATE OR REPLACE FUNCTION satchel.begin_refresh() RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
BEGIN
    LOCK TABLE satchel.report_refresh IN SHARE ROW EXCLUSIVE MODE NOWAIT;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'another refresh of the reports is running' USING ERRCODE = '55P03';
END
$$;

CREATE OR REPLACE VIEW report.machines WITH (security_barrier) AS
-- report.machines
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, nullif(r.host, '') AS host, r.login,
    nullif(r.version, '') AS version,
    to_timestamp(r.first_seen / 1000.0) AS first_seen,
    to_timestamp(r.last_seen / 1000.0) AS last_seen,
    to_timestamp(done.finished_at / 1000.0) AS last_sync,
    (done.said ->> 'exit')::numeric::bigint AS last_exit,
    s.syncs_7d, s.failed_7d,
    CASE WHEN done.finished_at IS NOT NULL
        THEN greatest(0, clock.ms - done.finished_at) / 1000.0::double precision END AS lag_s,
    s.rows, s.rows_behind,
    (done.said ->> 'oldest_unsent_s')::double precision AS oldest_unsent_s,
    (done.said ->> 'clock_offset_ms')::numeric::bigint AS clock_offset_ms,
    (done.said ->> 'quarantined')::numeric::bigint AS quarantined,
    r.revoked_at IS NOT NULL AS revoked,
    CASE
        WHEN r.revoked_at IS NOT NULL THEN 'revoked'
        WHEN tried.started_at IS NULL AND done.finished_at IS NULL THEN 'never'
        WHEN tried.finished_at IS NULL
            OR coalesce((tried.said ->> 'exit')::numeric, 0) NOT IN (0, 11) THEN 'failing'
        WHEN clock.ms - done.finished_at > 24 * 3600000::bigint THEN 'late'
        ELSE 'ok'
    END AS status
FROM satchel.replica r
CROSS JOIN satchel.clock
LEFT JOIN LATERAL (
    SELECT a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id AND a.finished_at IS NOT NULL
    ORDER BY a.started_at DESC LIMIT 1
) AS done ON true
LEFT JOIN LATERAL (
    SELECT a.started_at, a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id
        AND (a.finished_at IS NOT NULL
            OR (a.carrier IS NULL AND NOT a.levels AND a.started_at < clock.ms - 3600000))
    ORDER BY a.started_at DESC LIMIT 1
) AS tried ON true
LEFT JOIN satchel.report_machines s ON s.tenant = r.tenant AND s.machine = r.replica_id;

CREATE OR REPLACE VIEW report.activity WITH (security_barrier) AS
-- report.activity
SELECT a.tenant, a.day, encode(a.machine, 'hex') AS machine, n.host, nullif(a.agent, '') AS agent,
    a.kind, a.created, a.changed, a.deleted
FROM satchel.report_activity a
LEFT JOIN satchel.machine_name n ON n.tenant = a.tenant AND n.machine = a.machine;

CREATE OR REPLACE VIEW report.memories WITH (security_barrier) AS
-- report.memories
SELECT m.tenant, m.state, nullif(m.type, '') AS type, nullif(m.scope, '') AS scope,
    nullif(m.space, '') AS space, m.memories, m.pinned, m.oldest, m.newest
FROM satchel.report_memories m;

CREATE OR REPLACE VIEW report.knowledge_changes WITH (security_barrier) AS
-- report.knowledge_changes
SELECT c.tenant, c.at, (c.at AT TIME ZONE 'UTC')::date AS day, c.event, c.memory_id,
    c.successor_id, c.actor, encode(c.machine, 'hex') AS machine, n.host, c.type, c.scope, c.space,
    c.fields
FROM satchel.report_changes c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine;

CREATE OR REPLACE VIEW report.conflicts WITH (security_barrier) AS
-- report.conflicts
SELECT c.tenant, c.day, encode(c.machine, 'hex') AS machine, n.host, c.kind, c.path, c.conflicts,
    c.rows_written, c.conflicts::double precision / nullif(c.rows_written, 0) AS rate
FROM satchel.report_conflicts c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine;

CREATE OR REPLACE VIEW report.quarantine WITH (security_barrier) AS
-- report.quarantine
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, nullif(r.host, '') AS host, held.kind,
    held.rows, to_timestamp(done.finished_at / 1000.0) AS reported_at
FROM satchel.replica r
CROSS JOIN LATERAL (
    SELECT a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id AND a.finished_at IS NOT NULL
    ORDER BY a.started_at DESC LIMIT 1
) AS done
CROSS JOIN LATERAL (
    SELECT substr(e.key, 11) AS kind, (e.value #>> '{}')::numeric::bigint AS rows
    FROM jsonb_each(done.said) AS e WHERE starts_with(e.key, 'held_back.')
    UNION ALL
    SELECT NULL, (done.said ->> 'quarantined')::numeric::bigint
    WHERE NOT EXISTS (SELECT FROM jsonb_each(done.said) AS e
        WHERE starts_with(e.key, 'held_back.'))
) AS held
WHERE r.revoked_at IS NULL AND held.rows > 0;

CREATE OR REPLACE VIEW report.totals WITH (security_barrier) AS
-- report.totals
SELECT t.tenant, t.kind, t.alive, t.deleted, t.erased FROM satchel.report_totals t;

CREATE OR REPLACE VIEW report.tasks WITH (security_barrier) AS
-- report.tasks
SELECT t.tenant, t.task_id, t.title, nullif(t.status, '') AS status, t.owner, t.created_by,
    t.created_at, t.completed_at,
    CASE WHEN t.completed_at IS NOT NULL
        THEN greatest(0, extract(epoch FROM t.completed_at - t.created_at))::double precision
    END AS cycle_s,
    CASE WHEN t.completed_at IS NULL
        THEN greatest(0, extract(epoch FROM clock.now - t.created_at))::double precision
    END AS age_s,
    t.due_at, coalesce(t.completed_at IS NULL AND t.due_at < clock.now, false) AS overdue,
    t.claimed_by, t.lease_until, t.parent_id, t.root_id, t.depth, t.children
FROM satchel.report_tasks t CROSS JOIN satchel.clock;

CREATE OR REPLACE VIEW report.task_flow WITH (security_barrier) AS
-- report.task_flow
WITH event AS (
    SELECT t.tenant, t.created_at AS at, 'created' AS what, NULL::double precision AS cycle_s
    FROM satchel.report_tasks t
    UNION ALL
    SELECT t.tenant, t.ended_at, t.status, CASE t.status WHEN 'completed'
        THEN extract(epoch FROM t.ended_at - t.created_at)::double precision END
    FROM (SELECT tenant, status, created_at, greatest(completed_at, created_at) AS ended_at
        FROM satchel.report_tasks WHERE completed_at IS NOT NULL) AS t
), counted AS (
    SELECT e.tenant, (e.at AT TIME ZONE 'UTC')::date AS day,
        count(*) FILTER (WHERE e.what = 'created') AS created,
        count(*) FILTER (WHERE e.what = 'completed') AS done,
        count(*) FILTER (WHERE e.what = 'failed') AS failed,
        count(*) FILTER (WHERE e.what = 'cancelled') AS cancelled,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY e.cycle_s) AS cycle_s_median,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY e.cycle_s) AS cycle_s_p90
    FROM event e GROUP BY e.tenant, (e.at AT TIME ZONE 'UTC')::date
)
SELECT c.tenant, c.day, c.created, c.done, c.failed, c.cancelled, c.cycle_s_median, c.cycle_s_p90,
    (sum(c.created - c.done - c.failed - c.cancelled)
        OVER (PARTITION BY c.tenant ORDER BY c.day))::bigint AS open_at_end
FROM counted c;

CREATE OR REPLACE VIEW report.tasks_open WITH (security_barrier) AS
-- report.tasks_open
SELECT t.tenant, t.owner, CASE
        WHEN t.created_at > clock.now - interval '1 day' THEN '<1d'
        WHEN t.created_at > clock.now - interval '7 days' THEN '1-7d'
        WHEN t.created_at > clock.now - interval '30 days' THEN '7-30d'
        ELSE '>30d'
    END AS age, nullif(t.status, '') AS status, count(*) AS tasks
FROM satchel.report_tasks t CROSS JOIN satchel.clock
WHERE t.completed_at IS NULL
GROUP BY 1, 2, 3, 4;

CREATE OR REPLACE VIEW report.conversations WITH (security_barrier) AS
-- report.conversations
SELECT c.tenant, c.conversation_id, c.host_agent, c.agent, encode(c.machine, 'hex') AS machine,
    n.host, c.first_at, c.last_at, c.turns, c.tokens_in, c.tokens_out,
    round(c.cost::numeric, 6)::double precision AS cost
FROM satchel.report_conversations c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine;

CREATE OR REPLACE VIEW report.usage WITH (security_barrier) AS
-- report.usage
SELECT u.tenant, u.day, nullif(u.provider, '') AS provider, nullif(u.model, '') AS model,
    encode(u.machine, 'hex') AS machine, n.host, nullif(u.agent, '') AS agent, u.turns,
    u.tokens_in, u.tokens_out, round(u.cost::numeric, 6)::double precision AS cost
FROM satchel.report_usage u
LEFT JOIN satchel.machine_name n ON n.tenant = u.tenant AND n.machine = u.machine;

CREATE OR REPLACE VIEW report.embedding_coverage WITH (security_barrier) AS
-- report.embedding_coverage
SELECT c.tenant, nullif(c.model, '') AS model, c.memories, c.embedded, c.outdated,
    c.memories - c.embedded - c.outdated AS missing,
    c.embedded::double precision / nullif(c.memories, 0) AS share
FROM satchel.report_coverage c;

CREATE OR REPLACE VIEW report.deletions WITH (security_barrier) AS
-- report.deletions
SELECT d.tenant, d.day, encode(d.machine, 'hex') AS machine, n.host, d.kind, d.deleted, d.erased
FROM satchel.report_deletions d
LEFT JOIN satchel.machine_name n ON n.tenant = d.tenant AND n.machine = d.machine;

CREATE OR REPLACE VIEW report.reads WITH (security_barrier) AS
-- report.reads
SELECT r.tenant, r.day, encode(r.machine, 'hex') AS machine, n.host, nullif(r.actor, '') AS actor,
    nullif(r.tool, '') AS tool, nullif(r.action, '') AS action, r.records, r.rows_given
FROM satchel.report_reads r
LEFT JOIN satchel.machine_name n ON n.tenant = r.tenant AND n.machine = r.machine;

CREATE OR REPLACE VIEW report.freshness WITH (security_barrier) AS
-- report.freshness
SELECT r.tenant, v.name, r.refreshed_at, CASE WHEN v.is_whole THEN r.lines END AS rows
FROM satchel.report_refresh r
JOIN (VALUES ('machines', 'machines', True), ('activity', 'activity', True), ('memories', 'memories', True), ('knowledge_changes', 'changes', True), ('conflicts', 'conflicts', True), ('totals', 'totals', True), ('tasks', 'tasks', True), ('task_flow', 'tasks', False), ('tasks_open', 'tasks', False), ('conversations', 'conversations', True), ('usage', 'usage', True), ('embedding_coverage', 'coverage', True), ('deletions', 'deletions', True), ('reads', 'reads', True)) AS v (name, sum, is_whole) ON v.sum = r.name;

COMMENT ON VIEW report.machines IS 'One line a machine: when it synced last, how far it is behind, what it reported.';
COMMENT ON COLUMN report.machines.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.machines.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.machines.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.machines.login IS 'the login that its id is bound to';
COMMENT ON COLUMN report.machines.version IS 'version of satchel in its last hello';
COMMENT ON COLUMN report.machines.first_seen IS 'when it came for the first time';
COMMENT ON COLUMN report.machines.last_seen IS 'when it last said hello';
COMMENT ON COLUMN report.machines.last_sync IS 'when it last came to the end of a sync, whatever its exit code';
COMMENT ON COLUMN report.machines.last_exit IS 'exit code of that sync: 0 clean, 11 rows held back, else a failure';
COMMENT ON COLUMN report.machines.syncs_7d IS 'syncs begun, and bundles taken in, in the 7 days before the refresh; NULL before the first';
COMMENT ON COLUMN report.machines.failed_7d IS 'of these, those that ended with another exit code than 0 or 11, or had not ended an hour after they began';
COMMENT ON COLUMN report.machines.lag_s IS 'seconds since last_sync';
COMMENT ON COLUMN report.machines.rows IS 'rows whose newest version it brought, at the refresh';
COMMENT ON COLUMN report.machines.rows_behind IS 'changes at the warehouse that were not delivered to it at the refresh, its own included: a machine pulls those too';
COMMENT ON COLUMN report.machines.oldest_unsent_s IS 'age of the oldest row that still waited there at the end of its last sync; NULL: none waited, or its satchel does not tell';
COMMENT ON COLUMN report.machines.clock_offset_ms IS 'how far its clock was ahead of the warehouse''s at last_sync';
COMMENT ON COLUMN report.machines.quarantined IS 'rows that could not travel at last_sync';
COMMENT ON COLUMN report.machines.revoked IS 'whether its doors are closed';
COMMENT ON COLUMN report.machines.status IS '`revoked`; `never` came to the end of a sync; `failing`: the last one that ended or should have failed; `late`: none ended for more than 24 hours; else `ok`';

COMMENT ON VIEW report.activity IS 'Rows created, changed, deleted by day, machine, agent, kind; no history, no erased rows.';
COMMENT ON COLUMN report.activity.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.activity.day IS 'day in UTC';
COMMENT ON COLUMN report.activity.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.activity.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.activity.agent IS 'who: of a new row its agent (of one deleted since it is not told), else the actor in the history; NULL: not told';
COMMENT ON COLUMN report.activity.kind IS 'row kind: memory, task, chatlog, …';
COMMENT ON COLUMN report.activity.created IS 'rows first written that day, also such as were deleted since; a chat turn counts on the day on which it was said';
COMMENT ON COLUMN report.activity.changed IS 'changes that the history tells of (memories, edges, tasks, chat turns, sessions, spaces), restores included; SQL by hand at the warehouse leaves no history';
COMMENT ON COLUMN report.activity.deleted IS 'rows deleted that day and not restored since; erased ones are not told';

COMMENT ON VIEW report.memories IS 'Living memories by state, type, scope and space; of the states the first that holds.';
COMMENT ON COLUMN report.memories.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.memories.state IS '`expired`: its expires_at has passed; `superseded`: another took its place; `retracted`: no longer true, taken back or at its end, and nothing took its place; `future`: not true yet; `stale`: true, not pinned and not written for 180 days; `current`: any other';
COMMENT ON COLUMN report.memories.type IS 'type of memory: fact, decision, …';
COMMENT ON COLUMN report.memories.scope IS 'who may read it: agent, session, space, user, org';
COMMENT ON COLUMN report.memories.space IS 'the space; NULL: none';
COMMENT ON COLUMN report.memories.memories IS 'memories';
COMMENT ON COLUMN report.memories.pinned IS 'of these, pinned ones';
COMMENT ON COLUMN report.memories.oldest IS 'when the first of them was recorded';
COMMENT ON COLUMN report.memories.newest IS 'when the last of them was recorded';

COMMENT ON VIEW report.knowledge_changes IS 'What became of memories after they were written: who changed what, when. Never a text.';
COMMENT ON COLUMN report.knowledge_changes.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.knowledge_changes.at IS 'when, by the machine''s clock';
COMMENT ON COLUMN report.knowledge_changes.day IS 'its day in UTC';
COMMENT ON COLUMN report.knowledge_changes.event IS '`supersede`: another took its place; `retract`; `reopen`: a supersession was undone; `update`, `delete`, `restore`; `other`: what a newer or another program wrote';
COMMENT ON COLUMN report.knowledge_changes.memory_id IS 'the memory';
COMMENT ON COLUMN report.knowledge_changes.successor_id IS 'of `supersede`: what took its place, where that still stands';
COMMENT ON COLUMN report.knowledge_changes.actor IS 'agent or user; NULL: the operator';
COMMENT ON COLUMN report.knowledge_changes.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.knowledge_changes.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.knowledge_changes.type IS 'its type now; of a deleted one as the deletion found it';
COMMENT ON COLUMN report.knowledge_changes.scope IS 'its scope, likewise';
COMMENT ON COLUMN report.knowledge_changes.space IS 'its space, likewise';
COMMENT ON COLUMN report.knowledge_changes.fields IS 'columns that an update changed, by name, with `, ` between';

COMMENT ON VIEW report.conflicts IS 'Versions that lost to a concurrent one: what is still kept of the conflict journal.';
COMMENT ON COLUMN report.conflicts.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.conflicts.day IS 'day in UTC';
COMMENT ON COLUMN report.conflicts.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.conflicts.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.conflicts.kind IS 'row kind: memory, task, chatlog, …';
COMMENT ON COLUMN report.conflicts.path IS 'how the two met: `push`, `pull`, `bundle` or another path of a sync';
COMMENT ON COLUMN report.conflicts.conflicts IS 'versions that the machine brought to the journal that day';
COMMENT ON COLUMN report.conflicts.rows_written IS 'rows of the kind that the machine created, changed or deleted then';
COMMENT ON COLUMN report.conflicts.rate IS 'conflicts a row written; NULL where none was written that day';

COMMENT ON VIEW report.quarantine IS 'Rows that a machine holds back as they cannot travel, as its last report says.';
COMMENT ON COLUMN report.quarantine.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.quarantine.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.quarantine.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.quarantine.kind IS 'row kind; NULL: its satchel tells the number only';
COMMENT ON COLUMN report.quarantine.rows IS 'rows held back';
COMMENT ON COLUMN report.quarantine.reported_at IS 'when the sync ended that says so';

COMMENT ON VIEW report.totals IS 'Rows at the warehouse by kind.';
COMMENT ON COLUMN report.totals.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.totals.kind IS 'row kind: memory, task, chatlog, …';
COMMENT ON COLUMN report.totals.alive IS 'living rows';
COMMENT ON COLUMN report.totals.deleted IS 'tombstones';
COMMENT ON COLUMN report.totals.erased IS 'rows emptied for ever by a forget';

COMMENT ON VIEW report.tasks IS 'One line a living task, with its place in the tree.';
COMMENT ON COLUMN report.tasks.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.tasks.task_id IS 'the task';
COMMENT ON COLUMN report.tasks.title IS 'its title, of tasks with scope `org`; else NULL';
COMMENT ON COLUMN report.tasks.status IS 'pending, in_progress, blocked, completed, failed or cancelled';
COMMENT ON COLUMN report.tasks.owner IS 'agent that has it to do';
COMMENT ON COLUMN report.tasks.created_by IS 'who made it';
COMMENT ON COLUMN report.tasks.created_at IS 'when it was made';
COMMENT ON COLUMN report.tasks.completed_at IS 'when it was completed, failed or was cancelled; NULL: open';
COMMENT ON COLUMN report.tasks.cycle_s IS 'seconds from created_at to completed_at; 0 where a clock that was wrong put that before it was made';
COMMENT ON COLUMN report.tasks.age_s IS 'of an open one: seconds since created_at; 0 where a clock that was wrong put that before it was made';
COMMENT ON COLUMN report.tasks.due_at IS 'when it is due';
COMMENT ON COLUMN report.tasks.overdue IS 'open, and due before now';
COMMENT ON COLUMN report.tasks.claimed_by IS 'agent that works on it';
COMMENT ON COLUMN report.tasks.lease_until IS 'until when that claim holds';
COMMENT ON COLUMN report.tasks.parent_id IS 'its parent in the tree that holds: of a ring of parents the link with the highest version is cut, and every link to a parent that is deleted or has not come';
COMMENT ON COLUMN report.tasks.root_id IS 'the task at the top of its tree; itself at the top';
COMMENT ON COLUMN report.tasks.depth IS 'steps down from there; 0 at the top';
COMMENT ON COLUMN report.tasks.children IS 'tasks right below it';

COMMENT ON VIEW report.task_flow IS 'Living tasks that began and ended, by day; days on which nothing happened have no line.';
COMMENT ON COLUMN report.task_flow.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.task_flow.day IS 'day in UTC';
COMMENT ON COLUMN report.task_flow.created IS 'tasks made';
COMMENT ON COLUMN report.task_flow.done IS 'tasks completed, by the day of that, though never before they were made';
COMMENT ON COLUMN report.task_flow.failed IS 'tasks that failed';
COMMENT ON COLUMN report.task_flow.cancelled IS 'tasks cancelled';
COMMENT ON COLUMN report.task_flow.cycle_s_median IS 'median seconds from made to completed, of those of the day';
COMMENT ON COLUMN report.task_flow.cycle_s_p90 IS 'their 90th percentile, with interpolation';
COMMENT ON COLUMN report.task_flow.open_at_end IS 'tasks open at the end of the day';

COMMENT ON VIEW report.tasks_open IS 'Open tasks by owner and age.';
COMMENT ON COLUMN report.tasks_open.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.tasks_open.owner IS 'agent that has them to do; NULL: nobody';
COMMENT ON COLUMN report.tasks_open.age IS 'time since they were made: `<1d`, `1-7d`, `7-30d`, `>30d`';
COMMENT ON COLUMN report.tasks_open.status IS 'pending, in_progress, blocked, completed, failed or cancelled';
COMMENT ON COLUMN report.tasks_open.tasks IS 'tasks';

COMMENT ON VIEW report.conversations IS 'One line a conversation in the chat log.';
COMMENT ON COLUMN report.conversations.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.conversations.conversation_id IS 'the conversation';
COMMENT ON COLUMN report.conversations.host_agent IS 'program that held it, by its first turn';
COMMENT ON COLUMN report.conversations.agent IS 'agent, by its first turn';
COMMENT ON COLUMN report.conversations.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.conversations.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.conversations.first_at IS 'when its first turn was said';
COMMENT ON COLUMN report.conversations.last_at IS 'when its last turn was said';
COMMENT ON COLUMN report.conversations.turns IS 'turns';
COMMENT ON COLUMN report.conversations.tokens_in IS 'tokens that models read';
COMMENT ON COLUMN report.conversations.tokens_out IS 'tokens that models wrote';
COMMENT ON COLUMN report.conversations.cost IS 'US dollars to six places, as the hosts told them; NULL: none was told of';

COMMENT ON VIEW report.usage IS 'Turns of models with their tokens and cost, by day, provider, model, machine and agent.';
COMMENT ON COLUMN report.usage.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.usage.day IS 'day in UTC';
COMMENT ON COLUMN report.usage.provider IS 'provider of the model';
COMMENT ON COLUMN report.usage.model IS 'model';
COMMENT ON COLUMN report.usage.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.usage.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.usage.agent IS 'agent; where it is not told, the program that held the conversation';
COMMENT ON COLUMN report.usage.turns IS 'chat turns that tell of a model, tokens or cost';
COMMENT ON COLUMN report.usage.tokens_in IS 'tokens that models read';
COMMENT ON COLUMN report.usage.tokens_out IS 'tokens that models wrote';
COMMENT ON COLUMN report.usage.cost IS 'US dollars to six places, as the hosts told them; NULL: none was told of';

COMMENT ON VIEW report.embedding_coverage IS 'How many living memories have a vector of their present text, by model.';
COMMENT ON COLUMN report.embedding_coverage.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.embedding_coverage.model IS 'model: name and hash of its weights';
COMMENT ON COLUMN report.embedding_coverage.memories IS 'living memories that have a text';
COMMENT ON COLUMN report.embedding_coverage.embedded IS 'those with a vector of their present text';
COMMENT ON COLUMN report.embedding_coverage.outdated IS 'those whose vectors are all of an earlier text';
COMMENT ON COLUMN report.embedding_coverage.missing IS 'those without any vector of the model';
COMMENT ON COLUMN report.embedding_coverage.share IS 'embedded / memories, 0..1';

COMMENT ON VIEW report.deletions IS 'Rows that are deleted or erased now, by the day and machine of that.';
COMMENT ON COLUMN report.deletions.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.deletions.day IS 'day in UTC';
COMMENT ON COLUMN report.deletions.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.deletions.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.deletions.kind IS 'row kind: memory, task, chatlog, …';
COMMENT ON COLUMN report.deletions.deleted IS 'tombstones: deleted that day by that machine, and not restored since';
COMMENT ON COLUMN report.deletions.erased IS 'rows emptied for ever by a forget, by the day on which that arrived and the machine that brought it; rows about a forgotten one included';

COMMENT ON VIEW report.reads IS 'What was searched and read: what is still kept of audit chains and of searches here.';
COMMENT ON COLUMN report.reads.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.reads.day IS 'day in UTC';
COMMENT ON COLUMN report.reads.machine IS 'machine: its replica id, 32 hex digits';
COMMENT ON COLUMN report.reads.host IS 'the name that the machine gave itself; `(warehouse)` for SQL by hand there';
COMMENT ON COLUMN report.reads.actor IS 'agent or user who asked, of a search here the login; NULL: the operator';
COMMENT ON COLUMN report.reads.tool IS 'the tool, e.g. memory_search; `warehouse search` of a search here';
COMMENT ON COLUMN report.reads.action IS '`read`; `searched` of a search here';
COMMENT ON COLUMN report.reads.records IS 'records: one for each call';
COMMENT ON COLUMN report.reads.rows_given IS 'rows that the calls gave';

COMMENT ON VIEW report.freshness IS 'When the views that are no live ones were made anew; no line of a tenant: never.';
COMMENT ON COLUMN report.freshness.tenant IS 'tenant (organisation)';
COMMENT ON COLUMN report.freshness.name IS 'view';
COMMENT ON COLUMN report.freshness.refreshed_at IS 'as of when it tells';
COMMENT ON COLUMN report.freshness.rows IS 'its lines then; NULL of `task_flow` and `tasks_open`, which add up `tasks`';

-- What auditors read: the audit chains of their tenant's machines, as they came. Nothing is dropped
-- or renamed here, and columns are only ever appended: people build on it.

CREATE OR REPLACE VIEW audit.machines AS
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, r.host, r.login, r.version,
    to_timestamp(r.first_seen / 1000.0) AS first_seen,
    to_timestamp(r.last_seen / 1000.0) AS last_seen,
    to_timestamp(r.revoked_at / 1000.0) AS revoked_at, r.replica_id
FROM satchel.replica r;
COMMENT ON VIEW audit.machines IS 'Every machine that ever synced.';

-- `body` is what links and signatures are over; the columns before it are read from it.
CREATE OR REPLACE VIEW audit.records AS
SELECT a.tenant, encode(a.replica_id, 'hex') AS machine, a.chain, a.seq,
    to_timestamp(a.at / 1000.0) AS at, to_timestamp(a.received_at / 1000.0) AS received_at,
    said.body ->> 'action' AS action, said.body ->> 'actor' AS actor, said.body ->> 'tool' AS tool,
    said.body -> 'rows' AS rows, said.body -> 'detail' AS detail,
    a.body, a.link, a.mac, a.replica_id, a.at AS at_ms
FROM satchel.audit a, LATERAL (SELECT satchel.audit_said(a.body) AS body) AS said;
COMMENT ON VIEW audit.records IS 'Who read and wrote which rows, when: ids, never a text.';

CREATE OR REPLACE VIEW audit.heads AS
SELECT h.tenant, encode(h.replica_id, 'hex') AS machine, h.chain, h.seq,
    to_timestamp(h.at / 1000.0) AS at, to_timestamp(h.received_at / 1000.0) AS received_at,
    h.link, h.signature, h.replica_id, h.at AS at_ms
FROM satchel.audit_head h;
COMMENT ON VIEW audit.heads IS 'The ends of chains as their machines signed them.';

CREATE OR REPLACE VIEW audit.keys AS
SELECT k.tenant, encode(k.replica_id, 'hex') AS machine, k.algorithm, k.public_key,
    to_timestamp(k.pinned_at / 1000.0) AS pinned_at, k.replica_id
FROM satchel.audit_key k;
COMMENT ON VIEW audit.keys IS 'The key that signed a machine''s first head; others do not count.';

CREATE OR REPLACE VIEW audit.cuts AS
SELECT c.tenant, encode(c.replica_id, 'hex') AS machine, c.chain, c.seq, c.why,
    to_timestamp(c.at / 1000.0) AS at, c.link, c.record, c.replica_id
FROM satchel.audit_cut c;
COMMENT ON VIEW audit.cuts IS 'Where a chain begins behind records that are gone, and why.';

CREATE OR REPLACE VIEW audit.troubles AS
SELECT t.tenant, encode(t.replica_id, 'hex') AS machine, t.chain, t.what, t.seq, t.held_seq,
    to_timestamp(t.at / 1000.0) AS at, t.login, t.attempt, t.evidence, t.replica_id, t.at AS at_ms
FROM satchel.audit_trouble t;
COMMENT ON VIEW audit.troubles IS 'What came and was refused, as it came.';

CREATE OR REPLACE VIEW audit.searches AS
SELECT s.tenant, s.id AS search_id, to_timestamp(s.at / 1000.0) AS at,
    to_timestamp(s.ended_at / 1000.0) AS ended_at, s.login, s.machine AS host, s.kinds,
    s.rows_read, s.given
FROM satchel.searched s;
COMMENT ON VIEW audit.searches IS
    'Who searched all machines'' rows here, when, and which were given; never what was asked.';

-- Who may do what, after all is made: so that no table, view or function is forgotten. Repeatable.

-- Whose rows this session may see: of a login its tenant's; of a superuser, and of who may act as
-- the owner, all; else nobody's. As its definer: a policy asks it with the reader's rights.
CREATE OR REPLACE FUNCTION satchel.session_tenants() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pg_has_role(session_user, 'satchel_owner', 'MEMBER')
        THEN ARRAY(SELECT name FROM satchel.tenant)
        ELSE ARRAY(SELECT tenant FROM satchel.login WHERE role_name = session_user::text) END
$$;

-- How each table with a tenant is guarded: the policy that it is to have, whether it has just that,
-- and which others let rows through. Permissive policies are ORed: one more opens what ours closes;
-- restrictive ones only take rows away: whoever added one meant it. The doctor reads this too.
CREATE OR REPLACE FUNCTION satchel.guards() RETURNS TABLE (
    name text, is_forced boolean, rule text, body text, is_ruled boolean, others text[]
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH meant (relname, rule, body, role, reads, writes) AS (VALUES
        (NULL, 'tenant_only', 'USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]))',
            0::oid, '^\(tenant = ANY \(\( ?SELECT satchel\.session_tenants\(\)( AS \w+)?\)'
            '::text\[\]\)\)$', NULL),
        ('search_text', 'owner_only', 'TO satchel_owner USING (true) WITH CHECK (true)',
            'satchel_owner'::regrole::oid, '^true$', '^true$')
    )
    SELECT c.oid::regclass::text,
        c.relrowsecurity AND (c.relforcerowsecurity OR c.relname = 'login'),
        m.rule, m.body,
        m.rule IS NULL OR EXISTS (SELECT FROM pg_policy p
            WHERE p.polrelid = c.oid AND p.polname = m.rule AND p.polpermissive AND p.polcmd = '*'
                AND p.polroles = ARRAY[m.role] AND pg_get_expr(p.polqual, c.oid) ~ m.reads
                AND CASE WHEN m.writes IS NULL THEN p.polwithcheck IS NULL
                    ELSE coalesce(pg_get_expr(p.polwithcheck, c.oid) ~ m.writes, false) END),
        ARRAY(SELECT p.polname::text FROM pg_policy p WHERE p.polrelid = c.oid AND p.polpermissive
            AND p.polname IS DISTINCT FROM m.rule ORDER BY 1)
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    LEFT JOIN meant m ON CASE WHEN c.relname = 'search_text' THEN m.relname = 'search_text'
        ELSE c.relname <> 'login' AND m.relname IS NULL END
    WHERE c.relnamespace = 'satchel'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY 1
$$;

-- Every table with a tenant shows a session its tenant's rows only, and binds the owner too: what a
-- view or a function forgets to filter is filtered. But not `login`, which the policy asks, and
-- `search_text`, whose index no policy lets be used (ADR 0037): no view reads these. A policy that
-- somebody else made is not dropped: the error says how, and nothing is migrated.
CREATE OR REPLACE FUNCTION satchel.guard_tenants() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp
SET client_min_messages = warning AS $$
DECLARE
    guarded record;
    strangers text;
BEGIN
    SELECT string_agg(format('DROP POLICY %I ON %s', other, name), '; ') INTO strangers
    FROM satchel.guards(), unnest(others) AS other;
    IF strangers IS NOT NULL THEN
        RAISE EXCEPTION 'policies that satchel did not make let a tenant see the rows of others'
            USING ERRCODE = 'SA001', HINT = strangers
                || '; what only takes rows away (CREATE POLICY ... AS RESTRICTIVE) is kept';
    END IF;
    FOR guarded IN SELECT * FROM satchel.guards() LOOP
        IF NOT guarded.is_forced THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded.name);
            IF guarded.rule IS NOT NULL THEN
                EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded.name);
            END IF;
        END IF;
        IF NOT guarded.is_ruled THEN
            EXECUTE format('DROP POLICY IF EXISTS %I ON %s', guarded.rule, guarded.name);
            EXECUTE format('CREATE POLICY %I ON %s %s', guarded.rule, guarded.name, guarded.body);
        END IF;
    END LOOP;
END
$$;
SELECT satchel.guard_tenants();

-- Views of ours are barriers: what a reader asks is asked of what the view shows, never of a row
-- that it leaves out. Those of other people in these schemas are left alone.
CREATE OR REPLACE FUNCTION satchel.guard_views() RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    shown record;
BEGIN
    FOR shown IN
        SELECT c.oid::regclass AS name, n.nspname = 'report' AS is_report,
            coalesce('security_barrier=true' = ANY (c.reloptions), false) AS is_barrier
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('report', 'audit') AND c.relkind = 'v'
            AND c.relowner = 'satchel_owner'::regrole
    LOOP
        IF NOT shown.is_barrier THEN
            EXECUTE format('ALTER VIEW %s SET (security_barrier = true)', shown.name);
        END IF;
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', shown.name);
        EXECUTE format('GRANT SELECT ON %s TO %I', shown.name,
            CASE WHEN shown.is_report THEN 'satchel_reporter' ELSE 'satchel_auditor' END);
    END LOOP;
END
$$;
SELECT satchel.guard_views();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA satchel, satchel_api FROM PUBLIC;
REVOKE ALL ON SCHEMA report, audit FROM PUBLIC;
GRANT USAGE ON SCHEMA satchel_api TO satchel_replica;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA satchel_api TO satchel_replica;
GRANT USAGE ON SCHEMA report TO satchel_reporter;
GRANT USAGE ON SCHEMA audit TO satchel_auditor;
-- What a view calls, its reader calls; without USAGE on the schema nobody can by name.
GRANT EXECUTE ON FUNCTION satchel.session_tenants() TO satchel_reporter, satchel_auditor, satchel_searcher;
GRANT EXECUTE ON FUNCTION satchel.audit_said(text) TO satchel_auditor;

SELECT satchel.make_partitions(:partitions);
SELECT satchel.guard_partitions();
