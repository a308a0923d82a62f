-- Made from satchel's sources (protocol 2, schema 1, revision 0009):
-- do not edit, run `make docs`.

-- Tables: the revisions that the warehouse lacks.
SELECT to_regclass('satchel.alembic_version') IS NULL AS is_new \gset
\if :is_new
    \set held ''
\else
    SELECT version_num AS held FROM satchel.alembic_version \gset
\endif

SELECT :'held' < '0001' AS is_missing \gset
\if :is_missing
CREATE TABLE satchel.alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE satchel.space (
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    description text COLLATE "C",
    members text COLLATE "C",
    grants text COLLATE "C",
    created_at bigint,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT space_pkey PRIMARY KEY (tenant, name)
);
CREATE INDEX space_change_seq ON satchel.space (tenant, change_seq);

CREATE TABLE satchel.agent (
    tenant text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    description text COLLATE "C",
    capabilities text COLLATE "C",
    trust double precision,
    registered_at bigint,
    status text COLLATE "C",
    last_seen bigint,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT agent_pkey PRIMARY KEY (tenant, agent_id)
);
CREATE INDEX agent_change_seq ON satchel.agent (tenant, change_seq);

CREATE TABLE satchel.session (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text COLLATE "C",
    scope text COLLATE "C",
    space text COLLATE "C",
    user_id text COLLATE "C",
    agent_id text COLLATE "C",
    agent_ids text COLLATE "C",
    opened_at bigint,
    closed_at bigint,
    summary_memory_id text COLLATE "C",
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT session_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX session_change_seq ON satchel.session (tenant, change_seq);

CREATE TABLE satchel.memory (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    type text COLLATE "C",
    title text COLLATE "C",
    content text COLLATE "C",
    metadata text COLLATE "C",
    scope text COLLATE "C",
    agent_id text COLLATE "C",
    user_id text COLLATE "C",
    session_id text COLLATE "C",
    space text COLLATE "C",
    local bigint,
    importance double precision,
    confidence double precision,
    pinned bigint,
    source text COLLATE "C",
    valid_from bigint,
    valid_to bigint,
    valid_to_was bigint,
    recorded_at bigint,
    retired_at bigint,
    expires_at bigint,
    supersedes text COLLATE "C",
    aliases text COLLATE "C",
    content_hash text COLLATE "C",
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT memory_pkey PRIMARY KEY (tenant, id)
) :partition_by;
CREATE INDEX memory_change_seq ON satchel.memory (tenant, change_seq);

CREATE TABLE satchel.relationship (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    from_id text COLLATE "C",
    to_id text COLLATE "C",
    type text COLLATE "C",
    weight double precision,
    metadata text COLLATE "C",
    agent_id text COLLATE "C",
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT relationship_pkey PRIMARY KEY (tenant, id)
) :partition_by;
CREATE INDEX relationship_change_seq ON satchel.relationship (tenant, change_seq);

CREATE TABLE satchel.task (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    title text COLLATE "C",
    description text COLLATE "C",
    status text COLLATE "C",
    priority bigint,
    scope text COLLATE "C",
    space text COLLATE "C",
    user_id text COLLATE "C",
    agent_id text COLLATE "C",
    owner_agent text COLLATE "C",
    created_by text COLLATE "C",
    parent_id text COLLATE "C",
    depends_on text COLLATE "C",
    session_id text COLLATE "C",
    due_at bigint,
    claimed_by text COLLATE "C",
    lease_until bigint,
    result text COLLATE "C",
    result_memory_id text COLLATE "C",
    metadata text COLLATE "C",
    created_at bigint,
    completed_at bigint,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT task_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX task_change_seq ON satchel.task (tenant, change_seq);

CREATE TABLE satchel.message (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    to_agent text COLLATE "C",
    from_agent text COLLATE "C",
    kind text COLLATE "C",
    title text COLLATE "C",
    content text COLLATE "C",
    conversation_id text COLLATE "C",
    task_id text COLLATE "C",
    context_ids text COLLATE "C",
    thread_id text COLLATE "C",
    priority bigint,
    created_at bigint,
    expires_at bigint,
    acked_at bigint,
    dedup_key text COLLATE "C",
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT message_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX message_change_seq ON satchel.message (tenant, change_seq);

CREATE TABLE satchel.chatlog (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C",
    ordinal bigint,
    role text COLLATE "C",
    content text COLLATE "C",
    scope text COLLATE "C",
    space text COLLATE "C",
    agent_id text COLLATE "C",
    user_id text COLLATE "C",
    host_agent text COLLATE "C",
    provider text COLLATE "C",
    model text COLLATE "C",
    tokens_in bigint,
    tokens_out bigint,
    cost double precision,
    metadata text COLLATE "C",
    redactions bigint,
    said_at bigint,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT chatlog_pkey PRIMARY KEY (tenant, id)
) :partition_by;
CREATE INDEX chatlog_change_seq ON satchel.chatlog (tenant, change_seq);

CREATE TABLE satchel.history (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text COLLATE "C",
    key text COLLATE "C",
    event text COLLATE "C",
    changes text COLLATE "C",
    actor text COLLATE "C",
    at bigint,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT history_pkey PRIMARY KEY (tenant, id)
) :partition_by;
CREATE INDEX history_change_seq ON satchel.history (tenant, change_seq);

CREATE TABLE satchel.embedding (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C",
    model text COLLATE "C",
    chunk bigint,
    content_hash text COLLATE "C",
    dims bigint,
    dtype text COLLATE "C",
    vector bytea,
    extra text COLLATE "C",
    life bigint NOT NULL,
    hlc bigint NOT NULL,
    origin bytea NOT NULL,
    digest bytea NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    change_seq bigint NOT NULL,
    schema_ver integer NOT NULL,
    received_at bigint NOT NULL,
    pushed_by bytea NOT NULL,
    CONSTRAINT embedding_pkey PRIMARY KEY (tenant, id)
) :partition_by;
CREATE INDEX embedding_change_seq ON satchel.embedding (tenant, change_seq);

CREATE TABLE satchel.conflict (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    lineage text COLLATE "C" NOT NULL,
    content text,
    winner text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    replica_id bytea NOT NULL,
    CONSTRAINT conflict_pkey PRIMARY KEY (tenant, kind, key, version)
);

CREATE TABLE satchel.hub (
    singleton boolean PRIMARY KEY DEFAULT true,
    hub_id bytea NOT NULL,
    epoch integer NOT NULL DEFAULT 1,
    protocol integer NOT NULL,
    schema integer NOT NULL,
    clock_correction_ms bigint NOT NULL DEFAULT 0,
    CONSTRAINT hub_singleton CHECK (singleton)
);

-- The hub's own clock, for rows that others than replicas write; a sequence never moves back.
CREATE SEQUENCE satchel.hub_hlc;

CREATE TABLE satchel.tenant (
    name text COLLATE "C" PRIMARY KEY,
    number integer NOT NULL GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT tenant_number UNIQUE (number)
);

CREATE TABLE satchel.login (
    role_name text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL REFERENCES satchel.tenant (name),
    granted_at bigint NOT NULL
);

CREATE TABLE satchel.replica (
    replica_id bytea PRIMARY KEY,
    login text COLLATE "C" NOT NULL REFERENCES satchel.login (role_name),
    host text NOT NULL,
    version text NOT NULL,
    first_seen bigint NOT NULL,
    last_seen bigint NOT NULL,
    revoked_at bigint
);

CREATE TABLE satchel.attempt (
    attempt text COLLATE "C" PRIMARY KEY,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    started_at bigint NOT NULL,
    finished_at bigint,
    delivered jsonb NOT NULL DEFAULT '{}'::jsonb,
    report text
);
CREATE INDEX attempt_replica ON satchel.attempt (replica_id, started_at);

CREATE FUNCTION satchel.session_tenant() RETURNS text LANGUAGE sql STABLE
SET search_path = satchel, pg_catalog, pg_temp
AS $$ SELECT tenant FROM satchel.login WHERE role_name = session_user::text $$;

ALTER TABLE satchel.space ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.space FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.space USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.agent ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.agent FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.agent USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.session FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.session USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.memory FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.memory USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.relationship ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.relationship FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.relationship USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.task ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.task USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.message ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.message FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.message USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.chatlog ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.chatlog FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.chatlog USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.history ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.history FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.history USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.embedding ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.embedding FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.embedding USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.conflict ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.conflict FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.conflict USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

INSERT INTO satchel.alembic_version (version_num) VALUES ('0001') RETURNING satchel.alembic_version.version_num;
\endif

SELECT :'held' < '0002' AS is_missing \gset
\if :is_missing
-- Running upgrade 0001 -> 0002

DROP FUNCTION IF EXISTS satchel.caller(text);

-- `count` random bytes (at most 32) as hex digits; a UUID has 122 random bits of the server.
CREATE FUNCTION satchel.random_hex(count integer) RETURNS text
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT left(encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid())), 'hex'), 2 * count)
$$;

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
    IF strpos(_changes, '\u') > 0 THEN
        _changes := regexp_replace(replace(_changes, '\u0000', '\u0001'),
            '\\u[dD][89a-fA-F]', '\\u11', 'g');
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

