"""What keeps a warehouse: when a journal entry came, and a record of each act of its keepers."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"

NOW_MS = """
-- As sql/internal.sql makes it anew after every migration; a column's default needs it before.
CREATE OR REPLACE FUNCTION satchel.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = satchel, pg_catalog, pg_temp AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint + clock_correction_ms
    FROM satchel.hub
$$;
"""
TABLES = """
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
"""


def upgrade() -> None:
    """Add the column and the table."""
    op.execute(NOW_MS)
    op.execute(TABLES)


def downgrade() -> None:
    """There is no way back: a warehouse is restored from a backup."""
    raise NotImplementedError("a warehouse is not downgraded; restore a backup instead")
