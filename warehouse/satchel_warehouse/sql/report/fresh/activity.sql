-- Rows created, changed and deleted, by day, machine, agent and kind.
WITH rows AS (
    @kinds_born@
), ended AS (
    SELECT DISTINCT ON (h.kind, h.key) h.kind, h.key, h.actor
    FROM satchel.history h
    WHERE h.tenant = _tenant AND h.event = 'delete'
    ORDER BY h.kind, h.key, h.at DESC, h.id
), event AS (
    SELECT coalesce(satchel.day_of(r.at), satchel.day_of(satchel.drawn_ms(r.key)),
            CASE WHEN satchel.is_alive(r.life) OR r.lineage <> ''
                THEN satchel.day_of(satchel.first_ms(r.lineage, r.hlc)) END) AS day,
        satchel.first_origin(r.lineage, r.origin) AS machine, r.agent, r.kind, 1 AS what
    FROM rows r
    UNION ALL
    SELECT coalesce(satchel.day_of(h.at), satchel.day_of(h.hlc >> 16)), h.origin, h.actor, h.kind, 2
    FROM satchel.history h
    WHERE h.tenant = _tenant AND satchel.is_alive(h.life) AND h.event <> 'delete'
        AND h.kind = ANY ('@kinds@')
    UNION ALL
    SELECT satchel.day_of(r.hlc >> 16), r.origin, e.actor, r.kind, 3
    FROM rows r LEFT JOIN ended e ON e.kind = r.kind AND e.key = r.key
    WHERE NOT satchel.is_alive(r.life)
)
SELECT _tenant, e.day, e.machine, satchel.short(e.agent) AS agent, e.kind,
    count(*) FILTER (WHERE e.what = 1), count(*) FILTER (WHERE e.what = 2),
    count(*) FILTER (WHERE e.what = 3)
FROM event e WHERE e.day IS NOT NULL
GROUP BY e.day, e.machine, satchel.short(e.agent), e.kind
