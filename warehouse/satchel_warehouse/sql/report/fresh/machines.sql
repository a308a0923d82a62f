-- Of each machine: rows that it brought, changes that it lacks, its syncs of a week.
WITH machine AS (
    -- What an earlier id of its file was given, it was given (satchel_api.hello).
    SELECT r.replica_id AS id, (SELECT coalesce(jsonb_object_agg(most.kind, most.seq), '{}') FROM (
        SELECT d.key AS kind, max(d.value::bigint) AS seq
        FROM satchel.replica f, jsonb_each_text(f.delivered) d
        WHERE f.tenant = _tenant AND f.replica_id = ANY (r.replica_id || r.predecessors)
        GROUP BY d.key) AS most) AS delivered
    FROM satchel.replica r WHERE r.tenant = _tenant
), pushed AS (
    SELECT pushed_by, sum(rows) AS rows FROM (@kinds_pushed@) AS p GROUP BY pushed_by
), behind AS (
    SELECT id, sum(rows) AS rows FROM (@kinds_behind@) AS b GROUP BY id
), tried AS (
    SELECT a.replica_id, count(*) AS syncs, count(*) FILTER (WHERE CASE
            WHEN a.finished_at IS NULL THEN a.started_at < satchel.now_ms() - 3600000
            ELSE coalesce((a.said ->> 'exit')::numeric, 0) NOT IN (0, 11) END) AS failed
    FROM machine m JOIN satchel.attempt a ON a.replica_id = m.id
    WHERE a.tenant = _tenant
        -- A bundle that was made for a machine, or stands for its chain, is no sync that failed.
        AND (a.finished_at IS NOT NULL OR (a.carrier IS NULL AND NOT a.levels))
        AND a.started_at >= satchel.now_ms() - 7 * 86400000::bigint
    GROUP BY a.replica_id
)
SELECT _tenant, m.id, coalesce(p.rows, 0)::bigint, coalesce(b.rows, 0)::bigint,
    coalesce(t.syncs, 0), coalesce(t.failed, 0)
FROM machine m
LEFT JOIN pushed p ON p.pushed_by = m.id
LEFT JOIN behind b ON b.id = m.id
LEFT JOIN tried t ON t.replica_id = m.id