UPDATE satchel.alembic_version SET version_num='0002' WHERE satchel.alembic_version.version_num = '0001';
\endif

SELECT :'held' < '0003' AS is_missing \gset
\if :is_missing
-- Running upgrade 0002 -> 0003

ALTER TABLE satchel.attempt
    ADD carrier text COLLATE "C",
    ADD levels boolean NOT NULL DEFAULT false;

ALTER TABLE satchel.replica ADD bound boolean NOT NULL DEFAULT true;

CREATE TABLE satchel.bundle_peer (
    replica_id bytea PRIMARY KEY REFERENCES satchel.replica (replica_id),
    cursors jsonb NOT NULL DEFAULT '{}'::jsonb,
    token text COLLATE "C" NOT NULL DEFAULT '',
    manifest bigint NOT NULL DEFAULT 0,
    levelled boolean NOT NULL DEFAULT false,
    imported_at bigint
);

CREATE TABLE satchel.receipt (
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    verdict text COLLATE "C" NOT NULL,
    now_ms bigint NOT NULL,
    winner text COLLATE "C",
    lineage text COLLATE "C" NOT NULL,
    reason text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    CONSTRAINT receipt_pkey PRIMARY KEY (replica_id, kind, key, version)
);

UPDATE satchel.alembic_version SET version_num='0003' WHERE satchel.alembic_version.version_num = '0002';
\endif

