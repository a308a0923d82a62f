"""Many agents at once on one replica, each a real process: none fails, nothing is lost or shown.

The full size, with times, is bench/bench_agents.py.
"""

from __future__ import annotations

from pathlib import Path

from fix_agents import Done, by_library, faults, over_mcp

TIMES = 6


def require_whole(home: Path, done: list[Done]) -> None:
    assert faults(home, done) == []
    for one in done:
        assert len(one.written) + len(one.shared) == len(one.found) == TIMES
    ids = [key for one in done for key in (*one.written, *one.shared)]
    assert len(set(ids)) == len(ids) == TIMES * len(done)


def test_processes_that_open_the_replica(tmp_path: Path) -> None:
    done = by_library(tmp_path, [f"agent-{n}" for n in range(8)], TIMES)
    require_whole(tmp_path, done)


def test_mcp_servers_of_one_home(tmp_path: Path) -> None:
    done = over_mcp(tmp_path, [f"agent-{n}" for n in range(2)], TIMES)
    require_whole(tmp_path, done)


def test_faults_are_seen(tmp_path: Path) -> None:
    """The tests above could not fail if what they look for were not found."""
    (one,) = by_library(tmp_path, ["agent-0"], 2)
    assert faults(tmp_path, [one]) == []
    lost = Done("agent-0", written=["no such row"], found=[["somebody's"], []], failures=["oops"])
    assert faults(tmp_path, [lost]) == [
        "agent-0: oops",
        "lost: no such row",
        "agent-0 saw somebody's",
        "agent-0 found nothing",
    ]
