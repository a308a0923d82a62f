"""Reporters and auditors beside replicas, and a tenant in every row about a machine.

Row-level security fails closed now: a session of no login sees nothing, and of a login its tenant.
"""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

SCHEMAS = """
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
"""

COLUMNS = """
ALTER TABLE satchel.login
    ADD kind text COLLATE "C" NOT NULL DEFAULT 'replica',
    ADD CONSTRAINT login_kind CHECK (kind IN ('replica', 'reporter', 'auditor'));

ALTER TABLE satchel.replica ADD tenant text COLLATE "C";
UPDATE satchel.replica r SET tenant = l.tenant FROM satchel.login l WHERE l.role_name = r.login;
ALTER TABLE satchel.replica ALTER tenant SET NOT NULL;
"""
OF_A_MACHINE = {
    "attempt": "attempt, replica_id",
    "token": "token",
    "bundle_peer": "replica_id",
    "receipt": "replica_id, kind, key, version",
}
"""Table -> its key, which has the tenant in it from now on: so it can be spread by tenant."""
COLUMN = """
ALTER TABLE satchel.{table} ADD tenant text COLLATE "C";
UPDATE satchel.{table} t SET tenant = r.tenant
FROM satchel.replica r WHERE r.replica_id = t.replica_id;
ALTER TABLE satchel.{table} ALTER tenant SET NOT NULL, DROP CONSTRAINT {table}_pkey,
    ADD CONSTRAINT {table}_pkey PRIMARY KEY ({key}, tenant);
"""

SESSION_TENANTS = """
-- Whose rows this session may see: of a login its tenant's; of a superuser, and of who may act as
-- the owner, all; else nobody's. As its definer: a policy asks it with the reader's rights.
CREATE FUNCTION satchel.session_tenants() RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT CASE WHEN pg_has_role(session_user, 'satchel_owner', 'MEMBER')
        THEN ARRAY(SELECT name FROM satchel.tenant)
        ELSE ARRAY(SELECT tenant FROM satchel.login WHERE role_name = session_user::text) END
$$;
REVOKE ALL ON FUNCTION satchel.session_tenants() FROM PUBLIC;
"""

GUARDED = (
    *("space", "agent", "session", "memory", "relationship", "task", "message", "chatlog"),
    *("history", "embedding", "conflict", "relayed", "history_memory"),
    *("audit", "audit_cut", "audit_key", "audit_head", "audit_trouble"),
)
POLICY = """
DROP POLICY IF EXISTS tenant_only ON satchel.{table};
ALTER TABLE satchel.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.{table}
    USING (tenant = ANY ((SELECT satchel.session_tenants())::text[]));
"""


def upgrade() -> None:
    """Add schemas, columns and the policy; tables of later revisions get it by `rights.sql`."""
    op.execute(SCHEMAS)
    op.execute(COLUMNS)
    for table, key in OF_A_MACHINE.items():
        op.execute(COLUMN.format(table=table, key=key))
    op.execute(SESSION_TENANTS)
    for table in (*GUARDED, "replica", *OF_A_MACHINE):
        op.execute(POLICY.format(table=table))


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
