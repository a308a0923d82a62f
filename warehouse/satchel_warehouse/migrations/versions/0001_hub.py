"""The hub's first tables: ten synced kinds and the hub's own; row-level security on all rows."""

from __future__ import annotations

from alembic import op

from satchel_warehouse.partitions import declared

revision = "0001"
down_revision = None

TABLES = """
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
);
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
);
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
);
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
);
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
);
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
"""

# Defence in depth behind the functions: a session of a known login sees the rows of its tenant
# only, also inside a SECURITY DEFINER function. An administrator has no login row and sees all.
SESSION_TENANT = """
CREATE FUNCTION satchel.session_tenant() RETURNS text LANGUAGE sql STABLE
SET search_path = satchel, pg_catalog, pg_temp
AS $$ SELECT tenant FROM satchel.login WHERE role_name = session_user::text $$;
"""

POLICY = """
ALTER TABLE satchel.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.{table} USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);
"""

GUARDED = (
    "space",
    "agent",
    "session",
    "memory",
    "relationship",
    "task",
    "message",
    "chatlog",
    "history",
    "embedding",
    "conflict",
)


def upgrade() -> None:
    """Make the tables."""
    config = op.get_context().config
    clause = config.attributes.get("partition_by") if config else None
    op.execute(declared(TABLES, clause) if clause else TABLES)
    op.execute(SESSION_TENANT)
    for table in GUARDED:
        op.execute(POLICY.format(table=table))


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
