-- Living memories by state, type, scope and space.
WITH moment AS MATERIALIZED (SELECT satchel.now_ms() AS now), successor AS (
    SELECT DISTINCT m.supersedes AS id FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life) AND m.supersedes IS NOT NULL
), judged AS (
    SELECT CASE
            WHEN m.expires_at <= now THEN 'expired'
            WHEN m.valid_to <= now AND m.retired_at IS NOT NULL AND s.id IS NOT NULL
                THEN 'superseded'
            WHEN m.valid_to <= now THEN 'retracted'
            WHEN m.valid_from > now THEN 'future'
            WHEN coalesce(m.pinned, 0) = 0 AND (m.hlc >> 16) < now - @stale_days@ * 86400000::bigint
                THEN 'stale'
            ELSE 'current'
        END AS state,
        satchel.short(m.type) AS type, satchel.short(m.scope) AS scope,
        satchel.short(m.space) AS space, coalesce(m.pinned, 0) <> 0 AS pinned,
        satchel.moment(m.recorded_at) AS recorded_at
    FROM satchel.memory m CROSS JOIN moment LEFT JOIN successor s ON s.id = m.id
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life)
)
SELECT _tenant, j.state, j.type, j.scope, j.space, count(*), count(*) FILTER (WHERE j.pinned),
    min(j.recorded_at), max(j.recorded_at)
FROM judged j GROUP BY j.state, j.type, j.scope, j.space
