"""Limits of a sync, with their units."""

PUSH_ROWS_MAX = 5_000
"""Merged under the lock in 0.1 s when they are new and 0.3 s when they replace others; CPU time."""
PUSH_BYTES_MAX = 8 * 1024 * 1024
PULL_ROWS_MAX = 5_000
PULL_BYTES_MAX = 16 * 1024 * 1024
ROW_BYTES_MAX = 8 * 1024 * 1024
"""A larger row is quarantined: it would not fit a page beside others."""
KEY_BYTES_MAX = 1024
"""Of a key in UTF-8: an index of Postgres takes no entry above a third of a page."""
PUSH_ROUNDS_MAX = 4
"""Rounds of a push: rows that were stamped anew are sent in the next one."""
REPORTS_KEPT_DAYS = 90
FETCH_KEYS_MAX = 1_000
"""Keys of one fetch during a repair."""
BUCKETS_AT_ONCE = 16
"""Of 256: what a repair compares key by key at a time, so that its memory is bounded."""
AUDIT_ROWS_MAX = 2_000
"""Audit records of one call, of all chains together; a hub takes no more, so it never grows."""
AUDIT_BYTES_MAX = 4 * 1024 * 1024
AUDIT_BODY_BYTES_MAX = 1024 * 1024
"""A record names at most 100 rows."""
JOURNAL_MAX = 500
"""Journal entries handed to the hub at a time."""
NAMED_MAX = 50
"""Keys that a report names of one kind and sort of trouble: the first of them."""
STUCK_AFTER = 3
"""Attempts in a row without progress after which a replica says so loudly."""