SELECT :'held' < '0004' AS is_missing \gset
\if :is_missing
-- Running upgrade 0003 -> 0004

CREATE TABLE satchel.audit (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    chain text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    body text COLLATE "C" NOT NULL,
    link bytea NOT NULL,
    mac bytea NOT NULL,
    received_at bigint NOT NULL,
    CONSTRAINT audit_pkey PRIMARY KEY (tenant, replica_id, chain, seq)
);

-- Where a chain begins anew: `why` is `pruned` (by the machine, before it sent them; `record` has
-- the one that says so), or `expired` (by the owner's retention here).
CREATE TABLE satchel.audit_cut (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    chain text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    link bytea NOT NULL,
    why text COLLATE "C" NOT NULL,
    record text COLLATE "C",
    at bigint NOT NULL,
    CONSTRAINT audit_cut_pkey PRIMARY KEY (tenant, replica_id, chain, seq, why)
);

-- The key of the first head that a machine signed; another one is pinned by an administrator only.
CREATE TABLE satchel.audit_key (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    algorithm text COLLATE "C" NOT NULL,
    public_key text COLLATE "C" NOT NULL,
    pinned_at bigint NOT NULL,
    CONSTRAINT audit_key_pkey PRIMARY KEY (tenant, replica_id, algorithm, public_key)
);

CREATE TABLE satchel.audit_head (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    chain text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    link bytea NOT NULL,
    at bigint NOT NULL,
    signature text COLLATE "C" NOT NULL,
    received_at bigint NOT NULL,
    CONSTRAINT audit_head_pkey PRIMARY KEY (tenant, replica_id, chain, seq)
);

CREATE TABLE satchel.audit_trouble (
    tenant text COLLATE "C" NOT NULL,
    replica_id bytea NOT NULL REFERENCES satchel.replica (replica_id),
    chain text COLLATE "C" NOT NULL,
    what text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    evidence text COLLATE "C" NOT NULL,
    evidence_hash bytea NOT NULL,
    held_seq bigint NOT NULL,
    login text COLLATE "C" NOT NULL,
    attempt text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    CONSTRAINT audit_trouble_pkey
        PRIMARY KEY (tenant, replica_id, chain, what, seq, evidence_hash)
);

ALTER TABLE satchel.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.audit_cut ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_cut FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_cut USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.audit_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_key USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.audit_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_head FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_head USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

ALTER TABLE satchel.audit_trouble ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_trouble FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_trouble USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);

UPDATE satchel.alembic_version SET version_num='0004' WHERE satchel.alembic_version.version_num = '0003';
\endif

