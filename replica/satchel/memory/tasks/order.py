"""In which order tasks can be done: dependencies first, then priority. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from satchel.memory.tasks.states import FINISHED
from satchel.memory.text import stored_list
from satchel_sync.tables import Task

Rank = tuple[bool, int, int, int, str]


def waits_for(task: Task, status_of: Mapping[str, str | None]) -> list[str]:
    """Dependencies that are not completed; one that has not arrived yet is waited for, too."""
    return [key for key in stored_list(task.depends_on) if status_of.get(key) != "completed"]


def ordered(tasks: Sequence[Task]) -> list[Task]:
    """Open tasks before ended ones, no task before one that it depends on, else by priority.

    Tasks in a cycle of dependencies (two machines may make one) come last, by priority.
    """
    by_id = {task.id: task for task in tasks}
    open_ids = {task.id for task in tasks if task.status not in FINISHED}
    blockers = {task.id: _blockers(task, open_ids) for task in tasks}
    followers: dict[str, list[str]] = {}
    for key, before in blockers.items():
        for other in before:
            followers.setdefault(other, []).append(key)
    heap = [_rank(by_id[key]) for key, before in blockers.items() if not before]
    heapq.heapify(heap)
    found: list[Task] = []
    while heap:
        key = heapq.heappop(heap)[-1]
        found.append(by_id[key])
        for follower in followers.get(key, ()):
            blockers[follower].discard(key)
            if not blockers[follower]:
                heapq.heappush(heap, _rank(by_id[follower]))
    done = {task.id for task in found}
    found += sorted((task for task in tasks if task.id not in done), key=_rank)
    return found


def reaches(start: str, target: str, edges: Mapping[str, Collection[str]]) -> bool:
    """Whether `target` can be reached from `start`; every node is looked at once."""
    seen, stack = {start}, [start]
    while stack:
        key = stack.pop()
        if key == target:
            return True
        fresh = [other for other in edges.get(key, ()) if other not in seen]
        seen.update(fresh)
        stack += fresh
    return False


def _blockers(task: Task, open_ids: Collection[str]) -> set[str]:
    if task.id not in open_ids:
        return set()
    return {key for key in stored_list(task.depends_on) if key in open_ids and key != task.id}


def _rank(task: Task) -> Rank:
    return (
        task.status in FINISHED,
        -(task.priority or 0),
        2**63 if task.due_at is None else task.due_at,
        task.created_at or 0,
        task.id,
    )
