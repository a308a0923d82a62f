-- report.conflicts
SELECT c.tenant, c.day, encode(c.machine, 'hex') AS machine, n.host, c.kind, c.path, c.conflicts,
    c.rows_written, c.conflicts::double precision / nullif(c.rows_written, 0) AS rate
FROM satchel.report_conflicts c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine
