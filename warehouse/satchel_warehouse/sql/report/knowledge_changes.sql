-- report.knowledge_changes
SELECT c.tenant, c.at, (c.at AT TIME ZONE 'UTC')::date AS day, c.event, c.memory_id,
    c.successor_id, c.actor, encode(c.machine, 'hex') AS machine, n.host, c.type, c.scope, c.space,
    c.fields
FROM satchel.report_changes c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine
