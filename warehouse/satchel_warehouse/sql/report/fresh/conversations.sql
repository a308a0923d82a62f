-- One line a conversation.
WITH turn AS (
    SELECT left(c.conversation_id, 500) AS conversation_id, left(c.host_agent, 200) AS host_agent,
        left(c.agent_id, 200) AS agent_id,
        satchel.first_origin(c.lineage, c.origin) AS machine,
        coalesce(satchel.moment(c.said_at), satchel.moment(satchel.first_ms(c.lineage, c.hlc)))
            AS at, c.tokens_in, c.tokens_out, satchel.dollars(c.cost) AS cost,
        row_number() OVER (PARTITION BY left(c.conversation_id, 500)
            ORDER BY c.ordinal, c.said_at, c.id) AS place
    FROM satchel.chatlog c
    WHERE c.tenant = _tenant AND satchel.is_alive(c.life) AND c.conversation_id IS NOT NULL
)
SELECT _tenant, t.conversation_id,
    max(t.host_agent) FILTER (WHERE t.place = 1), max(t.agent_id) FILTER (WHERE t.place = 1),
    (array_agg(t.machine) FILTER (WHERE t.place = 1))[1], min(t.at), max(t.at), count(*),
    satchel.bounded(coalesce(sum(t.tokens_in), 0)), satchel.bounded(coalesce(sum(t.tokens_out), 0)),
    sum(t.cost)
FROM turn t GROUP BY t.conversation_id
