-- Vectors of chat turns, what wants one, and the log by which the vector files follow the database.
-- All of it is local and derived: nothing here travels. The triggers are in vector_triggers.py.

-- A vector of one chunk of a chat turn (`turn` is chatlog.row): `dims` little-endian float32
-- numbers. `view` 0: of the turn with the one before it, 1: of the turn alone.
CREATE TABLE turn_vector (
  row INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL,
  model TEXT NOT NULL,
  view INTEGER NOT NULL DEFAULT 0,
  chunk INTEGER NOT NULL,
  dims INTEGER NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (turn, model, view, chunk)
);

-- Turns (chatlog.row) that want a vector; a row that is gone meanwhile may still stand here.
CREATE TABLE turn_queue (
  turn INTEGER PRIMARY KEY
);

-- When a vector, or who may see it, changed last; one row a vector. `source` 0: embedding.row, 1:
-- turn_vector.row. `seq` grows, by steps that no other copy of this database repeats: a vector file
-- that stands at a `seq` which is not found here was made from another past. 2 and 3 keep numbers
-- that sources 0 and 1 had lately and that were replaced since (`row` = `seq`).
CREATE TABLE vector_change (
  source INTEGER NOT NULL,
  row INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (source, row)
) WITHOUT ROWID;
CREATE INDEX vector_change_order ON vector_change(source, seq);

INSERT INTO vector_change(source, row, seq)
  SELECT 0, row, (row_number() OVER (ORDER BY row)) * 524288 + (random() & 524287) FROM embedding;
INSERT INTO turn_queue(turn)
  SELECT row FROM chatlog WHERE ((life >> 16) & 1) = 1 AND life < 9223372036854775807
  AND content IS NOT NULL;

-- Words of the full-text indexes with the number of rows that have them.
CREATE VIRTUAL TABLE memory_vocab USING fts5vocab(memory_fts, row);
CREATE VIRTUAL TABLE chatlog_vocab USING fts5vocab(chatlog_fts, row);

-- Names of those who speak: what a question may call a person.
CREATE INDEX chatlog_speaker ON chatlog(role COLLATE NOCASE)
  WHERE role NOT IN ('user', 'assistant', 'system', 'tool');
CREATE INDEX memory_agent ON memory(agent_id COLLATE NOCASE) WHERE agent_id IS NOT NULL;
