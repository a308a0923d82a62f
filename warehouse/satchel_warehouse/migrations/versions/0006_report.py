"""What the reports read: sums of the rows, made anew by `satchel.refresh_reports()`.

One table for each sum, by tenant (row-level security comes with sql/rights.sql); and what a
machine's last report says, beside the report.
"""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"

SAID = """
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
    said := replace(_report, '\\u0000', '')::jsonb;
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
"""

TABLES = """
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
"""


def upgrade() -> None:
    """Add the tables and the column."""
    op.execute(SAID)
    op.execute(TABLES)


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
