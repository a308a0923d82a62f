-- The replica's first schema: ten synced tables, two full-text indexes, and what a sync needs.
-- Every synced table: `row` (never travels; what FTS5 counts by), the key, data columns that may
-- all be NULL (a tombstone has only its key and version), `extra`, and the version. Its triggers
-- are generated (store/triggers.py) because they list all columns.

-- One row. Capture is off while `applying` is 1, which no committed state shows. `actor` and
-- `wall_ms` are set by the engine inside its transaction.
CREATE TABLE control (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  applying INTEGER NOT NULL DEFAULT 0,
  actor TEXT,
  wall_ms INTEGER,
  replica_id BLOB
);
INSERT INTO control(id) VALUES(1);

-- One row: the last stamp of the hybrid logical clock, and the last local sequence number.
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  last INTEGER NOT NULL,
  seq INTEGER NOT NULL
);
INSERT INTO clock(id, last, seq) VALUES(1, 0, 0);

CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;

-- What the next sync sends.
CREATE TABLE outbox (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  local_seq INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX outbox_order ON outbox(kind, local_seq);

-- Rows that never leave: local memories and what is derived from or points at them.
CREATE TABLE withheld (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- The last version of a row that was sent or received, as 80 hex digits.
CREATE TABLE sync_base (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- How far each kind was pulled.
CREATE TABLE cursor (
  kind TEXT PRIMARY KEY,
  seq INTEGER NOT NULL
) WITHOUT ROWID;

-- Rows that cannot travel as they are, with the reason.
CREATE TABLE quarantine (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  "column" TEXT,
  reason TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- Versions that lost to a concurrent one; `content` is the row's values as JSON (store/codec.py).
CREATE TABLE conflict (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  version TEXT NOT NULL,
  lineage TEXT NOT NULL,
  content TEXT NOT NULL,
  winner TEXT NOT NULL,
  path TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, key, version)
);
CREATE INDEX conflict_unsent ON conflict(at_ms) WHERE sent = 0;

-- Changes that are not history rows yet: triggers cannot hash.
CREATE TABLE history_pending (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  event TEXT NOT NULL,
  life INTEGER NOT NULL,
  hlc INTEGER NOT NULL,
  origin BLOB NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT
);
CREATE TABLE history_field (
  seq INTEGER NOT NULL,
  name TEXT NOT NULL,
  old,
  new,
  PRIMARY KEY (seq, name)
) WITHOUT ROWID;

-- Empty, but inside an INSERT OR REPLACE; see `_over` in store/triggers.py.
CREATE TABLE replace_probe (
  slot INTEGER PRIMARY KEY CHECK (slot = 1),
  kind TEXT,
  key TEXT
);
INSERT INTO replace_probe(slot) VALUES(1);
CREATE TABLE replaced (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);

-- Memories that want a vector.
CREATE TABLE embed_queue (
  memory_id TEXT PRIMARY KEY,
  since_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Reports of sync attempts.
CREATE TABLE report (
  attempt TEXT PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE space (
  row INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  description TEXT,
  members TEXT,
  grants TEXT,
  created_at INTEGER,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX space_unsealed ON space(row) WHERE digest IS NULL;

CREATE TABLE agent (
  row INTEGER PRIMARY KEY,
  agent_id TEXT NOT NULL UNIQUE,
  description TEXT,
  capabilities TEXT,
  trust REAL,
  registered_at INTEGER,
  status TEXT,
  last_seen INTEGER,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX agent_unsealed ON agent(row) WHERE digest IS NULL;

CREATE TABLE session (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT,
  scope TEXT,
  space TEXT,
  user_id TEXT,
  agent_id TEXT,
  agent_ids TEXT,
  opened_at INTEGER,
  closed_at INTEGER,
  summary_memory_id TEXT,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX session_unsealed ON session(row) WHERE digest IS NULL;

CREATE TABLE memory (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  type TEXT,
  title TEXT,
  content TEXT,
  metadata TEXT,
  scope TEXT,
  agent_id TEXT,
  user_id TEXT,
  session_id TEXT,
  space TEXT,
  local INTEGER,
  importance REAL,
  confidence REAL,
  pinned INTEGER,
  source TEXT,
  valid_from INTEGER,
  valid_to INTEGER,
  valid_to_was INTEGER,
  recorded_at INTEGER,
  retired_at INTEGER,
  expires_at INTEGER,
  supersedes TEXT,
  aliases TEXT,
  content_hash TEXT,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX memory_unsealed ON memory(row) WHERE digest IS NULL;
CREATE INDEX memory_content_hash ON memory(content_hash) WHERE content_hash IS NOT NULL;
CREATE INDEX memory_supersedes ON memory(supersedes) WHERE supersedes IS NOT NULL;
CREATE VIRTUAL TABLE memory_fts USING fts5(
  title, content, aliases,
  content = 'memory', content_rowid = 'row',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO memory_fts(memory_fts, rank) VALUES('hashsize', 8388608);

CREATE TABLE relationship (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  from_id TEXT,
  to_id TEXT,
  type TEXT,
  weight REAL,
  metadata TEXT,
  agent_id TEXT,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX relationship_unsealed ON relationship(row) WHERE digest IS NULL;
CREATE INDEX relationship_from ON relationship(from_id);
CREATE INDEX relationship_to ON relationship(to_id);

CREATE TABLE task (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT,
  description TEXT,
  status TEXT,
  priority INTEGER,
  scope TEXT,
  space TEXT,
  user_id TEXT,
  agent_id TEXT,
  owner_agent TEXT,
  created_by TEXT,
  parent_id TEXT,
  depends_on TEXT,
  session_id TEXT,
  due_at INTEGER,
  claimed_by TEXT,
  lease_until INTEGER,
  result TEXT,
  result_memory_id TEXT,
  metadata TEXT,
  created_at INTEGER,
  completed_at INTEGER,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX task_unsealed ON task(row) WHERE digest IS NULL;
CREATE INDEX task_status ON task(status);
CREATE INDEX task_parent ON task(parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE message (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  to_agent TEXT,
  from_agent TEXT,
  kind TEXT,
  title TEXT,
  content TEXT,
  conversation_id TEXT,
  task_id TEXT,
  context_ids TEXT,
  thread_id TEXT,
  priority INTEGER,
  created_at INTEGER,
  expires_at INTEGER,
  acked_at INTEGER,
  dedup_key TEXT,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX message_unsealed ON message(row) WHERE digest IS NULL;
CREATE INDEX message_inbox ON message(to_agent, acked_at);

CREATE TABLE chatlog (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  conversation_id TEXT,
  ordinal INTEGER,
  role TEXT,
  content TEXT,
  scope TEXT,
  space TEXT,
  agent_id TEXT,
  user_id TEXT,
  host_agent TEXT,
  provider TEXT,
  model TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost REAL,
  metadata TEXT,
  redactions INTEGER,
  said_at INTEGER,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX chatlog_unsealed ON chatlog(row) WHERE digest IS NULL;
CREATE INDEX chatlog_conversation ON chatlog(conversation_id, ordinal);
CREATE VIRTUAL TABLE chatlog_fts USING fts5(
  content,
  content = 'chatlog', content_rowid = 'row',
  tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO chatlog_fts(chatlog_fts, rank) VALUES('hashsize', 8388608);

CREATE TABLE history (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  kind TEXT,
  key TEXT,
  event TEXT,
  changes TEXT,
  actor TEXT,
  at INTEGER,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX history_unsealed ON history(row) WHERE digest IS NULL;
CREATE INDEX history_subject ON history(kind, key);

CREATE TABLE embedding (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  memory_id TEXT,
  model TEXT,
  chunk INTEGER,
  content_hash TEXT,
  dims INTEGER,
  dtype TEXT,
  vector BLOB,
  extra TEXT,
  life INTEGER,
  hlc INTEGER,
  origin BLOB,
  digest BLOB,
  lineage TEXT
);
CREATE INDEX embedding_unsealed ON embedding(row) WHERE digest IS NULL;
CREATE INDEX embedding_memory ON embedding(memory_id);
