"""An event loop: agents sleep until something is for them, work, and tell whoever waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fix_patterns import Team

WAIT_S = 60
"""How long a loop would wait for nothing."""


@contextmanager
def syncing(team: Team, *agents: str) -> Iterator[None]:
    """Sync after sync in the background, as a schedule would do it, on the machines of these."""
    over = threading.Event()

    def again() -> None:
        while not over.is_set():
            team.carry(*agents)

    thread = threading.Thread(target=again)
    if len(team.machines) > 1:
        thread.start()
    try:
        yield
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


def test_a_worker_and_a_planner_wake_each_other(team: Team) -> None:
    """Nobody polls: the worker's call returns with the task, the planner's with its end."""
    team.cast("dispatcher", "loop-worker")
    handled: list[str] = []

    def work_loop() -> None:
        """What an orchestrator does for one agent: wait, dispatch, acknowledge."""
        while len(handled) < 2:
            for event in woken(team, "loop-worker"):
                assert event["title"] == "task_assigned"
                team.ask("loop-worker", "task_claim", id=event["task_id"])
                team.ask("loop-worker", "task_complete", id=event["task_id"], result="done")
                handled.append(event["task_id"])

    worker = threading.Thread(target=work_loop)
    worker.start()
    tasks = [
        team.ask("dispatcher", "task_create", title=title, owner="loop-worker")["id"]
        for title in ("fetch", "parse")
    ]
    ended: list[str] = []
    with syncing(team, "dispatcher", "loop-worker"):
        while len(ended) < len(tasks):
            events = woken(team, "dispatcher")
            assert {event["title"] for event in events} == {"task_completed"}
            ended += [event["task_id"] for event in events]
    worker.join(WAIT_S)
    assert handled == ended == tasks


def woken(team: Team, agent: str) -> list[dict[str, Any]]:
    """Wait for notifications, and acknowledge them; it is the news that ends the wait."""
    answer = team.ask(agent, "notification_list", wait=WAIT_S)
    assert "timed_out" not in answer
    events: list[dict[str, Any]] = answer["items"]
    team.ask(agent, "notification_ack", ids=[event["id"] for event in events])
    return events


def test_signals_come_in_order_and_once(team: Team) -> None:
    team.cast("build-bot", "release-manager")
    for number in range(3):
        team.ask("build-bot", "message_send", to="release-manager", kind="notification",
                 title="build", content=f"build {number} is green")  # fmt: skip
    for _ in range(2):
        team.ask("build-bot", "message_send", to="release-manager", kind="notification",
                 title="disk", content="the disk is full", dedup_key="disk-full")  # fmt: skip
    team.carry("build-bot", "release-manager")
    listed = team.ask("release-manager", "notification_list")
    assert [one["content"] for one in listed["items"]] == [
        "build 0 is green", "build 1 is green", "build 2 is green", "the disk is full",
    ]  # fmt: skip
    seen = listed["items"][2]["id"]
    assert team.ask("release-manager", "notification_ack_all", upto=seen)["acked"] == 3
    left = team.ask("release-manager", "notification_list")
    assert [one["content"] for one in left["items"]] == ["the disk is full"]
    assert left["unread"] == 1


def test_a_wait_for_nothing_ends_with_its_time(team: Team) -> None:
    began = time.monotonic()
    answer = team.ask("night-watch", "notification_list", wait=0.5)
    assert answer == {"items": [], "unread": 0, "timed_out": True}
    assert time.monotonic() - began >= 0.5
    assert team.ask("night-watch", "task_next", space="nowhere", wait=0.2) == {"task": None}
