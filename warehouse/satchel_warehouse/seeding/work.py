"""What is to be done: trees of tasks, how they went, and the messages about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from satchel_sync.stamp import CREATED, FINISHED, next_generation
from satchel_sync.tables import Message, Task
from satchel_warehouse.seeding import words
from satchel_warehouse.seeding.cast import DAY_MS, HOUR_MS, SPACES, Cast, uuid7
from satchel_warehouse.seeding.draw import Draw
from satchel_warehouse.seeding.made import Made
from satchel_warehouse.seeding.past import past

TASKS_MAX = 7
CYCLES, DELETED = 0.003, 0.02
ENDS = ("completed",) * 14 + ("failed", "cancelled")
OPEN = ("pending", "pending", "in_progress", "blocked")


@dataclass
class Work:
    """Makes pieces of work one after another."""

    cast: Cast
    draw: Draw

    def story(self, at: int) -> Iterator[Made]:
        """A task with its subtasks, begun at `at`; two in a thousand are each other's parent."""
        draw = self.draw
        machine = draw.early(range(self.cast.machines))
        tasks: list[Task] = []
        for number in range(draw.between(1, TASKS_MAX)):
            begins = at + number * draw.between(1_000, HOUR_MS)
            if begins > self.cast.end_ms:
                break
            parent = draw.early(tasks[::-1]).id if tasks else None
            tasks.append(self._task(begins, machine, parent))
        if len(tasks) > 1 and draw.chance(CYCLES):
            tasks[0] = replace(tasks[0], parent_id=tasks[-1].id)
        for task in tasks:
            yield from self._told(task, machine)

    def _task(self, at: int, machine: int, parent: str | None) -> Task:
        draw = self.draw
        lasts = int(DAY_MS * 20 * draw.share() ** 4) + draw.between(60_000, HOUR_MS)
        done = at + lasts < self.cast.end_ms and draw.chance(0.85)
        agent = draw.early(self.cast.agents[machine])
        owner = draw.early(self.cast.agents[draw.early(range(self.cast.machines))])
        status = draw.pick(ENDS if done else OPEN)
        claimed = status == "in_progress"
        return Task(
            id=uuid7(draw, at),
            title=f"{words.MARK} {words.thing(draw)}",
            description=words.text(draw, 3) if draw.chance(0.5) else None,
            status=status,
            priority=draw.below(4),
            scope="org" if draw.chance(0.3) else "space",
            space=draw.early(SPACES),
            agent_id=agent,
            owner_agent=owner if draw.chance(0.9) else None,
            created_by=agent,
            parent_id=parent,
            due_at=at + draw.between(1, 30) * DAY_MS if draw.chance(0.3) else None,
            claimed_by=owner if claimed else None,
            lease_until=self.cast.end_ms + draw.between(-HOUR_MS, HOUR_MS) if claimed else None,
            result=words.text(draw, 1) if status == "completed" else None,
            created_at=at,
            completed_at=at + lasts if done else None,
        )

    def _told(self, task: Task, machine: int) -> Iterator[Made]:
        """The task, the changes of its status, and what was sent about it."""
        draw, at = self.draw, task.created_at or 0
        ended = task.completed_at
        version = at if ended is None else ended
        life = CREATED + (1 if task.status in FINISHED else 0)
        gone = version + draw.between(HOUR_MS, 10 * DAY_MS)
        if draw.chance(DELETED) and gone <= self.cast.end_ms:
            yield from self._deleted(task, gone, machine, next_generation(life))
            return
        yield Made(task, version, machine, life)
        moves = [("pending", "in_progress")] if task.status != "pending" else []
        moves += [("in_progress", task.status or "")] if ended is not None else []
        for was, becomes in moves:
            when = version if becomes in FINISHED else min(at + 30_000, self.cast.end_ms)
            changes: dict[str, list[object]] = {"status": [was, becomes]}
            yield past(draw, "task", task.id, "update", changes, task.owner_agent, when, machine)
        if task.owner_agent and draw.chance(0.4):
            yield Made(self._message(task, at), at, machine, rank=1)

    def _deleted(self, task: Task, at: int, machine: int, life: int) -> Iterator[Made]:
        """A tombstone, and a past that holds the whole row."""
        held = {name: [value, None] for name, value in asdict(task).items() if value is not None}
        del held["id"]
        yield Made(Task(id=task.id), at, machine, life)
        yield past(self.draw, "task", task.id, "delete", held, task.created_by, at, machine)

    def _message(self, task: Task, at: int) -> Message:
        draw = self.draw
        return Message(
            id=uuid7(draw, at),
            to_agent=task.owner_agent,
            from_agent=task.created_by,
            kind=draw.pick(("handoff", "notification", "note")),
            title=f"{words.MARK} {words.thing(draw)}",
            content=words.text(draw, 2),
            task_id=task.id,
            priority=draw.below(3),
            created_at=at,
            acked_at=at + draw.between(60_000, DAY_MS) if draw.chance(0.8) else None,
        )
