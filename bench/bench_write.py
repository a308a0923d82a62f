"""What a write costs beside a plain SQLite insert of the same row, on the same disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from itertools import count
from pathlib import Path

from bench.corpus import Corpus
from bench.measure import COLUMNS, Samples, fsync, in_turn
from bench.page import Section
from bench.stock import Raw, fill, opened

from satchel.memory.write import write
from satchel.replica import Replica
from satchel_sync.changes import Row
from satchel_sync.digest import row_digest
from satchel_sync.stamp import CREATED, Stamp
from satchel_sync.tables import MEMORY

HELD = 10_000
TIMES = 400
METHOD = f"""
`memory.write` of a new text through a running process, one transaction a write, into a replica of
{HELD:,} memories; beside it a plain SQLite file with the same table and full-text index, its row
inserted and indexed in one transaction. Raw, queued and off take turns, {TIMES} times each, on one
disk; the probe of the disk is a 4 KiB append and fdatasync. FULL is the default (`durability =
full`), NORMAL leaves the fsync out and shows the work itself. No embedding engine is installed
where this ran unless a remark says so: queueing is the same then.
"""


def bench_write(tmp_path: Path) -> None:
    section = Section("write", "Write", METHOD, ("what", "synchronous", *COLUMNS, "× raw"))
    corpus = Corpus(2)
    for durability, synchronous in (("full", "FULL"), ("process", "NORMAL")):
        folder = tmp_path / durability
        folder.mkdir()
        raw = Raw(folder / "raw.db", synchronous)
        raw.insert(list(_raw_rows(Corpus(1), HELD)))
        with (
            opened(folder / "queued", durability=durability) as queued,
            opened(folder / "off", durability=durability, embedding="off") as off,
        ):
            for replica in (queued, off):
                fill(replica.store, Corpus(1).memories(HELD))
            rows = _raw_rows(corpus, TIMES)
            works: dict[str, Callable[[], object]] = {
                "raw insert": lambda raw=raw, rows=rows: raw.insert([next(rows)]),
                "memory.write, queued": writer(queued),
                "memory.write, off": writer(off),
            }
            found = in_turn(works, TIMES)
        raw.close()
        if synchronous == "FULL":
            section.add("4 KiB append + fdatasync", "", *fsync(folder).columns(), "")
        _told(section, synchronous, found)
    section.write()


def _told(section: Section, synchronous: str, found: dict[str, Samples]) -> None:
    base = found["raw insert"].p50
    for name, samples in found.items():
        section.add(name, synchronous, *samples.columns(), f"{samples.p50 / base:.2f}")
    own = found["memory.write, queued"].p50 - base
    section.remarks.append(f"{synchronous}: {own:.2f} ms of our own at p50 (queued minus raw).")


def writer(replica: Replica) -> Callable[[], object]:
    texts, numbers = Corpus(3), count()

    def once() -> None:
        text = texts.text()
        done = write(replica, f"{text} {next(numbers)}", title="a title of four words")
        assert done.outcome == "created"

    return once


def _raw_rows(corpus: Corpus, count: int) -> Iterator[Row]:
    for number, memory in enumerate(corpus.memories(count)):
        key, *values = astuple(memory)
        content = (*values, None)
        stamp = Stamp(CREATED, number, bytes(16), row_digest(MEMORY, key, content))
        yield Row(key, stamp, "", content)
