"""Protocol and schema versions, with what changed and who still speaks the old one."""

PROTOCOL = 1
"""1 (2026-11): hello, push, pull, digest, manifest, fetch, journal, bye."""

SCHEMA = 1
"""1 (2026-11): the ten row kinds of the first release."""
