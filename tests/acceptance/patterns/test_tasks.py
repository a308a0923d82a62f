"""Tasks that many work on: a tree of parts, and workers that run beside each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fix_patterns import Team


def test_a_tree_of_tasks(team: Team) -> None:
    """A release with its parts: what can be done comes first, and all parts are seen from above."""
    team.cast("lead", "coder", "writer")
    team.ask("lead", "space_members", name="release", add=["coder", "writer"])
    root = team.ask("lead", "task_create", title="Ship release 2026-04", space="release")["id"]

    def part(title: str, owner: str, **more: Any) -> str:
        given = {"parent": root, "space": "release"} | more
        return str(team.ask("lead", "task_create", title=title, owner=owner, **given)["id"])

    endpoint = part("Implement /health", "coder", priority=10)
    test = part("Test /health", "coder", parent=endpoint, priority=9)
    docs = part("Write documentation", "writer", priority=5, depends_on=[endpoint])
    assert team.refused("lead", "task_update", id=root, parent=test)["field"] == "parent"
    team.carry("lead", "coder")

    assert titles(team.ask("coder", "task_tree", id=root)) == {
        "Ship release 2026-04": {
            "Implement /health": {"Test /health": {}},
            "Write documentation": {},
        }
    }
    assert team.refused("writer", "task_claim", id=docs)["code"] == "conflict"
    listed = team.ask("coder", "task_list", owner="coder", space="release")["items"]
    assert [one["id"] for one in listed] == [endpoint, test]
    for key in (test, endpoint):
        team.ask("coder", "task_claim", id=key)
        team.ask("coder", "task_complete", id=key, result="green")
    team.carry("coder", "writer")

    ready = team.ask("writer", "task_list", space="release", ready=True, owner="writer")["items"]
    assert [one["id"] for one in ready] == [docs]
    assert team.ask("writer", "task_next", parent=root)["task"]["id"] == docs
    team.ask("writer", "task_complete", id=docs, result="docs/HEALTH.md")
    team.carry("writer", "lead")
    whole = team.ask("lead", "task_tree", id=root)
    assert states(whole) == {
        "Ship release 2026-04": "pending",
        "Implement /health": "completed",
        "Test /health": "completed",
        "Write documentation": "completed",
    }
    told = [one["content"] for one in team.ask("lead", "notification_list")["items"]]
    assert sorted(told) == ["Implement /health", "Test /health", "Write documentation"]
    assert team.refused("someone-else", "task_tree", id=root)["code"] == "not_found"


def titles(task: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in task["children"]:
        found |= titles(child)
    return {task["title"]: found}


def states(task: dict[str, Any]) -> dict[str, str]:
    found = {task["title"]: task["status"]}
    for child in task["children"]:
        found |= states(child)
    return found


def test_parallel_workers(team: Team) -> None:
    """Fan out and in: each page is read by one worker, whoever claims it, and one merges.

    On one machine a claim is atomic. On two, both may take a page before they hear of each other:
    after a sync one of them holds it, and the other has been told and leaves it.
    """
    workers = [f"worker-{number}" for number in range(4)]
    team.cast("boss", *workers)
    team.ask("boss", "space_members", name="library", add=workers)
    book = team.ask("boss", "task_create", title="Read the book", space="library")["id"]
    pages = {
        team.ask("boss", "task_create", title=f"page {n}", parent=book, space="library")["id"]
        for n in range(8)
    }
    team.carry("boss", "worker-0")

    taken = dict(zip(workers, together(team, workers, book), strict=True))
    for machine in team.machines:
        here = [key for agent in workers if team.place(agent) == machine for key in taken[agent]]
        assert len(here) == len(set(here)), "a claim is atomic on a machine"
        assert set(here) == pages
    team.carry("worker-0", "worker-1", "worker-0", by_command=True)

    lost = {agent: lost_by(team, agent) for agent in workers}
    claims = [(agent, key) for agent in workers for key in taken[agent]]
    assert len(claims) - sum(map(len, lost.values())) == len(pages)
    for agent, key in claims:
        if key in lost[agent]:
            assert team.refused(agent, "task_complete", id=key, result="mine")["code"] == "conflict"
        else:
            result = f"{agent} has read it"
            team.ask(agent, "task_complete", id=key, result=result)
    team.carry("worker-0", "worker-1", "boss")

    done = team.ask("boss", "task_list", parent=book, status="completed")["items"]
    assert {one["id"] for one in done} == pages
    assert all(one["result"] == f"{one['claimed_by']} has read it" for one in done)
    told = team.ask("boss", "notification_list")
    assert told["unread"] == len(pages)
    assert {one["task_id"] for one in told["items"]} == pages
    assert team.ask("boss", "notification_ack_all")["acked"] == len(pages)


def together(team: Team, workers: list[str], parent: str) -> list[list[str]]:
    """What each worker got when all took pages at once until there were none."""
    for agent in workers:
        team.ask(agent, "task_list", parent=parent)

    def take_all(agent: str) -> list[str]:
        got = []
        while task := team.ask(agent, "task_next", parent=parent, lease=3600)["task"]:
            got.append(str(task["id"]))
        return got

    with ThreadPoolExecutor(len(workers)) as pool:
        return list(pool.map(take_all, workers))


def lost_by(team: Team, agent: str) -> set[str]:
    """The tasks that an agent was told it does not hold any more."""
    items = team.ask(agent, "notification_list")["items"]
    return {str(one["task_id"]) for one in items if one["title"] == "task_claim_lost"}
