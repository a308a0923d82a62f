-- report.tasks_open
SELECT t.tenant, t.owner, CASE
        WHEN t.created_at > clock.now - interval '1 day' THEN '<1d'
        WHEN t.created_at > clock.now - interval '7 days' THEN '1-7d'
        WHEN t.created_at > clock.now - interval '30 days' THEN '7-30d'
        ELSE '>30d'
    END AS age, nullif(t.status, '') AS status, count(*) AS tasks
FROM satchel.report_tasks t CROSS JOIN satchel.clock
WHERE t.completed_at IS NULL
GROUP BY 1, 2, 3, 4
