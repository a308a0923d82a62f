"""Tasks, messages and agents that somebody wrote by hand: shown as they are, in nobody's way."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import pytest
from fix_memory import seen_as

from satchel.errors import SatchelError
from satchel.memory import agents
from satchel.memory.messages import messages
from satchel.memory.tasks import tasks
from satchel.replica import DATABASE_FILE, Replica

NO_TEXT = "CAST(x'ff41' AS TEXT)"
DAMAGE = [
    "UPDATE task SET lease_until = 'soon', priority = 'high', parent_id = 7, due_at = 'x'",
    "UPDATE task SET created_at = x'ff', status = 5, depends_on = '{\"a\": 1}'",
    f"UPDATE task SET title = {NO_TEXT}, claimed_by = {NO_TEXT}",
    "UPDATE task SET title = 'a' || char(0) || 'b', owner_agent = 5, claimed_by = NULL",
    "UPDATE message SET created_at = 'then', expires_at = 'never', acked_at = 'no', priority = 'p'",
    f"UPDATE message SET dedup_key = x'00ff', content = {NO_TEXT}, thread_id = 3",
    f"UPDATE message SET dedup_key = {NO_TEXT}, from_agent = {NO_TEXT}",
    "UPDATE agent SET last_seen = 'x', capabilities = '{}', status = 3",
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_was_written_by_hand_breaks_nothing(ada: Replica, damage: str) -> None:
    bob, operator = seen_as(ada, "bob"), seen_as(ada, None)
    agents.register(ada, "ada")
    top = tasks.create(ada, "x")["id"]
    part = tasks.create(ada, "y", parent=top, depends_on=[top])["id"]
    sent = messages.send(ada, "bob", "hi", dedup_key="k")["id"]
    messages.send(bob, "ada", "yo", thread_id=sent, dedup_key="z")
    tasks.claim(ada, top)
    with closing(sqlite3.connect(ada.store.path.parent / DATABASE_FILE)) as db:
        db.execute(damage)
        db.commit()

    calls: list[Callable[[], Any]] = [
        lambda: tasks.get(operator, top),
        lambda: tasks.list_tasks(ada),
        lambda: tasks.list_tasks(ada, ready=True),
        lambda: tasks.tree(operator, top),
        lambda: messages.inbox(ada, acked=True),
        lambda: messages.inbox(operator, acked=True),
        lambda: messages.inbox(bob),
        lambda: messages.thread(operator, sent),
        lambda: messages.get(operator, sent),
        lambda: agents.list_agents(ada),
        lambda: agents.heartbeat(ada, "ada"),
        lambda: messages.send(ada, "bob", "again", dedup_key="k"),
        lambda: messages.ack_all(bob),
        lambda: tasks.create(ada, "another"),
    ]
    for call in calls:
        call()
    refusable: list[Callable[[], Any]] = [
        lambda: tasks.claim_next(ada),
        lambda: tasks.claim(operator, part, agent="ada"),
        lambda: tasks.release(operator, top),
        lambda: tasks.complete(operator, part),
    ]
    for call in refusable:
        with suppress(SatchelError):
            call()
    with ada.store.read() as db:
        told = db.execute("SELECT CAST(content AS BLOB) FROM message WHERE title LIKE 'task%'")
        assert all(b"\0" not in content for (content,) in told)
