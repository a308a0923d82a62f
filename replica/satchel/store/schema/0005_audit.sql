-- The chain of writes (satchel/audit, satchel_crypto/audit_record.py). Local: what travels of it
-- goes to the hub as it is, and no row is ever merged. `link` is over `body` and the link before.
CREATE TABLE audit (
  replica_id BLOB NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  body TEXT NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL,
  PRIMARY KEY (replica_id, seq)
) WITHOUT ROWID;

-- Where each chain stands, under a MAC of its own: the next record follows this one, so a chain
-- that was cut shows the gap. `anchored_at`: when the other chain was named last (UTC ms).
CREATE TABLE audit_head (
  replica_id BLOB PRIMARY KEY,
  seq INTEGER NOT NULL,
  link BLOB NOT NULL,
  mac BLOB NOT NULL,
  at INTEGER NOT NULL,
  anchored_at INTEGER NOT NULL
) WITHOUT ROWID;
