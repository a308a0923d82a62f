"""Sixteen processes on one file: each task is done once, no update and no message is lost."""

from __future__ import annotations

from pathlib import Path

import fix_workers
from fix_memory import opened, seen_as

from satchel.memory.messages import messages
from satchel.memory.tasks import tasks

WORKERS = 16
POOL = 40


def test_sixteen_processes_share_the_work(tmp_path: Path) -> None:
    with opened(tmp_path, "boss", embedding="off") as boss:
        contested = tasks.create(boss, "contested", space="lab")["id"]
        changed = tasks.create(boss, "changed", space="lab")["id"]
        first = tasks.create(boss, "first", space="pool", priority=-1)["id"]
        pool = [first] + [
            tasks.create(
                boss, f"t{n}", space="pool", priority=n, depends_on=[first] if n % 2 else None
            )["id"]
            for n in range(POOL)
        ]
        found = fix_workers.run(tmp_path, WORKERS, contested, changed)

        winners = [won for _, won, _ in found if not won.startswith("refused")]
        assert len(winners) == 1
        assert all(f"held by {winners[0]}" in won for _, won, _ in found if won not in winners)

        done = [key for _, _, keys in found for key in keys]
        left = [one["id"] for one in tasks.list_tasks(boss, space="pool", ready=True)["items"]]
        assert sorted(done + left) == sorted(set(done) | set(left))
        assert left == [], "whoever came last found what the others had made ready"
        assert sorted(done) == sorted(pool)
        by = {key: name for name, _, keys in found for key in keys}
        assert {tasks.get(boss, key)["result"] for key in pool} == {
            f"by {name}" for name in by.values()
        }
        assert all(tasks.get(boss, key)["claimed_by"] == by[key] for key in pool)

        task = tasks.get(boss, changed)
        assert None not in [
            task[name]
            for name in ("title", "description", "due_at", "result", "metadata", "owner_agent")
        ]
        assert (task["priority"], task["created_by"]) == (1, "boss")

        reader = seen_as(boss, "reader")
        items = messages.inbox(reader, kind="message", limit=1000)["items"]
        assert len(items) == 3 * WORKERS
        for name, _, _ in found:
            sent = [one["content"] for one in items if one["from_agent"] == name]
            assert sent == [f"{name} {turn}" for turn in range(3)]
        assert messages.inbox(reader, kind="notification")["unread"] == WORKERS
