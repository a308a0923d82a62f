-- What auditors read: the audit chains of their tenant's machines, as they came. Nothing is dropped
-- or renamed here, and columns are only ever appended: people build on it.

CREATE OR REPLACE VIEW audit.machines AS
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, r.host, r.login, r.version,
    to_timestamp(r.first_seen / 1000.0) AS first_seen,
    to_timestamp(r.last_seen / 1000.0) AS last_seen,
    to_timestamp(r.revoked_at / 1000.0) AS revoked_at, r.replica_id
FROM satchel.replica r;
COMMENT ON VIEW audit.machines IS 'Every machine that ever synced.';

-- `body` is what links and signatures are over; the columns before it are read from it.
CREATE OR REPLACE VIEW audit.records AS
SELECT a.tenant, encode(a.replica_id, 'hex') AS machine, a.chain, a.seq,
    to_timestamp(a.at / 1000.0) AS at, to_timestamp(a.received_at / 1000.0) AS received_at,
    said.body ->> 'action' AS action, said.body ->> 'actor' AS actor, said.body ->> 'tool' AS tool,
    said.body -> 'rows' AS rows, said.body -> 'detail' AS detail,
    a.body, a.link, a.mac, a.replica_id, a.at AS at_ms
FROM satchel.audit a, LATERAL (SELECT satchel.audit_said(a.body) AS body) AS said;
COMMENT ON VIEW audit.records IS 'Who read and wrote which rows, when: ids, never a text.';

CREATE OR REPLACE VIEW audit.heads AS
SELECT h.tenant, encode(h.replica_id, 'hex') AS machine, h.chain, h.seq,
    to_timestamp(h.at / 1000.0) AS at, to_timestamp(h.received_at / 1000.0) AS received_at,
    h.link, h.signature, h.replica_id, h.at AS at_ms
FROM satchel.audit_head h;
COMMENT ON VIEW audit.heads IS 'The ends of chains as their machines signed them.';

CREATE OR REPLACE VIEW audit.keys AS
SELECT k.tenant, encode(k.replica_id, 'hex') AS machine, k.algorithm, k.public_key,
    to_timestamp(k.pinned_at / 1000.0) AS pinned_at, k.replica_id
FROM satchel.audit_key k;
COMMENT ON VIEW audit.keys IS 'The key that signed a machine''s first head; others do not count.';

CREATE OR REPLACE VIEW audit.cuts AS
SELECT c.tenant, encode(c.replica_id, 'hex') AS machine, c.chain, c.seq, c.why,
    to_timestamp(c.at / 1000.0) AS at, c.link, c.record, c.replica_id
FROM satchel.audit_cut c;
COMMENT ON VIEW audit.cuts IS 'Where a chain begins behind records that are gone, and why.';

CREATE OR REPLACE VIEW audit.troubles AS
SELECT t.tenant, encode(t.replica_id, 'hex') AS machine, t.chain, t.what, t.seq, t.held_seq,
    to_timestamp(t.at / 1000.0) AS at, t.login, t.attempt, t.evidence, t.replica_id, t.at AS at_ms
FROM satchel.audit_trouble t;
COMMENT ON VIEW audit.troubles IS 'What came and was refused, as it came.';

CREATE OR REPLACE VIEW audit.searches AS
SELECT s.tenant, s.id AS search_id, to_timestamp(s.at / 1000.0) AS at,
    to_timestamp(s.ended_at / 1000.0) AS ended_at, s.login, s.machine AS host, s.kinds,
    s.rows_read, s.given
FROM satchel.searched s;
COMMENT ON VIEW audit.searches IS
    'Who searched all machines'' rows here, when, and which were given; never what was asked.';
