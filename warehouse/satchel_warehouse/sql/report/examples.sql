-- Machines that need a look: those that never synced first, then by how long ago.
SELECT host, status, last_sync, rows_behind, quarantined FROM report.machines
WHERE status NOT IN ('ok', 'revoked') OR quarantined > 0 ORDER BY lag_s DESC NULLS FIRST;

-- What each model cost in each month, and its tokens.
SELECT date_trunc('month', day)::date AS month, provider, model, sum(cost) AS dollars,
    sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out
FROM report.usage GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC NULLS LAST;

-- Who replaced which decisions in the last month, and by what.
SELECT at, actor, host, memory_id, successor_id FROM report.knowledge_changes
WHERE event = 'supersede' AND type = 'decision' AND at > now() - interval '1 month'
ORDER BY at DESC;

-- A task and all below it.
SELECT repeat('  ', depth::integer) || coalesce(title, task_id) AS task, status, owner
FROM report.tasks WHERE root_id = 'ID' ORDER BY depth, created_at;
