-- One line a change of a memory, as the history tells it; names of columns, never a text.
WITH said AS MATERIALIZED (
    SELECT h.id, left(h.key, 1024) AS key,
        CASE WHEN h.event IN ('update', 'delete', 'restore') THEN h.event ELSE 'other' END
            AS event,
        left(h.actor, 200) AS actor, h.origin,
        coalesce(satchel.moment(h.at), satchel.moment(h.hlc >> 16)) AS at,
        satchel.audit_said(h.changes) AS changes
    FROM satchel.history h
    WHERE h.tenant = _tenant AND h.kind = 'memory' AND satchel.is_alive(h.life)
        AND h.key IS NOT NULL AND h.event IS NOT NULL
), told AS (
    SELECT s.*, CASE
            WHEN s.event <> 'update' THEN s.event
            WHEN s.changes #> '{supersedes, 0}' #>> '{}' IS NOT NULL
                AND (s.changes -> 'retired_at' IS NOT NULL OR s.changes -> 'valid_to' IS NOT NULL)
                AND s.changes #>> '{retired_at, 0}' IS NULL
                THEN 'retract'
            WHEN s.changes #>> '{retired_at, 1}' IS NOT NULL
                AND s.changes #>> '{retired_at, 0}' IS NULL THEN 'supersede'
            WHEN s.changes #>> '{retired_at, 0}' IS NOT NULL
                AND s.changes #>> '{retired_at, 1}' IS NULL THEN 'reopen'
            ELSE s.event
        END AS became
    FROM said s
), successor AS (
    SELECT m.supersedes AS of, m.recorded_at, min(m.id) AS id FROM satchel.memory m
    WHERE m.tenant = _tenant AND satchel.is_alive(m.life) AND m.supersedes IS NOT NULL
    GROUP BY m.supersedes, m.recorded_at
)
SELECT _tenant, t.id, t.at, t.became, t.key,
    CASE t.became WHEN 'supersede' THEN s.id END,
    t.actor, t.origin,
    left(coalesce(m.type, CASE t.event WHEN 'delete' THEN t.changes #>> '{type, 0}' END), 200),
    left(coalesce(m.scope, CASE t.event WHEN 'delete' THEN t.changes #>> '{scope, 0}' END), 200),
    left(coalesce(m.space, CASE t.event WHEN 'delete' THEN t.changes #>> '{space, 0}' END), 200),
    CASE t.event WHEN 'update' THEN (
        SELECT string_agg(c.key, ', ' ORDER BY c.key) FROM json_each(t.changes) AS c
        WHERE c.key = ANY ('@memory_columns@')) END
FROM told t
LEFT JOIN successor s ON s.of = t.key
    AND s.recorded_at::text = t.changes #>> '{retired_at, 1}'
LEFT JOIN satchel.memory m ON m.tenant = _tenant AND m.id = t.key
WHERE t.at IS NOT NULL
