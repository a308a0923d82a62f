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
    SELECT jsonb_build_object(@bounds@)
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
    IF known_columns <> '@columns_mark@' THEN
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
    WHERE o NOT IN ((SELECT id FROM satchel.tenant WHERE name = _tenant), '\x@nobody@')
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
