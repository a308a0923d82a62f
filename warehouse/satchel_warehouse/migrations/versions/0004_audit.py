"""Audit chains of the machines: records, signed heads, pinned keys, cuts, and what was refused.

Appended by the doors only; nothing is ever changed, and old records go by `satchel.expire_audit`.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

TABLES = """
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
"""
NAMES = ("audit", "audit_cut", "audit_key", "audit_head", "audit_trouble")
POLICY = """
ALTER TABLE satchel.{table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE satchel.{table} FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant_only ON satchel.{table} USING (
    (SELECT satchel.session_tenant()) IS NULL OR tenant = (SELECT satchel.session_tenant())
);
"""


def upgrade() -> None:
    """Add the tables."""
    op.execute(TABLES)
    for table in NAMES:
        op.execute(POLICY.format(table=table))


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
