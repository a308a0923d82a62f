-- report.conversations
SELECT c.tenant, c.conversation_id, c.host_agent, c.agent, encode(c.machine, 'hex') AS machine,
    n.host, c.first_at, c.last_at, c.turns, c.tokens_in, c.tokens_out,
    round(c.cost::numeric, 6)::double precision AS cost
FROM satchel.report_conversations c
LEFT JOIN satchel.machine_name n ON n.tenant = c.tenant AND n.machine = c.machine
