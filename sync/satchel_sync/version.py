"""Protocol and schema versions, with what changed and who still speaks the old one."""

PROTOCOL = 2
"""2 (2026-11): epochs, chains of attempts, tokens, reconcile, damage; nobody speaks 1 any more.
1 (2026-11): hello, push, pull, digest, manifest, fetch, journal, bye; never released."""
PROTOCOL_MIN = 2
"""The oldest protocol that a hub of this version answers."""

SCHEMA = 1
"""1 (2026-11): the ten row kinds of the first release."""
SCHEMA_MIN = 1
"""The oldest schema whose replicas may push to a hub of this version; older ones only pull."""
