-- What this machine alone knows of the work that agents share. Local: no row of these travels.

-- The lease of an agent that gives signs of life here, and when it gave the last one, exactly;
-- `agent.last_seen`, which travels, moves in steps.
CREATE TABLE agent_lease (
  agent_id TEXT PRIMARY KEY,
  lease_ms INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Claims that were made here and stand as far as this machine knows (store/claims.py); `hlc` is of
-- the version of the task that they made.
CREATE TABLE claim (
  task_id TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  hlc INTEGER NOT NULL
) WITHOUT ROWID;

-- The next task to be done is the first of these that is free (memory/tasks/free.py).
CREATE INDEX task_open ON task(
  coalesce(priority, 0) DESC, due_at IS NULL, due_at, coalesce(created_at, 0), id
) WHERE coalesce(status, '') NOT IN ('completed', 'failed', 'cancelled');

CREATE INDEX message_order ON message(to_agent, from_agent, created_at);
CREATE INDEX message_dedup ON message(to_agent, dedup_key) WHERE dedup_key IS NOT NULL;
CREATE INDEX message_thread ON message(thread_id) WHERE thread_id IS NOT NULL;

-- What a session's summary is made of.
CREATE INDEX memory_session ON memory(session_id) WHERE session_id IS NOT NULL;
CREATE INDEX task_session ON task(session_id) WHERE session_id IS NOT NULL;
