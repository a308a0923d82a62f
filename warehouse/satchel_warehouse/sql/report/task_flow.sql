-- report.task_flow
WITH event AS (
    SELECT t.tenant, t.created_at AS at, 'created' AS what, NULL::double precision AS cycle_s
    FROM satchel.report_tasks t
    UNION ALL
    SELECT t.tenant, t.ended_at, t.status, CASE t.status WHEN 'completed'
        THEN extract(epoch FROM t.ended_at - t.created_at)::double precision END
    FROM (SELECT tenant, status, created_at, greatest(completed_at, created_at) AS ended_at
        FROM satchel.report_tasks WHERE completed_at IS NOT NULL) AS t
), counted AS (
    SELECT e.tenant, (e.at AT TIME ZONE 'UTC')::date AS day,
        count(*) FILTER (WHERE e.what = 'created') AS created,
        count(*) FILTER (WHERE e.what = 'completed') AS done,
        count(*) FILTER (WHERE e.what = 'failed') AS failed,
        count(*) FILTER (WHERE e.what = 'cancelled') AS cancelled,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY e.cycle_s) AS cycle_s_median,
        percentile_cont(0.9) WITHIN GROUP (ORDER BY e.cycle_s) AS cycle_s_p90
    FROM event e GROUP BY e.tenant, (e.at AT TIME ZONE 'UTC')::date
)
SELECT c.tenant, c.day, c.created, c.done, c.failed, c.cancelled, c.cycle_s_median, c.cycle_s_p90,
    (sum(c.created - c.done - c.failed - c.cancelled)
        OVER (PARTITION BY c.tenant ORDER BY c.day))::bigint AS open_at_end
FROM counted c
