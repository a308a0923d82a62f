"""Search in a running process: by keyword and by meaning too, by size, by filter, by phase."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.corpus import Corpus
from bench.measure import COLUMNS, sampled
from bench.page import Section
from bench.stock import opened, with_vectors

from satchel.memory import audit
from satchel.memory.search import candidates, context, counting, hits, ranked, signals
from satchel.memory.search import search as pipeline
from satchel.memory.search.meaning import Meaning
from satchel.memory.search.search import search
from satchel.memory.search.sources import Source
from satchel.replica import Replica

HELD = (10_000, 100_000)
TIMES = 200
FILTERS: dict[str, dict[str, Any]] = {
    "all": {},
    "one type of four": {"type": "decision"},
    "the newest tenth": {"since": 0},
    "of a day long ago": {"as_of": 0},
}
METHOD = f"""
`memory.search` in one process, k = 10, {TIMES} different questions of one to five words (half of
them with a common word), after five that are not counted; the trace of the read is written too.
`hybrid` embeds each question with the packaged model by the native engine; memories have random
vectors of its size, so that nothing is easy to tell apart. A filter narrows the same questions.
`same 10` is the share of the best ten that stays when every source gives 1,000 candidates.
"""
PHASES: dict[str, tuple[object, str]] = {
    "understand the question": (pipeline, "understand"),
    "weigh its words": (pipeline, "weigh"),
    "candidates by keyword": (Source, "by_keyword"),
    "wait for the question's vector, nearest rows": (Meaning, "nearest"),
    "read the candidates": (candidates, "read"),
    "count words in them": (counting, "count"),
    "read vectors": (Meaning, "stored"),
    "exact cosines": (Meaning, "compared"),
    "what stands around them": (context, "around"),
    "signals": (signals, "columns"),
    "scores and floor": (ranked, "rank"),
    "choice": (ranked, "choose"),
    "rows and snippets of the hits": (hits, "show"),
    "trace of the read": (audit, "record"),
}
PHASES_METHOD = f"""
Median ms of each phase of the searches above (no filter), {TIMES} searches. The model runs in a
thread beside the candidates by keyword, so that only what is left of it is waited for.
"""


def bench_search(home_of: Callable[[int], Path]) -> None:
    columns = ("memories", "mode", "filter", *COLUMNS, "mean hits", "same 10")
    section = Section("search", "Search in process", METHOD, columns)
    phases = Section("search-phases", "Search by phase", PHASES_METHOD, ("phase", *_names()))
    medians: dict[str, dict[str, float]] = {}
    for count in HELD:
        home = home_of(count)
        for mode in ("keyword", "hybrid"):
            with opened(home, embedding="off" if mode == "keyword" else "auto") as replica:
                if mode == "hybrid" and not _given_vectors(replica, home):
                    section.remarks.append(f"hybrid left out: {replica.embedder_reason}")
                    continue
                _by_filter(section, replica, count, mode)
                medians[f"{count:,} {mode}"] = _by_phase(replica)
    for phase in PHASES:
        cells = (medians.get(name, {}).get(phase) for name in _names())
        phases.add(phase, *("" if cell is None else f"{cell:.2f}" for cell in cells))
    section.write()
    phases.write()


def _names() -> list[str]:
    return [f"{count:,} {mode}" for count in HELD for mode in ("keyword", "hybrid")]


def _given_vectors(replica: Replica, home: Path) -> bool:
    embedder = replica.embedder
    if embedder is None:
        return False
    with_vectors(home, embedder.model_id, embedder.dims)
    return True


def _by_filter(section: Section, replica: Replica, count: int, mode: str) -> None:
    with replica.store.read() as db:
        newest = db.execute(
            "SELECT recorded_at FROM memory ORDER BY row LIMIT 1 OFFSET ?", (count * 9 // 10,)
        ).get
    for name, narrowed in FILTERS.items():
        given = narrowed | dict.fromkeys(set(narrowed) & {"since", "as_of"}, newest)
        questions, found = Corpus(5), 0
        for _ in range(5):
            search(replica, questions.question(), **given)

        def once(given: dict[str, Any] = given, questions: Corpus = questions) -> None:
            nonlocal found
            found += len(search(replica, questions.question(), **given).hits)

        samples = sampled(once, TIMES)
        kept = f"{_kept(replica, given):.3f}"
        section.add(f"{count:,}", mode, name, *samples.columns(), f"{found / TIMES:.1f}", kept)
        section.raw[f"{count:,}, {mode}, {name}"] = samples.raw()


def _kept(replica: Replica, given: dict[str, Any], times: int = 30) -> float:
    questions, same, total = Corpus(6), 0, 0
    for _ in range(times):
        question = questions.question()
        usual = [hit.id for hit in search(replica, question, **given).hits]
        wide = [hit.id for hit in search(replica, question, k=500, **given).hits][:10]
        same, total = same + len(set(usual) & set(wide)), total + len(wide)
    return same / total if total else 1.0


def _by_phase(replica: Replica) -> dict[str, float]:
    questions = Corpus(5)
    with _clocks() as spent:
        for _ in range(TIMES):
            search(replica, questions.question())
    return {name: sorted(times)[len(times) // 2] for name, times in spent.items()}


@contextmanager
def _clocks() -> Iterator[dict[str, list[float]]]:
    """While this lasts each phase notes its ms."""
    spent: dict[str, list[float]] = defaultdict(list)
    held = {phase: getattr(*place) for phase, place in PHASES.items()}

    def timed(phase: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **named)
            finally:
                spent[phase].append((time.perf_counter() - began) * 1000)

        return run

    try:
        for phase, (owner, name) in PHASES.items():
            setattr(owner, name, timed(phase, held[phase]))
        yield spent
    finally:
        for phase, (owner, name) in PHASES.items():
            setattr(owner, name, held[phase])
