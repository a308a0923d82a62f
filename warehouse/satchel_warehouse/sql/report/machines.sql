-- report.machines
SELECT r.tenant, encode(r.replica_id, 'hex') AS machine, nullif(r.host, '') AS host, r.login,
    nullif(r.version, '') AS version,
    to_timestamp(r.first_seen / 1000.0) AS first_seen,
    to_timestamp(r.last_seen / 1000.0) AS last_seen,
    to_timestamp(done.finished_at / 1000.0) AS last_sync,
    (done.said ->> 'exit')::numeric::bigint AS last_exit,
    s.syncs_7d, s.failed_7d,
    CASE WHEN done.finished_at IS NOT NULL
        THEN greatest(0, clock.ms - done.finished_at) / 1000.0::double precision END AS lag_s,
    s.rows, s.rows_behind,
    (done.said ->> 'oldest_unsent_s')::double precision AS oldest_unsent_s,
    (done.said ->> 'clock_offset_ms')::numeric::bigint AS clock_offset_ms,
    (done.said ->> 'quarantined')::numeric::bigint AS quarantined,
    r.revoked_at IS NOT NULL AS revoked,
    CASE
        WHEN r.revoked_at IS NOT NULL THEN 'revoked'
        WHEN tried.started_at IS NULL AND done.finished_at IS NULL THEN 'never'
        WHEN tried.finished_at IS NULL
            OR coalesce((tried.said ->> 'exit')::numeric, 0) NOT IN (0, 11) THEN 'failing'
        WHEN clock.ms - done.finished_at > @late_hours@ * 3600000::bigint THEN 'late'
        ELSE 'ok'
    END AS status
FROM satchel.replica r
CROSS JOIN satchel.clock
LEFT JOIN LATERAL (
    SELECT a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id AND a.finished_at IS NOT NULL
    ORDER BY a.started_at DESC LIMIT 1
) AS done ON true
LEFT JOIN LATERAL (
    SELECT a.started_at, a.finished_at, a.said FROM satchel.attempt a
    WHERE a.tenant = r.tenant AND a.replica_id = r.replica_id
        AND (a.finished_at IS NOT NULL
            OR (a.carrier IS NULL AND NOT a.levels AND a.started_at < clock.ms - 3600000))
    ORDER BY a.started_at DESC LIMIT 1
) AS tried ON true
LEFT JOIN satchel.report_machines s ON s.tenant = r.tenant AND s.machine = r.replica_id
