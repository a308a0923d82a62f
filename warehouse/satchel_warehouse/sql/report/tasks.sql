-- report.tasks
SELECT t.tenant, t.task_id, t.title, nullif(t.status, '') AS status, t.owner, t.created_by,
    t.created_at, t.completed_at,
    CASE WHEN t.completed_at IS NOT NULL
        THEN greatest(0, extract(epoch FROM t.completed_at - t.created_at))::double precision
    END AS cycle_s,
    CASE WHEN t.completed_at IS NULL
        THEN greatest(0, extract(epoch FROM clock.now - t.created_at))::double precision
    END AS age_s,
    t.due_at, coalesce(t.completed_at IS NULL AND t.due_at < clock.now, false) AS overdue,
    t.claimed_by, t.lease_until, t.parent_id, t.root_id, t.depth, t.children
FROM satchel.report_tasks t CROSS JOIN satchel.clock
