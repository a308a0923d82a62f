"""Alembic's folder: every change of the hub's tables, in order, never edited after a release."""