SELECT :'held' < '0005' AS is_missing \gset
\if :is_missing
-- Running upgrade 0004 -> 0005

-- For people and auditors. One of that name which is somebody else's is not taken over.
DO $$
DECLARE
    stranger text;
BEGIN
    SELECT nspname INTO stranger FROM pg_namespace
    WHERE nspname IN ('report', 'audit') AND nspowner <> 'satchel_owner'::regrole LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the database has a schema % of its own, where satchel makes its views',
            quote_ident(stranger) USING ERRCODE = 'SA001',
            HINT = 'rename it (ALTER SCHEMA ... RENAME TO), or use a database of its own';
    END IF;
END
$$;
CREATE SCHEMA IF NOT EXISTS report;
CREATE SCHEMA IF NOT EXISTS audit;

ALTER TABLE satchel.login
    ADD kind text COLLATE "C" NOT NULL DEFAULT 'replica',
    ADD CONSTRAINT login_kind CHECK (kind IN ('replica', 'reporter', 'auditor'));

ALTER TABLE satchel.replica ADD tenant text COLLATE "C";
UPDATE satchel.replica r SET tenant = l.tenant FROM satchel.login l WHERE l.role_name = r.login;
ALTER TABLE satchel.replica ALTER tenant SET NOT NULL;

ALTER TABLE satchel.attempt ADD tenant text COLLATE "C";
UPDATE satchel.attempt t SET tenant = r.tenant
FROM satchel.replica r WHERE r.replica_id = t.replica_id;
ALTER TABLE satchel.attempt ALTER tenant SET NOT NULL, DROP CONSTRAINT attempt_pkey,
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (attempt, replica_id, tenant);

ALTER TABLE satchel.token ADD tenant text COLLATE "C";
UPDATE satchel.token t SET tenant = r.tenant
FROM satchel.replica r WHERE r.replica_id = t.replica_id;
ALTER TABLE satchel.token ALTER tenant SET NOT NULL, DROP CONSTRAINT token_pkey,
    ADD CONSTRAINT token_pkey PRIMARY KEY (token, tenant);

ALTER TABLE satchel.bundle_peer ADD tenant text COLLATE "C";
UPDATE satchel.bundle_peer t SET tenant = r.tenant
FROM satchel.replica r WHERE r.replica_id = t.replica_id;
ALTER TABLE satchel.bundle_peer ALTER tenant SET NOT NULL, DROP CONSTRAINT bundle_peer_pkey,
    ADD CONSTRAINT bundle_peer_pkey PRIMARY KEY (replica_id, tenant);

ALTER TABLE satchel.receipt ADD tenant text COLLATE "C";
UPDATE satchel.receipt t SET tenant = r.tenant
FROM satchel.replica r WHERE r.replica_id = t.replica_id;
ALTER TABLE satchel.receipt ALTER tenant SET NOT NULL, DROP CONSTRAINT receipt_pkey,
    ADD CONSTRAINT receipt_pkey PRIMARY KEY (replica_id, kind, key, version, tenant);

-- Whose rows this session may see: of a login its tenant's; of a superuser, and of who may act as
-- the owner, all; else nobody's. As its definer: a policy asks it with the reader's rights.
CREATE FUNCTION satchel.session_tenants() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pg_has_role(session_user, 'satchel_owner', 'MEMBER')
        THEN ARRAY(SELECT name FROM satchel.tenant)
        ELSE ARRAY(SELECT tenant FROM satchel.login WHERE role_name = session_user::text) END
$$;
REVOKE ALL ON FUNCTION satchel.session_tenants() FROM PUBLIC;

