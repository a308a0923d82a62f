-- The chains of reads by day, machine, actor, tool and action; with them who searched here.
WITH said AS MATERIALIZED (
    SELECT a.replica_id AS machine, satchel.day_of(a.at) AS day, satchel.audit_said(a.body) AS body
    FROM satchel.audit a WHERE a.tenant = _tenant AND a.chain = 'reads'
), told AS (
    SELECT s.machine, s.day, satchel.short(s.body ->> 'actor') AS actor,
        satchel.short(s.body ->> 'tool') AS tool,
        satchel.short(s.body ->> 'action') AS action,
        CASE json_typeof(s.body -> 'rows') WHEN 'array' THEN json_array_length(s.body -> 'rows')
            ELSE 0 END + CASE WHEN s.body ->> 'more' ~ '^[0-9]{1,15}$'
            THEN (s.body ->> 'more')::bigint ELSE 0 END AS given
    FROM said s
    UNION ALL
    SELECT t.id, satchel.day_of(f.at), satchel.short(f.login), 'warehouse search', 'searched',
        CASE jsonb_typeof(f.given) WHEN 'array' THEN jsonb_array_length(f.given) ELSE 0 END
    FROM satchel.searched f JOIN satchel.tenant t ON t.name = f.tenant
    WHERE f.tenant = _tenant
)
SELECT _tenant, t.day, t.machine, t.actor, t.tool, t.action, count(*), sum(t.given)::bigint
FROM told t WHERE t.day IS NOT NULL AND t.action NOT IN ('began', 'rotated', 'anchor')
GROUP BY t.day, t.machine, t.actor, t.tool, t.action
