"""Alembic's environment: it works on the connection that `admin.migrate` hands over."""

from __future__ import annotations

from alembic import context

from satchel_warehouse.metadata import SCHEMA, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=SCHEMA,
)
with context.begin_transaction():
    context.run_migrations()
