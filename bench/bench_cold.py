"""A command from nothing: `satchel search` as a whole process, beside what Python takes anyway."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from bench.corpus import Corpus
from bench.measure import COLUMNS, in_turn, process
from bench.page import Section

TIMES = 11
HELD = (1_000, 50_000)
SATCHEL = Path(sys.executable).with_name("satchel")
METHOD = f"""
Whole processes, started one after another and in turn, {TIMES} times each, from spawn to exit,
files in the page cache. `satchel search` is the installed command with its output in a pipe, in
keyword mode (`SATCHEL_EMBEDDING=off`), on replicas of {HELD[0]:,} and {HELD[1]:,} memories; each
time another question of one to five words. CPU is of the processes: it tells what another load
hides.
"""


def bench_cold_search(home_of: Callable[[int], Path]) -> None:
    section = Section("cold", "Cold commands", METHOD, ("command", *COLUMNS))
    env = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    env["SATCHEL_EMBEDDING"] = "off"
    works: dict[str, Callable[[], object]] = {
        "python -c pass": process([sys.executable, "-c", "pass"], env),
        'python -c "import typer"': process([sys.executable, "-c", "import typer"], env),
        "satchel --version": process([SATCHEL, "--version"], env),
    }
    for count in HELD:
        works[f"satchel search, {count:,} memories"] = _search(home_of(count), env)
    found = in_turn(works, TIMES)
    for name, samples in found.items():
        section.add(f"`{name}`", *samples.columns())
        section.raw[f"`{name}`"] = samples.raw()
    section.write()


def _search(home: Path, env: dict[str, str]) -> Callable[[], object]:
    questions = Corpus(4)

    def once() -> None:
        process([SATCHEL, "search", questions.question(), "--home", home], env)()

    return once
