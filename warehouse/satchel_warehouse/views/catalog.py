"""All views of schema `report`, and the sums behind them in the order in which they are made."""

from __future__ import annotations

from satchel_warehouse.views import fleet, knowledge, work
from satchel_warehouse.views.view import View

VIEWS: tuple[View, ...] = (
    fleet.MACHINES,
    fleet.ACTIVITY,
    knowledge.MEMORIES,
    knowledge.KNOWLEDGE_CHANGES,
    fleet.CONFLICTS,
    fleet.QUARANTINE,
    knowledge.TOTALS,
    work.TASKS,
    work.TASK_FLOW,
    work.TASKS_OPEN,
    work.CONVERSATIONS,
    work.USAGE,
    knowledge.EMBEDDING_COVERAGE,
    fleet.DELETIONS,
    fleet.READS,
    knowledge.FRESHNESS,
)
BY_NAME = {view.name: view for view in VIEWS}

VIEW_OF: dict[str, str] = {view.sum: view.name for view in reversed(VIEWS) if view.sum}
"""Sum -> the view that shows it line by line, by whose name people know it."""
SUMS: tuple[str, ...] = tuple(dict.fromkeys(view.sum for view in VIEWS if view.sum))
"""Those of conflicts need those of activity, which are made before."""
