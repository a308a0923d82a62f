"""A command from nothing: `satchel` as a whole process, beside what Python takes anyway."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from bench.corpus import Corpus
from bench.measure import COLUMNS, in_turn, process
from bench.page import Section
from bench.stock import with_vectors

from satchel import config
from satchel.embedding import choose

TIMES = 21
HELD = 50_001
"""One more than other benchmarks hold: it is written to."""
SATCHEL = Path(sys.executable).with_name("satchel")
PHASES = Path(__file__).with_name("phases.py")
METHOD = f"""
Whole processes, started one after another and in turn, {TIMES} times each, from spawn to exit,
after one that is not counted: files in the page cache, modules compiled, as pip leaves them.
`satchel` is the installed command with its output in a pipe, on a replica of {HELD:,} memories;
each time another question of one to five words, or another text. Keyword is with
`SATCHEL_EMBEDDING=off`; hybrid loads the native embedder, and every memory has a (random) vector.
`recall` is the hook of a prompt, its JSON on stdin, each in a session of its own. CPU is of the
processes: it tells what another load hides. The phases are medians of the same steps
with a clock between them.
"""

Run = Callable[[], object]


def bench_cold(home_of: Callable[[int], Path]) -> None:
    section = Section("cold", "Cold commands", METHOD, ("command", *COLUMNS))
    home = home_of(HELD)
    keyword = {name: said for name, said in os.environ.items() if not name.startswith("SATCHEL_")}
    keyword.pop("PYTHONDONTWRITEBYTECODE", None)
    keyword["SATCHEL_EMBEDDING"] = "off"
    found = in_turn(_warm(_works(home, keyword)), TIMES)
    section.remarks.append(f"search, keyword: {_phases(home, keyword)}")
    if _can_embed(home):
        # After the others: vectors make the file larger.
        hybrid = keyword | {"SATCHEL_EMBEDDING": "native"}
        found |= in_turn(_warm(_embedding_works(home, hybrid)), TIMES)
        section.remarks.append(f"search, hybrid: {_phases(home, hybrid)}")
    for name, samples in found.items():
        section.add(f"`{name}`", *samples.columns())
        section.raw[f"`{name}`"] = samples.raw()
    section.write()


def _works(home: Path, env: dict[str, str]) -> dict[str, Run]:
    programs = {"pass": "pass", "import typer": "import typer"}
    if find_spec("sentence_transformers"):
        programs["import sentence_transformers"] = "import sentence_transformers"
    python = [sys.executable, "-c"]
    return {
        **{f'python -c "{p}"': process([*python, p], env) for p in programs.values()},
        "satchel --version": process([SATCHEL, "--version"], env),
        "satchel --help": process([SATCHEL, "--help"], env),
        "satchel search --help": process([SATCHEL, "search", "--help"], env),
        "satchel search, keyword": _search(home, env),
        "satchel write, queued": _write(home, env),
    }


def _embedding_works(home: Path, env: dict[str, str]) -> dict[str, Run]:
    return {
        "satchel search, hybrid": _search(home, env),
        "satchel write, embedded": _write(home, env),
        "satchel recall --hook": _recall(home, env),
    }


def _search(home: Path, env: dict[str, str]) -> Run:
    questions = Corpus(4)
    return lambda: process([SATCHEL, "search", questions.question(), "--home", home], env)()


def _recall(home: Path, env: dict[str, str]) -> Run:
    """A prompt of a host, each of a session of its own; the owner of the memories is its user."""
    prompts = Corpus(7)
    command = [SATCHEL, "recall", "--hook", "claude-code", "--user", "una", "--home", home]

    def hook() -> None:
        said = {
            "session_id": str(time.time_ns()),
            "cwd": "/srv/acme",
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompts.question(),
        }
        raw = json.dumps(said).encode()
        subprocess.run(command, check=True, env=env, input=raw, stdout=subprocess.DEVNULL)

    return hook


def _write(home: Path, env: dict[str, str]) -> Run:
    texts = Corpus(6)
    return lambda: process([SATCHEL, "write", texts.text(), "--home", home], env)()


def _warm(works: dict[str, Run]) -> dict[str, Run]:
    """Each once, not counted."""
    for work in works.values():
        work()
    return works


def _can_embed(home: Path) -> bool:
    """Give every memory a vector of the native engine's model, where there is one."""
    embedder, _ = choose(config.load(flags={"home": str(home), "embedding.engine": "auto"}))
    if embedder is None or not type(embedder).__module__.endswith(".native"):
        return False
    with_vectors(home, embedder.model_id, embedder.dims)
    return True


def _phases(home: Path, env: dict[str, str]) -> str:
    """`phase ms, phase ms, …`: medians, in their order."""
    questions = Corpus(5)
    runs: list[dict[str, float]] = []
    for _ in range(TIMES):
        words = ["search", questions.question(), "--home", str(home), "--json"]
        command = [sys.executable, str(PHASES), str(time.perf_counter()), *words]
        runs.append(
            json.loads(subprocess.run(command, check=True, env=env, capture_output=True).stdout)
        )
    return ", ".join(f"{name} {median(run[name] for run in runs):.1f}" for name in runs[0]) + " ms"
