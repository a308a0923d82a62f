-- The conflict journal by day, machine, kind and path, beside what was written then.
SELECT _tenant, c.day, c.machine, c.kind, c.path, c.conflicts, coalesce(w.rows, 0)::bigint
FROM (
    SELECT coalesce(satchel.day_of(at), satchel.day_of(received_at)) AS day, replica_id AS machine,
        satchel.short(kind) AS kind, satchel.short(path) AS path, count(*) AS conflicts
    FROM satchel.conflict WHERE tenant = _tenant GROUP BY 1, 2, 3, 4
) AS c
LEFT JOIN (
    SELECT day, machine, kind, sum(created + changed + deleted) AS rows
    FROM satchel.report_activity WHERE tenant = _tenant GROUP BY 1, 2, 3
) AS w USING (day, machine, kind)
