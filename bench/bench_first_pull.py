"""The first sync of a new machine with a large hub: time, memory, and what a kill costs.

A million take minutes: `make bench BENCH="bench/bench_first_pull.py --memories 1000000"`.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench import one_machine
from bench.bench_sync import rate
from bench.corpus import CONTENT_WORDS, SEED, Corpus
from bench.page import Section
from bench.stock import Raw
from fix_hub import HubWorld, fresh_hub

from satchel.replica import DATABASE_FILE
from satchel.store.connection import Store
from satchel_sync.changes import Row
from satchel_sync.clock import pack
from satchel_sync.digest import row_digest
from satchel_sync.limits import PULL_ROWS_MAX, PUSH_ROWS_MAX
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import MEMORY

WORDS_MIN = 20
COLUMNS_OF = ("what", "rows", "s", "rows/s", "peak MB")
METHOD = f"""
A hub holds so many memories of {WORDS_MIN} to {CONTENT_WORDS} words (300 to 770 bytes) without
vectors. A process with an empty home makes its first sync: pages of {PULL_ROWS_MAX:,} rows, one on
its way while the one before is stored, `durability = full`, text index and digest check included.
Peak MB is the resident memory of that process. Another is killed with -9 in the middle of its pull,
and what a third one does with the same home is the line below. Beside them: raw inserts of the same
rows in a plain SQLite file with the same text index, a transaction for every {PULL_ROWS_MAX:,}
rows, synchronous FULL. Postgres is the durable embedded one, over a Unix socket, on these cores.
"""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The size is chosen on the command line."""
    metafunc.parametrize("count", [metafunc.config.getoption("memories")])


def bench_first_pull(durable_cluster: str, tmp_path: Path, count: int) -> None:
    title = f"First pull of {count:,} memories"
    section = Section(f"first-pull-{count}", title, METHOD, COLUMNS_OF)
    with fresh_hub(durable_cluster) as world:
        fill_hub(world, count)
        raw_s = raw_insert(tmp_path / "raw.db", count)
        section.add("raw insert + full text", count, f"{raw_s:.1f}", rate(count, raw_s), "")
        whole(section, tmp_path / "whole", world.login(), count)
        killed(section, tmp_path / "killed", world.login(), count)
    section.write()


def whole(section: Section, home: Path, dsn: str, count: int) -> None:
    """One sync from nothing to equal, and an empty one after it."""
    machine = one_machine.start(home, dsn, syncs=3)
    one_machine.begin(machine)
    first, *empty = one_machine.told(machine)
    check(first["report"], count)
    seconds, ms = first["seconds"], first["report"]["ms"]
    peak = f"{first['peak_mb']:.0f}"
    section.add("**first sync**", count, f"{seconds:.1f}", rate(count, seconds), peak)
    pull_s = ms["pull"] / 1000
    section.add("– pull and apply", count, f"{pull_s:.1f}", rate(count, pull_s), "")
    assert all(one["report"]["noop"] for one in empty)
    told = ", ".join(f"{1000 * one['seconds']:.0f}" for one in empty)
    section.remarks.append(f"ms by phase: {json.dumps(ms)}; empty syncs afterwards: {told} ms.")
    section.remarks.append(f"{first['report']['bytes_in']:,} bytes came in.")


def killed(section: Section, home: Path, dsn: str, count: int) -> None:
    """Killed when about a third is there, and resumed at the page."""
    machine = one_machine.start(home, dsn)
    one_machine.begin(machine)
    deadline = time.monotonic() + 3600
    while (held := stored(home)) < count // 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    machine.send_signal(signal.SIGKILL)
    with machine:
        assert machine.wait() == -signal.SIGKILL
    held = stored(home)
    assert 0 < held < count
    assert held % PULL_ROWS_MAX == 0
    machine = one_machine.start(home, dsn)
    one_machine.begin(machine)
    (rest,) = one_machine.told(machine)
    check(rest["report"], count - held)
    assert stored(home) == count
    seconds, peak = rest["seconds"], f"{rest['peak_mb']:.0f}"
    name = f"resumed after a kill at {held:,}"
    section.add(name, count - held, f"{seconds:.1f}", rate(count - held, seconds), peak)


def check(report: dict[str, Any], count: int) -> None:
    """Everything came, once, and both sides are equal."""
    assert report["ok"]
    assert report["kinds"]["memory"]["pulled"] == report["kinds"]["memory"]["applied"] == count
    assert report["digest"] == "equal"


def stored(home: Path) -> int:
    """How many memories a home holds, while another process may be writing."""
    with Store.open(home / DATABASE_FILE) as store, store.read() as db:
        return int(db.execute("SELECT count(*) FROM memory").get)


def rows_of(count: int) -> Iterator[list[Row]]:
    """The same memories each time, in pages, as one machine wrote them."""
    corpus, draw, origin = Corpus(), Random(SEED), b"\x01" * 16

    def one(at: int, memory: Any) -> Row:
        content = corpus.text(draw.randint(WORDS_MIN, CONTENT_WORDS))
        key = f"{at:08x}-0000-7000-8000-{at:012x}"
        _, *values = astuple(replace(memory, content=content))
        held = (*values, None)
        digest = row_digest(MEMORY, key, held)
        return Row(key, Stamp(CREATED, pack(memory.recorded_at), origin, digest), "", held)

    made = (one(at, memory) for at, memory in enumerate(corpus.memories(count)))
    while page := list(islice(made, PUSH_ROWS_MAX)):
        yield page


def fill_hub(world: HubWorld, count: int) -> None:
    hub = world.replica(1)
    for page in rows_of(count):
        answer = hub.push(MEMORY, page)
        assert len(answer.accepted) == len(page)
    with world.psql() as db:
        db.execute("VACUUM ANALYZE satchel.memory")


def raw_insert(path: Path, count: int) -> float:
    """Seconds of inserts of these rows into a plain SQLite file with a text index."""
    raw, seconds = Raw(path, "FULL"), 0.0
    for page in rows_of(count):
        for batch in parts(page):
            began = time.perf_counter()
            raw.insert(batch)
            seconds += time.perf_counter() - began
    raw.close()
    path.unlink()
    return seconds


def parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Runs of as many rows as a pull has."""
    return (rows[at : at + PULL_ROWS_MAX] for at in range(0, len(rows), PULL_ROWS_MAX))
