-- report.reads
SELECT r.tenant, r.day, encode(r.machine, 'hex') AS machine, n.host, nullif(r.actor, '') AS actor,
    nullif(r.tool, '') AS tool, nullif(r.action, '') AS action, r.records, r.rows_given
FROM satchel.report_reads r
LEFT JOIN satchel.machine_name n ON n.tenant = r.tenant AND n.machine = r.machine
