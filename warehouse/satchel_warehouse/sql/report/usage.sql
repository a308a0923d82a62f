-- report.usage
SELECT u.tenant, u.day, nullif(u.provider, '') AS provider, nullif(u.model, '') AS model,
    encode(u.machine, 'hex') AS machine, n.host, nullif(u.agent, '') AS agent, u.turns,
    u.tokens_in, u.tokens_out, round(u.cost::numeric, 6)::double precision AS cost
FROM satchel.report_usage u
LEFT JOIN satchel.machine_name n ON n.tenant = u.tenant AND n.machine = u.machine
