-- report.deletions
SELECT d.tenant, d.day, encode(d.machine, 'hex') AS machine, n.host, d.kind, d.deleted, d.erased
FROM satchel.report_deletions d
LEFT JOIN satchel.machine_name n ON n.tenant = d.tenant AND n.machine = d.machine
