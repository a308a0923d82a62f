-- One line a living task, with its place in the tree.
WITH placed AS MATERIALIZED (
    SELECT * FROM satchel.task_places(_tenant)
), counted AS (
    SELECT p.parent_id AS id, count(*) AS children FROM placed p GROUP BY p.parent_id
)
SELECT _tenant, t.id, CASE t.scope WHEN 'org' THEN left(t.title, 1000) END,
    satchel.short(t.status), left(t.owner_agent, 200), left(t.created_by, 200),
    coalesce(satchel.moment(t.created_at), satchel.moment(satchel.drawn_ms(t.id)),
        satchel.moment(satchel.first_ms(t.lineage, t.hlc))),
    CASE WHEN t.status IN ('completed', 'failed', 'cancelled')
        THEN coalesce(satchel.moment(t.completed_at), satchel.moment(t.hlc >> 16)) END,
    satchel.moment(t.due_at), left(t.claimed_by, 200), satchel.moment(t.lease_until),
    p.parent_id, p.root_id, p.depth, coalesce(c.children, 0)
FROM satchel.task t JOIN placed p ON p.id = t.id LEFT JOIN counted c ON c.id = t.id
WHERE t.tenant = _tenant
