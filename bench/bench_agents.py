"""Sixteen agents that write and search one replica at once, each a process: the slowest of each."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import Samples
from bench.page import Section
from bench.stock import stocked
from fix_agents import Done, by_library, faults, over_mcp

AGENTS = [f"agent-{number:02}" for number in range(16)]
TIMES = 40
HELD = 10_000
COLUMNS = ("door", "what", "n", "failures", "p50", "p95", "p99", "max", "calls/s")
METHOD = f"""
{len(AGENTS)} agents, each a process of its own, wait for one another; then each writes {TIMES}
memories (every other one into a space that all share) and searches after each write, as fast as it
can, in a replica of {HELD:,} memories with `durability = full`, audit on. *library*: the process
calls the tools itself. *MCP*: each agent has a `satchel mcp` of its own, as its host starts it, and
the time is the host's, JSON and pipes included. Times are ms by the clock; as many processes as
cores run at once, the others wait. Afterwards every acknowledged id is looked up, and no search may
have shown an agent what is another's: both count as failures. No embedding engine.
"""


def bench_sixteen_agents(tmp_path: Path) -> None:
    section = Section("agents", "Sixteen agents at once", METHOD, COLUMNS)
    doors: dict[str, Callable[..., list[Done]]] = {"library": by_library, "MCP": over_mcp}
    told: list[str] = []
    for door, act in doors.items():
        (home := tmp_path / door).mkdir()
        stocked(home, HELD)
        began = time.perf_counter()
        done = act(home, AGENTS, TIMES)
        seconds = time.perf_counter() - began
        wrong = [fault for fault in faults(home, done) if not _is_stock(fault, done)]
        told += wrong
        for what in ("write", "search"):
            ms = [value for one in done for value in getattr(one, f"{what}_ms")]
            samples = Samples(ms)
            failures = sum(f"memory_{what}" in fault for fault in wrong)
            shown = [f"{samples.at(percent):.1f}" for percent in (50, 95, 99)]
            rate = f"{len(ms) / seconds:.0f}"
            section.add(door, what, len(ms), failures, *shown, f"{max(ms):.1f}", rate)
    section.remarks += sorted(set(told))[:5] or ["Nothing was lost, and nobody saw another's rows."]
    section.write()
    assert told == []


def _is_stock(fault: str, done: list[Done]) -> bool:
    """A memory of the stock is for everyone: to have found it is no fault."""
    own = {key for one in done for key in one.written}
    return " saw " in fault and fault.rpartition(" ")[2] not in own
