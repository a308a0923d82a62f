-- report.memories
SELECT m.tenant, m.state, nullif(m.type, '') AS type, nullif(m.scope, '') AS scope,
    nullif(m.space, '') AS space, m.memories, m.pinned, m.oldest, m.newest
FROM satchel.report_memories m
