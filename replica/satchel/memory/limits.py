"""Limits of what the memory functions take and give, with their units."""

TEXT_BYTES_MAX = 1024 * 1024
"""Content of one memory, turn or message, in UTF-8."""
TITLE_CHARS_MAX = 1_000
NAME_CHARS_MAX = 200
"""An agent, user, space, type, edge type, model or conversation name."""
JSON_BYTES_MAX = 256_000
ALIASES_MAX = 100
IDS_MAX = 1_000
"""Ids in one call."""
SHORT_ID_DIGITS_MIN = 8
CANDIDATES_SHOWN_MAX = 8
"""Ids that an AmbiguousId names."""

LIST_ROWS_DEFAULT = 50
LIST_ROWS_MAX = 1_000
HISTORY_ROWS_MAX = 1_000

QUERY_CHARS_MAX = 200_000
QUERY_TERMS_MAX = 48
"""Different terms of a query that are searched for; the rarest of a longer query stand for it."""
UNASKED_TERMS_MAX = 16
"""The same of a prompt that memories are recalled for unasked, in time."""
HITS_MAX = 1_000
CANDIDATES_MIN = {"memory": 40, "chatlog": 100}
"""Candidates that each source gives at least; for a larger answer twice its size."""
DATED_TURNS_MAX = 20
"""Turns that were said when the question says."""
DATED_SPAN_DAYS_MAX = 31
CANDIDATES_MAX = 1_000
LITERAL_ROWS_MAX = 50
RANKED_ROWS_MAX = 4_000
"""Rows that the index ranks for one question: beyond that only the rarer terms find candidates."""
RANKED_ROWS_MIN, RANKED_SHARE = 2_000, 5
"""Where that is more than a fifth of all rows a fifth, but no fewer than so many."""
COMMON_TERMS_MAX = 4
"""Of a question that has common words only, so many are looked for together."""
FIRST_A_CANDIDATE = 2
"""Rows for each candidate that the index ranks first: mostly enough of them pass the filters."""
NEWEST_A_CANDIDATE = 10
"""Rows for each candidate of which the best are taken, of words that were too common to rank."""
FREQUENCY_MAX = 20_000
"""A beginning of words in more rows than this counts as one in so many: it says nothing."""
SEEN_ROWS_COUNTED_MAX = 500
"""Rows that are looked at one by one to count what an agent sees of them."""
UNKNOWN_WORDS_MAX = 4
"""Unknown words of a question that others are sought for."""
SHORT_TEXT_BYTES = 8_000
"""Longer texts are not cut into words for their score: the index counts."""
DROPPED_SHOWN_MAX = 20
"""Rows that `explain` shows beside the hits."""
SNIPPET_CHARS = 280
CHARS_PER_TOKEN = 4
"""The estimate behind `max_tokens`: four characters of JSON a token."""
HIT_OVERHEAD_TOKENS = 60
"""Ids, dates and names of a hit, beside its title and snippet."""

GRAPH_DEPTH_MAX = 6
GRAPH_NODES_MAX = 500
TREE_NODES_MAX = 2_000
TASKS_MAX = 20_000
"""Tasks that one list orders."""
DEPENDS_ON_MAX = 200

LEASE_MS_DEFAULT = 15 * 60 * 1000
LEASE_MS_MAX = 7 * 24 * 60 * 60 * 1000
LAST_SEEN_STEP_MS = 5 * 60 * 1000
"""`last_seen` is a synced column: it moves in steps, or every heartbeat would be a change."""
ALIVE_MS = 3 * LAST_SEEN_STEP_MS
"""An agent seen within this time is alive, unless it has a lease of its own on this machine."""
AGENT_LEASE_MS_MAX = 7 * 24 * 60 * 60 * 1000
WAIT_MS_MAX = 60 * 60 * 1000
"""How long one call may wait for a message or a task."""

TIME_MS_MIN = -62_135_596_800_000
TIME_MS_MAX = 253_402_300_799_999
"""The years 1 to 9999: what ISO-8601 at the doors can say."""

SESSION_GAP_MS = 6 * 60 * 60 * 1000
"""Turns of one conversation that lie further apart are of two sessions."""
SESSION_SOURCES_MAX = 5_000
"""Memories, tasks and turns, of each the last, that the summary of a session is made of."""
SOURCE_CHARS_MAX = 20_000
"""Of each so much is read for sentences."""
SESSION_LINES_MAX = {"memory": 12, "task": 12, "chatlog": 12}
"""Lines of a summary, by the kind of what they quote."""
SESSION_LINE_CHARS_MAX = 400
SESSION_LINKS_MAX = 500
"""Memories that a summary is linked with: those quoted first."""
SESSIONS_SWEPT_MAX = 1_000
SESSION_REFRESH_MS = 30 * 24 * 60 * 60 * 1000
"""A session that ended longer ago is not looked at again for rows that came later."""
SPACE_NAMES_MAX = 1_000
"""Agents that one call names in a space."""
