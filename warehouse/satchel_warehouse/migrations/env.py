"""Alembic's environment: on the connection that `admin` hands over, or as SQL for `deploy`."""

from __future__ import annotations

from alembic import context

from satchel_warehouse.metadata import SCHEMA, metadata

if context.is_offline_mode():
    context.configure(
        dialect_name="postgresql",
        dialect_opts={"paramstyle": "named"},
        version_table_schema=SCHEMA,
        transactional_ddl=False,  # the script's own transaction is around all steps
    )
else:
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        version_table_schema=SCHEMA,
    )
with context.begin_transaction():
    context.run_migrations()
