"""Workers that share one file: a process each, started once, doing its share of several things."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fix_processes
from fix_memory import opened

from satchel.errors import Conflict
from satchel.memory.messages import messages
from satchel.memory.tasks import tasks

FIELDS: tuple[tuple[str, Any], ...] = (
    ("title", "title of {n}"),
    ("description", "description of {n}"),
    ("priority", 1),
    ("due_at", 5),
    ("result", "result of {n}"),
    ("metadata", {"by": "{n}"}),
    ("owner", "owner of {n}"),
)
"""Columns that a partial update can set, and a value that shows who did."""


def work(home: str, number: int, contested: str, changed: str, gate: Any, answers: Any) -> None:
    """Claim the contested task; then take tasks until there are none; then update and send."""
    name = f"w{number}"
    with opened(Path(home), name, embedding="off") as replica:
        gate.wait()
        try:
            won = tasks.claim(replica, contested)["claimed_by"]
        except Conflict as refusal:
            won = f"refused: {refusal}"
        gate.wait()
        done = []
        while task := tasks.claim_next(replica, space="pool")["task"]:
            done.append(task["id"])
            tasks.complete(replica, task["id"], f"by {name}")
        gate.wait()
        field, value = FIELDS[number % len(FIELDS)]
        shown = value.format(n=name) if isinstance(value, str) else value
        tasks.update(replica, changed, **{field: shown})
        for turn in range(3):
            messages.send(replica, "reader", f"{name} {turn}")
            messages.send(replica, "reader", "build broke", dedup_key="build", kind="notification")
    answers.put((name, won, done))


def run(home: Path, count: int, contested: str, changed: str) -> list[tuple[str, str, list[str]]]:
    """What each of `count` workers answered: its name, the contested claim, the tasks it did."""
    context = fix_processes.workers()
    gate, answers = context.Barrier(count), context.Queue()
    workers = [
        context.Process(target=work, args=(str(home), n, contested, changed, gate, answers))
        for n in range(count)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get(timeout=110) for _ in workers]
    for worker in workers:
        worker.join()
    return found