DROP POLICY IF EXISTS tenant_only ON satchel.space;
ALTER TABLE satchel.space ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.space FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.space
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.agent;
ALTER TABLE satchel.agent ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.agent FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.agent
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.session;
ALTER TABLE satchel.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.session FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.session
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.memory;
ALTER TABLE satchel.memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.memory FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.memory
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.relationship;
ALTER TABLE satchel.relationship ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.relationship FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.relationship
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.task;
ALTER TABLE satchel.task ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.task
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.message;
ALTER TABLE satchel.message ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.message FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.message
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.chatlog;
ALTER TABLE satchel.chatlog ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.chatlog FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.chatlog
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.history;
ALTER TABLE satchel.history ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.history FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.history
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.embedding;
ALTER TABLE satchel.embedding ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.embedding FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.embedding
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.conflict;
ALTER TABLE satchel.conflict ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.conflict FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.conflict
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.relayed;
ALTER TABLE satchel.relayed ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.relayed FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.relayed
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.history_memory;
ALTER TABLE satchel.history_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.history_memory FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.history_memory
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.audit;
ALTER TABLE satchel.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.audit_cut;
ALTER TABLE satchel.audit_cut ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_cut FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_cut
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.audit_key;
ALTER TABLE satchel.audit_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_key
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.audit_head;
ALTER TABLE satchel.audit_head ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_head FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_head
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.audit_trouble;
ALTER TABLE satchel.audit_trouble ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.audit_trouble FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.audit_trouble
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.replica;
ALTER TABLE satchel.replica ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.replica FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.replica
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.attempt;
ALTER TABLE satchel.attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.attempt FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.attempt
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.token;
ALTER TABLE satchel.token ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.token FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.token
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.bundle_peer;
ALTER TABLE satchel.bundle_peer ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.bundle_peer FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.bundle_peer
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

DROP POLICY IF EXISTS tenant_only ON satchel.receipt;
ALTER TABLE satchel.receipt ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.receipt FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.receipt
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));

UPDATE satchel.alembic_version SET version_num='0005' WHERE satchel.alembic_version.version_num = '0004';
\endif

SELECT :'held' < '0006' AS is_missing \gset
\if :is_missing
-- Running upgrade 0005 -> 0006

-- Of a sync's report what the views show, as numbers; NULL where it cannot be read. What is kept by
-- it must fit, so a change of it is a migration.
CREATE FUNCTION satchel.report_said(_report text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = satchel, pg_catalog, pg_temp AS $$
DECLARE
    said jsonb;
BEGIN
    IF _report IS NULL THEN
        RETURN NULL;
    END IF;
    said := replace(_report, '\u0000', '')::jsonb;
    IF jsonb_typeof(said) <> 'object' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM (
            SELECT key, value FROM jsonb_each(said)
            WHERE key IN ('exit', 'clock_offset_ms', 'quarantined', 'oldest_unsent_s')
            UNION ALL
            SELECT 'held_back.' || key, value FROM jsonb_each(CASE jsonb_typeof(said -> 'held_back')
                WHEN 'object' THEN said -> 'held_back' ELSE '{}' END)
            WHERE key ~ '^[a-z]{1,20}$'
        ) AS told
        WHERE jsonb_typeof(value) = 'number' AND abs(value::numeric) < 1e15);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN NULL;
END
$$;
ALTER TABLE satchel.attempt
    ADD said jsonb GENERATED ALWAYS AS (satchel.report_said(report)) STORED;

-- When each sum was made, how many lines it has, and how long it took.
CREATE TABLE satchel.report_refresh (
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    refreshed_at timestamp with time zone NOT NULL,
    lines bigint NOT NULL,
    took_ms bigint NOT NULL,
    CONSTRAINT report_refresh_pkey PRIMARY KEY (tenant, name)
);

CREATE TABLE satchel.report_totals (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    alive bigint NOT NULL,
    deleted bigint NOT NULL,
    erased bigint NOT NULL,
    CONSTRAINT report_totals_pkey PRIMARY KEY (tenant, kind)
);

CREATE TABLE satchel.report_machines (
    tenant text COLLATE "C" NOT NULL,
    machine bytea NOT NULL,
    rows bigint NOT NULL,
    rows_behind bigint NOT NULL,
    syncs_7d bigint NOT NULL,
    failed_7d bigint NOT NULL,
    CONSTRAINT report_machines_pkey PRIMARY KEY (tenant, machine)
);

-- In sums '' is a text that is not told.
CREATE TABLE satchel.report_activity (
    tenant text COLLATE "C" NOT NULL,
    day date NOT NULL,
    machine bytea NOT NULL,
    agent text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    changed bigint NOT NULL,
    deleted bigint NOT NULL,
    CONSTRAINT report_activity_pkey PRIMARY KEY (tenant, day, machine, agent, kind)
);

CREATE TABLE satchel.report_deletions (
    tenant text COLLATE "C" NOT NULL,
    day date NOT NULL,
    machine bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    deleted bigint NOT NULL,
    erased bigint NOT NULL,
    CONSTRAINT report_deletions_pkey PRIMARY KEY (tenant, day, machine, kind)
);

