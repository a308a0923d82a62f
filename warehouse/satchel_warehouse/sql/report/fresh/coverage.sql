-- How many memories have a vector of their present text, by model.
WITH memory AS MATERIALIZED (
    SELECT m.id, m.title, m.aliases, m.content FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life)
        AND satchel.is_embeddable(m.title, m.aliases, m.content)
), vector AS (
    SELECT satchel.short(e.model) AS model, e.memory_id,
        bool_or(e.content_hash = satchel.embedded_hash(m.title, m.aliases, m.content)) AS fits
    FROM satchel.embedding e JOIN memory m ON m.id = e.memory_id
    WHERE e.tenant = _tenant AND satchel.is_alive(e.life)
    GROUP BY satchel.short(e.model), e.memory_id
)
SELECT _tenant, v.model, (SELECT count(*) FROM memory),
    count(*) FILTER (WHERE v.fits), count(*) FILTER (WHERE v.fits IS NOT TRUE)
FROM vector v GROUP BY v.model
