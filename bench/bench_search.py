"""Search in a running process, by keyword, by size of the replica and by filter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.corpus import Corpus
from bench.measure import COLUMNS, sampled
from bench.page import Section
from bench.stock import opened

from satchel.memory.search import search

HELD = (1_000, 10_000, 50_000)
TIMES = 200
FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "one type of four": {"type": "decision"},
    "the newest tenth": {"since": 0},
}
METHOD = f"""
`memory.search` in one process, keyword mode, k = 10, {TIMES} different questions of one to five
words (half of them with a common word), after one that is not counted. A filter narrows the same
questions: one type of four; the newest tenth by time.
"""


def bench_search(home_of: Callable[[int], Path]) -> None:
    columns = ("memories", "filter", *COLUMNS, "mean hits")
    section = Section("search", "Search in process", METHOD, columns)
    for count in HELD:
        with opened(home_of(count), embedding="off") as replica:
            with replica.store.read() as db:
                newest = db.execute(
                    "SELECT recorded_at FROM memory ORDER BY row LIMIT 1 OFFSET ?",
                    (count * 9 // 10,),
                ).get
            for name, narrowed in FILTERS.items():
                given = narrowed | ({"since": newest} if "since" in narrowed else {})
                questions, hits = Corpus(5), 0
                search(replica, questions.question(), **given)

                def once(given: dict[str, Any] = given, questions: Corpus = questions) -> None:
                    nonlocal hits
                    hits += len(search(replica, questions.question(), **given).hits)

                samples = sampled(once, TIMES)
                section.add(f"{count:,}", name, *samples.columns(), f"{hits / TIMES:.1f}")
    section.write()