CREATE TABLE satchel.report_memories (
    tenant text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    space text COLLATE "C" NOT NULL,
    memories bigint NOT NULL,
    pinned bigint NOT NULL,
    oldest timestamp with time zone,
    newest timestamp with time zone,
    CONSTRAINT report_memories_pkey PRIMARY KEY (tenant, state, type, scope, space)
);

CREATE TABLE satchel.report_changes (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at timestamp with time zone NOT NULL,
    event text COLLATE "C" NOT NULL,
    memory_id text COLLATE "C" NOT NULL,
    successor_id text COLLATE "C",
    actor text COLLATE "C",
    machine bytea NOT NULL,
    type text COLLATE "C",
    scope text COLLATE "C",
    space text COLLATE "C",
    fields text COLLATE "C",
    CONSTRAINT report_changes_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX report_changes_at ON satchel.report_changes (tenant, at);

CREATE TABLE satchel.report_conflicts (
    tenant text COLLATE "C" NOT NULL,
    day date NOT NULL,
    machine bytea NOT NULL,
    kind text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    conflicts bigint NOT NULL,
    rows_written bigint NOT NULL,
    CONSTRAINT report_conflicts_pkey PRIMARY KEY (tenant, day, machine, kind, path)
);

CREATE TABLE satchel.report_tasks (
    tenant text COLLATE "C" NOT NULL,
    task_id text COLLATE "C" NOT NULL,
    title text COLLATE "C",
    status text COLLATE "C" NOT NULL,
    owner text COLLATE "C",
    created_by text COLLATE "C",
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    due_at timestamp with time zone,
    claimed_by text COLLATE "C",
    lease_until timestamp with time zone,
    parent_id text COLLATE "C",
    root_id text COLLATE "C" NOT NULL,
    depth bigint NOT NULL,
    children bigint NOT NULL,
    CONSTRAINT report_tasks_pkey PRIMARY KEY (tenant, task_id)
);

CREATE TABLE satchel.report_conversations (
    tenant text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    host_agent text COLLATE "C",
    agent text COLLATE "C",
    machine bytea NOT NULL,
    first_at timestamp with time zone,
    last_at timestamp with time zone,
    turns bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cost double precision,
    CONSTRAINT report_conversations_pkey PRIMARY KEY (tenant, conversation_id)
);

CREATE TABLE satchel.report_usage (
    tenant text COLLATE "C" NOT NULL,
    day date NOT NULL,
    provider text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    machine bytea NOT NULL,
    agent text COLLATE "C" NOT NULL,
    turns bigint NOT NULL,
    tokens_in bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cost double precision,
    CONSTRAINT report_usage_pkey PRIMARY KEY (tenant, day, provider, model, machine, agent)
);

CREATE TABLE satchel.report_coverage (
    tenant text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    memories bigint NOT NULL,
    embedded bigint NOT NULL,
    outdated bigint NOT NULL,
    CONSTRAINT report_coverage_pkey PRIMARY KEY (tenant, model)
);

CREATE TABLE satchel.report_reads (
    tenant text COLLATE "C" NOT NULL,
    day date NOT NULL,
    machine bytea NOT NULL,
    actor text COLLATE "C" NOT NULL,
    tool text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    records bigint NOT NULL,
    rows_given bigint NOT NULL,
    CONSTRAINT report_reads_pkey PRIMARY KEY (tenant, day, machine, actor, tool, action)
);

UPDATE satchel.alembic_version SET version_num='0006' WHERE satchel.alembic_version.version_num = '0005';
\endif

SELECT :'held' < '0007' AS is_missing \gset
\if :is_missing
-- Running upgrade 0006 -> 0007

CREATE TEXT SEARCH DICTIONARY satchel.stem (TEMPLATE = pg_catalog.snowball, LANGUAGE = porter);
CREATE TEXT SEARCH CONFIGURATION satchel.words (PARSER = pg_catalog."default");
ALTER TEXT SEARCH CONFIGURATION satchel.words ADD MAPPING FOR
    asciiword, word, numword, asciihword, hword, numhword, hword_asciipart, hword_part,
    hword_numpart, int, uint, float, sfloat, version, host, email, url, url_path, file
    WITH satchel.stem;

CREATE TABLE satchel.search_text (
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    speaker text COLLATE "C",
    lead_name text COLLATE "C",
    words tsvector NOT NULL,
    CONSTRAINT search_text_pkey PRIMARY KEY (tenant, kind, id)
);
CREATE INDEX search_text_words ON satchel.search_text USING gin (words);
CREATE INDEX search_text_at ON satchel.search_text (tenant, kind, at);
CREATE INDEX search_text_speaker ON satchel.search_text (tenant, kind, speaker);
CREATE INDEX search_text_lead_name ON satchel.search_text (tenant, kind, lead_name);

-- Up to which change sequence rows are indexed: words by kind, vectors by the table of their model.
CREATE TABLE satchel.search_reached (
    tenant text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    upto bigint NOT NULL,
    indexed_at bigint NOT NULL,
    CONSTRAINT search_reached_pkey PRIMARY KEY (tenant, source)
);

-- Vectors of chat turns, which replicas keep to themselves: `warehouse index` makes them here. With
-- the turn before (view 0) and alone (view 1), as satchel.embedding.turn_vectors has them.
CREATE TABLE satchel.turn_vector (
    tenant text COLLATE "C" NOT NULL,
    turn text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    view bigint NOT NULL,
    chunk bigint NOT NULL,
    dims bigint NOT NULL,
    before text COLLATE "C",
    vector bytea NOT NULL,
    seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    CONSTRAINT turn_vector_pkey PRIMARY KEY (tenant, turn, model, view, chunk)
);
-- Turns whose vectors went with the turn before them, by model: they are made anew.
CREATE TABLE satchel.turn_waiting (
    tenant text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    turn text COLLATE "C" NOT NULL,
    CONSTRAINT turn_waiting_pkey PRIMARY KEY (tenant, model, turn)
);
CREATE INDEX turn_vector_before ON satchel.turn_vector (tenant, before);
CREATE INDEX turn_vector_seq ON satchel.turn_vector (tenant, model, seq);

-- Who searched, when, in what, and which rows were given: never what was asked. `opened_in` is the
-- transaction that opened the search: in it nothing is given, as it may be rolled back.
CREATE TABLE satchel.searched (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    login text COLLATE "C" NOT NULL,
    machine text COLLATE "C",
    kinds text[] NOT NULL,
    opened_in bigint NOT NULL,
    rows_read bigint NOT NULL DEFAULT 0,
    given jsonb NOT NULL DEFAULT '[]'::jsonb,
    ended_at bigint,
    CONSTRAINT searched_pkey PRIMARY KEY (tenant, id)
);
CREATE INDEX searched_at ON satchel.searched (tenant, at);

-- A search reads what stands beside a turn. A longer name fits into no index; such a conversation
-- is stored, and its turns are found without what stands beside them.
CREATE INDEX chatlog_conversation ON satchel.chatlog (tenant, conversation_id, ordinal, id)
    WHERE octet_length(conversation_id) <= 800;

ALTER TABLE satchel.search_text ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.search_text FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_only ON satchel.search_text TO satchel_owner USING (true) WITH CHECK (true);

UPDATE satchel.alembic_version SET version_num='0007' WHERE satchel.alembic_version.version_num = '0006';
\endif

SELECT :'held' < '0008' AS is_missing \gset
\if :is_missing
-- Running upgrade 0007 -> 0008

CREATE INDEX chatlog_said_at ON satchel.chatlog USING brin (said_at)
    WITH (pages_per_range = 32, autosummarize = on);

UPDATE satchel.alembic_version SET version_num='0008' WHERE satchel.alembic_version.version_num = '0007';
\endif

SELECT :'held' < '0009' AS is_missing \gset
\if :is_missing
-- Running upgrade 0008 -> 0009

-- As sql/internal.sql makes it anew after every migration; a column's default needs it before.
CREATE OR REPLACE FUNCTION satchel.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + clock_correction_ms
    FROM satchel.hub
$$;

-- Retention goes by this: `at` is of the machine's clock, and what a machine that was away for a
-- year hands in today has come today. Entries from before the upgrade count as new.
ALTER TABLE satchel.conflict ADD received_at bigint NOT NULL DEFAULT satchel.now_ms();

-- `what` is retain, backup or restored; `detail` JSON, numbers and times only. Of the warehouse as
-- a whole, so without a tenant: only its owner may read it.
CREATE TABLE satchel.operation (
    number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    what text COLLATE "C" NOT NULL,
    who text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL,
    CONSTRAINT operation_pkey PRIMARY KEY (number)
);

UPDATE satchel.alembic_version SET version_num='0009' WHERE satchel.alembic_version.version_num = '0008';
\endif
