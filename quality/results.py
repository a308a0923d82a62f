"""Result files: a line of JSON for every question, with what is needed to ask it again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from quality.metrics import counted
from quality.question import Found, World
from quality.synthetic import SEED

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run was: commit (a plus sign: with changes), model, seed of the made-up users."""

    commit: str
    model: str
    seed: int = SEED


def commit() -> str:
    """The commit of this tree, or `unknown` where git does not tell."""
    try:
        head, changes = _git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changes.strip() else "")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout


def write(folder: Path, name: str, run: Run, answers: Sequence[tuple[World, Found]]) -> Path:
    """`<folder>/<name>.jsonl`. Questions go by their ids: the texts are not ours to copy."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines(name, run, answers)), "utf-8")
    return file


def lines(name: str, run: Run, answers: Sequence[tuple[World, Found]]) -> Iterator[str]:
    """One JSON object an answer; `ranks` has each relevant item with its rank or null."""
    for world, found in answers:
        question, keys = found.question, counted(found)
        ranks = {
            key: keys.index(key) + 1 if key in keys else None for key in sorted(question.relevant)
        }
        yield json.dumps(
            {
                **asdict(run),
                "set": name,
                "world": world.name,
                "question": question.id,
                "category": question.category,
                "ranks": ranks,
                "found": found.keys,
                "scores": found.scores,
                "took_ms": found.took_ms,
            }
        )
