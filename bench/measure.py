"""Clocks and counters: samples with their percentiles, calls of an object, the disk's fsync."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import apsw

FSYNCS = 200
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Samples:
    """Times of one thing in ms, in the order in which they were taken: by the clock, and of CPU."""

    ms: Sequence[float]
    cpu_ms: Sequence[float] = ()

    def at(self, percent: int) -> float:
        """The value that `percent` of all lie at or below (nearest rank)."""
        ordered = sorted(self.ms)
        return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]

    @property
    def p50(self) -> float:
        """The median."""
        return self.at(50)

    def columns(self) -> list[str]:
        """min, p50, p95, p99, max, n, the median of CPU."""
        shown = [min(self.ms), self.p50, self.at(95), self.at(99), max(self.ms)]
        cpu = f"{median(self.cpu_ms):.2f}" if self.cpu_ms else ""
        return [*(f"{value:.2f}" for value in shown), str(len(self.ms)), cpu]

    def raw(self) -> str:
        """Every sample."""
        return " ".join(f"{value:.0f}" if value >= 100 else f"{value:.1f}" for value in self.ms)


COLUMNS = ("min", "p50", "p95", "p99", "max", "n", "CPU p50")
"""What `Samples.columns` gives; all but n in ms."""


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """How many ms it takes by the clock, and of CPU, that of processes it waited for included."""
    began, cpu = time.perf_counter(), _cpu_s()
    work()
    return (time.perf_counter() - began) * 1000, (_cpu_s() - cpu) * 1000


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def sampled(work: Callable[[], object], times: int) -> Samples:
    """Again and again."""
    return in_turn({"": work}, times)[""]


def in_turn(works: Mapping[str, Callable[[], object]], times: int) -> dict[str, Samples]:
    """Each work in turn, again and again, so that all meet the same weather."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(times):
        for name, work in works.items():
            found[name].append(timed(work))
    return {name: Samples(*zip(*pairs, strict=True)) for name, pairs in found.items()}


def process(command: Sequence[str | Path], env: Mapping[str, str]) -> Callable[[], object]:
    """A whole process, started and waited for. Raises CalledProcessError when it fails."""
    return lambda: subprocess.run(
        command, check=True, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def fsync(folder: Path) -> Samples:
    """A page appended to a file in this folder and brought to the disk."""
    path = folder / "fsync.probe"
    with path.open("wb", buffering=0) as file:

        def once() -> None:
            file.write(bytes(PAGE_BYTES))
            os.fdatasync(file.fileno())

        found = sampled(once, FSYNCS)
    path.unlink()
    return found


class Timed:
    """Stands before an object and adds up the calls of its methods and the seconds in them."""

    def __init__(self, inner: object) -> None:
        """What is called on this is called on `inner`."""
        self._inner = inner
        self.calls: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._inner, name)

        def call(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return method(*given, **named)
            finally:
                self.calls[name] += 1
                self.seconds[name] += time.perf_counter() - began

        return call


def load() -> str:
    """The load averages of 1 and 5 minutes."""
    return " ".join(f"{value:.1f}" for value in os.getloadavg()[:2])


def machine() -> str:
    """Processor, cores and versions; nothing that names the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text("utf-8").splitlines() if "model name" in line]
        cpu = models[0].partition(":")[2].strip() if models else cpu
    return (
        f"{cpu}, {os.cpu_count()} cores, {platform.system()},"
        f" Python {sys.version.split()[0]}, SQLite {apsw.sqlite_lib_version()}"
    )
