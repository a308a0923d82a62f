"""SQL: which tasks can be taken now, and which of them first; `ready` in `task_rows` says the same.

A test holds the two equal. The index `task_open` is made of the same words.
"""

from __future__ import annotations

from satchel.store.sql import alive

OPEN = "coalesce(t.status, '') NOT IN ('completed', 'failed', 'cancelled')"
FREE = f"""({OPEN}
    AND (coalesce(t.status, '') NOT IN ('in_progress', 'blocked')
         OR (t.status = 'in_progress' AND t.claimed_by IS NOT NULL))
    AND (t.claimed_by IS NULL OR coalesce(t.lease_until, 0) <= :now)
    AND NOT EXISTS (
        SELECT 1 FROM json_each(iif(json_valid(t.depends_on), t.depends_on, '[]')) AS d
        LEFT JOIN task AS n ON n.id = d.value
        WHERE d.type = 'text' AND (n.id IS NULL
              OR ({alive("n")} AND n.status IS NOT 'completed'))))"""
"""Nobody holds the task `t` at `:now`, and it waits for nothing."""
FIRST = """coalesce(t.priority, 0) DESC, t.due_at IS NULL, t.due_at,
    coalesce(t.created_at, 0), t.id"""
"""The larger priority, then the nearer due date, then the older; as `task_order` ranks."""
