-- report.activity
SELECT a.tenant, a.day, encode(a.machine, 'hex') AS machine, n.host, nullif(a.agent, '') AS agent,
    a.kind, a.created, a.changed, a.deleted
FROM satchel.report_activity a
LEFT JOIN satchel.machine_name n ON n.tenant = a.tenant AND n.machine = a.machine
