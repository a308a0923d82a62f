-- Turns of models by day, provider, model, machine and agent.
WITH turn AS (
    SELECT coalesce(satchel.day_of(c.said_at),
            satchel.day_of(satchel.first_ms(c.lineage, c.hlc))) AS day,
        satchel.short(c.provider) AS provider, satchel.short(c.model) AS model,
        satchel.first_origin(c.lineage, c.origin) AS machine,
        satchel.short(coalesce(c.agent_id, c.host_agent)) AS agent,
        c.tokens_in, c.tokens_out, satchel.dollars(c.cost) AS cost
    FROM satchel.chatlog c
    WHERE c.tenant = _tenant AND satchel.is_alive(c.life)
        AND num_nonnulls(c.model, c.tokens_in, c.tokens_out, c.cost) > 0
)
SELECT _tenant, t.day, t.provider, t.model, t.machine, t.agent, count(*),
    satchel.bounded(coalesce(sum(t.tokens_in), 0)), satchel.bounded(coalesce(sum(t.tokens_out), 0)),
    sum(t.cost)
FROM turn t WHERE t.day IS NOT NULL
GROUP BY t.day, t.provider, t.model, t.machine, t.agent
