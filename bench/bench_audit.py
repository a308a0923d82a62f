"""What the audit costs: a write and a read with it and without, in one process and as commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from bench.bench_write import HELD, writer
from bench.corpus import Corpus
from bench.measure import COLUMNS, Samples, in_turn, process
from bench.page import Section
from bench.stock import fill, opened

from satchel.memory import read
from satchel.memory.write import write
from satchel.replica import Replica

TIMES = 400
COLD_TIMES = 21
CHILD = Path(__file__).with_name("unaudited.py")
METHOD = f"""
`memory.write` and `memory.get` through a running process on a replica of {HELD:,} memories, with
the audit (as every door opens it) and with a store without an auditor, in turn, {TIMES} times each;
a read is timed until its trace is kept, which the reader does not wait for. FULL is the default,
NORMAL leaves the fsync out and shows the work itself. Cold: whole processes, {COLD_TIMES} times,
`satchel write` and `satchel search`, beside the same with the recording taken out.
"""


def bench_audit(tmp_path: Path) -> None:
    section = Section("audit", "Audit", METHOD, ("what", "synchronous", *COLUMNS, "+ at p50"))
    for durability, synchronous in (("full", "FULL"), ("process", "NORMAL")):
        folder = tmp_path / durability
        with (
            opened(folder / "audited", durability=durability, embedding="off") as audited,
            opened(folder / "bare", audited=False, durability=durability, embedding="off") as bare,
        ):
            for replica in (audited, bare):
                fill(replica.store, Corpus(1).memories(HELD))
            writes = in_turn({"without": writer(bare), "with": writer(audited)}, TIMES)
            _told(section, "write", synchronous, writes)
            if synchronous == "FULL":
                reads = in_turn({"without": _reader(bare), "with": _reader(audited)}, TIMES)
                _told(section, "read, traced", "", reads)
    _cold(section, tmp_path / "full" / "audited")
    section.write()


def _told(section: Section, what: str, synchronous: str, found: dict[str, Samples]) -> None:
    base = found["without"].p50
    for name, samples in found.items():
        more = f"{(samples.p50 / base - 1) * 100:+.1f} %"
        shown = more if name == "with" else ""
        section.add(f"{what}, {name}", synchronous, *samples.columns(), shown)


def _cold(section: Section, home: Path) -> None:
    env = {name: said for name, said in os.environ.items() if not name.startswith("SATCHEL_")}
    env["SATCHEL_EMBEDDING"] = "off"
    texts, questions = Corpus(6), Corpus(4)

    def run(kind: str, *words: str) -> Callable[[], object]:
        command = [sys.executable, CHILD, kind, *words, "--home", home]
        return process(command, env)

    works = {
        "write": lambda kind: run(kind, "write", texts.text()),
        "search": lambda kind: run(kind, "search", questions.question()),
    }
    for name, work in works.items():
        both = {kind: (lambda k=kind, w=work: w(k)()) for kind in ("bare", "audited")}
        in_turn(both, 1)
        found = in_turn(both, COLD_TIMES)
        named = {"without": found["bare"], "with": found["audited"]}
        _told(section, f"`satchel {name}`, cold", "FULL", named)


def _reader(replica: Replica) -> Callable[[], object]:
    keys = [write(replica, f"a text to be read {number}").id for number in range(50)]
    numbers = count()

    def once() -> None:
        read.get(replica, [keys[next(numbers) % len(keys)]])
        replica.activity.wait()

    return once
