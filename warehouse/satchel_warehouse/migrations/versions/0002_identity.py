"""What the hub knows of each file's past: chains of attempts, tokens, what was delivered, epochs.

An older warehouse keeps its rows, replicas and reports; what it delivered moves to its replicas.
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

RANDOM_HEX = """
-- `count` random bytes (at most 32) as hex digits; a UUID has 122 random bits of the server.
CREATE FUNCTION satchel.random_hex(count integer) RETURNS text
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT left(encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid())), 'hex'), 2 * count)
$$;
"""

MEMORIES_IN = """
-- Memories that a history row's `changes` ({column: [old, new]}) name (satchel_sync.subjects); what
-- is kept by it must fit, so a change of it is a migration. What Postgres cannot read in a JSON
-- text, NUL and half a pair of surrogates, is no part of an id: it becomes something else before.
CREATE FUNCTION satchel.memories_in(_kind text, _changes text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    columns text[] := CASE _kind
        WHEN 'relationship' THEN '{from_id, to_id}' WHEN 'embedding' THEN '{memory_id}' END;
    name text;
    fields json;
    pair json;
    id text;
    found text[] := '{}';
BEGIN
    IF columns IS NULL THEN
        RETURN NULL;
    END IF;
    IF strpos(_changes, '\\u') > 0 THEN
        _changes := regexp_replace(replace(_changes, '\\u0000', '\\u0001'),
            '\\\\u[dD][89a-fA-F]', '\\\\u11', 'g');
    END IF;
    fields := _changes;
    FOREACH name IN ARRAY columns LOOP
        pair := fields -> name;
        CONTINUE WHEN json_typeof(pair) IS DISTINCT FROM 'array';
        FOR place IN 0..1 LOOP
            id := pair ->> place;
            -- A longer one is no key, and no index takes it.
            IF octet_length(id) <= 1024 AND json_typeof(pair -> place) = 'string' THEN
                found := found || id;
            END IF;
        END LOOP;
    END LOOP;
    RETURN found;
EXCEPTION WHEN data_exception OR statement_too_complex THEN -- no JSON
    RETURN NULL;
END
$$;
"""

TABLES = """
-- A tenant's machines tell of a rewind to nobody but each other.
ALTER TABLE satchel.hub DROP COLUMN epoch;
ALTER TABLE satchel.tenant ADD epoch text COLLATE "C" NOT NULL DEFAULT satchel.random_hex(8);

-- To its replicas each tenant is a hub of its own: a file that meets another one's notices.
ALTER TABLE satchel.tenant
    ADD id bytea NOT NULL DEFAULT decode(satchel.random_hex(16), 'hex'),
    ADD CONSTRAINT tenant_id UNIQUE (id);
UPDATE satchel.tenant SET id = hub_id FROM satchel.hub WHERE name = 'default';
ALTER TABLE satchel.hub DROP COLUMN hub_id;

ALTER TABLE satchel.replica
    ADD predecessors bytea[] NOT NULL DEFAULT '{}',
    ADD last_attempt text COLLATE "C" NOT NULL DEFAULT '',
    ADD token_number bigint NOT NULL DEFAULT 0,
    ADD delivered jsonb NOT NULL DEFAULT '{}'::jsonb,
    ADD must_reconcile boolean NOT NULL DEFAULT false;
UPDATE satchel.replica r SET delivered = coalesce((
    SELECT jsonb_object_agg(kind, seq) FROM (
        SELECT d.key AS kind, max(d.value::bigint) AS seq
        FROM satchel.attempt a, jsonb_each_text(a.delivered) d
        WHERE a.replica_id = r.replica_id GROUP BY d.key
    ) AS most
), '{}'::jsonb);

ALTER TABLE satchel.attempt
    DROP COLUMN delivered,
    DROP CONSTRAINT attempt_pkey,
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (attempt, replica_id),
    ADD standing text COLLATE "C" NOT NULL DEFAULT 'known',
    ADD epoch text COLLATE "C" NOT NULL DEFAULT '',
    ADD relaying boolean NOT NULL DEFAULT false,
    ADD reconciling jsonb,
    ADD read_only boolean NOT NULL DEFAULT false,
    ADD columns text COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE satchel.token (
    token text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    attempt text COLLATE "C" NOT NULL,
    at bigint NOT NULL
);

CREATE TABLE satchel.relayed (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL,
    attempt text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    origin bytea NOT NULL,
    rows bigint NOT NULL,
    at bigint NOT NULL,
    CONSTRAINT relayed_pkey PRIMARY KEY (tenant, replica_id, attempt, kind, origin)
);
CREATE INDEX relayed_origin ON satchel.relayed (tenant, origin);
ALTER TABLE satchel.relayed ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.relayed FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.relayed USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

-- By what a row is about: when that is forgotten, the row goes with it.
CREATE INDEX embedding_memory_id ON satchel.embedding (tenant, memory_id);
CREATE INDEX relationship_from_id ON satchel.relationship (tenant, from_id);
CREATE INDEX relationship_to_id ON satchel.relationship (tenant, to_id);
CREATE INDEX history_subject ON satchel.history (tenant, key);

-- History of edges by the memories that it names: that of a deleted edge says nowhere else whose it
-- was. No index of an expression, as row-level security lets none be used that could tell of a row.
CREATE TABLE satchel.history_memory (
    tenant text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    CONSTRAINT history_memory_pkey PRIMARY KEY (tenant, memory_id, id)
);
ALTER TABLE satchel.history_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.history_memory FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.history_memory USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);
INSERT INTO satchel.history_memory
SELECT DISTINCT h.tenant, m, h.id FROM satchel.history h,
    unnest(satchel.memories_in(h.kind, h.changes)) AS m;
"""


def upgrade() -> None:
    """Change the tables in place."""
    op.execute("DROP FUNCTION IF EXISTS satchel.caller(text)")
    op.execute(RANDOM_HEX)
    op.execute(MEMORIES_IN)
    op.execute(TABLES)


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
