"""What the hub keeps of replicas that sync by bundles: where they stand, and answers they wait for.

An attempt that carries a bundle is no link of the replica's chain; it may be opened by another
login than the replica's. A replica that only bundles have told of is bound to no login yet.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

TABLES = """
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
"""


def upgrade() -> None:
    """Add the tables."""
    op.execute(TABLES)


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
