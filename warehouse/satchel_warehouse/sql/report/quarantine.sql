-- report.quarantine
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, nullif(r.host, '') AS host, held.kind,
    held.rows, to_timestamp(done.finished_at / 1000.0) AS reported_at
FROM satchel.replica r
CROSS JOIN LATERAL (
    SELECT a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id AND a.finished_at IS NOT NULL
    ORDER BY a.started_at DESC LIMIT 1
) AS done
CROSS JOIN LATERAL (
    SELECT substr(e.key, 11) AS kind, (e.value #>> '{}')::numeric::bigint AS rows
    FROM jsonb_each(done.said) AS e WHERE starts_with(e.key, 'held_back.')
    UNION ALL
    SELECT NULL, (done.said ->> 'quarantined')::numeric::bigint
    WHERE NOT EXISTS (SELECT FROM jsonb_each(done.said) AS e
        WHERE starts_with(e.key, 'held_back.'))
) AS held
WHERE r.revoked_at IS NULL AND held.rows > 0
