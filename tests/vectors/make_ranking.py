"""Makes tests/vectors/ranking/{keyword,fuse,select}.json, which pytest and cargo read.

What is expected is not asked of an engine: it is computed by the exact arithmetic of
tests/fix_ranking.py (and by hand for the errors), so run it with tests/ on the path. Run it only
when the contract of the ranking changes.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

from fix_ranking import Choice, Pool, exact_fuse, naive_select

FOLDER = Path(__file__).parent / "ranking"
SEED = 4
LETTERS = "aé文\U0001f600"


def keyword_cases() -> list[dict[str, Any]]:
    """Counts and idf that are exact in binary; k1 of 0.75 and 1, so that few results round."""
    tables: list[tuple[str, list[list[int]], list[float], float]] = [
        ("no candidates", [], [1.0], 0.75),
        ("no terms", [[], []], [], 0.75),
        ("more mentions add less", [[0], [1], [3], [4294967295]], [2.0], 1.0),
        ("rare words count more", [[1, 0], [0, 1]], [0.25, 4.0], 0.75),
        ("terms add up", [[1, 1, 1], [3, 0, 1]], [0.5, 1.0, 1.5], 1.0),
    ]
    return [
        {"name": name, "counts": counts, "idf": idf, "k1": k1,
         "expected": [float(bm25(row, idf, k1)) for row in counts]}
        for name, counts, idf, k1 in tables
    ]  # fmt: skip


def bm25(row: list[int], idf: list[float], k1: float) -> Fraction:
    """The formula in rational numbers."""
    saturation = Fraction(k1)
    terms = zip(row, map(Fraction, idf), strict=True)
    return sum((i * c * (saturation + 1) / (c + saturation) for c, i in terms), Fraction())


def fuse_cases() -> list[dict[str, Any]]:
    """Numbers of two digits: no part needs rounding, so the exact result is the only one."""
    source = random.Random(SEED)
    made = [(f"random, {count} of {width}", random_pool(source, count, width))
            for count, width in ((0, 3), (1, 1), (2, 0), (5, 3), (12, 6))]  # fmt: skip
    rows = []
    for name, pool in made:
        scores, evidence, parts = exact_fuse(pool)
        given = {field: getattr(pool, field) for field in Pool.__dataclass_fields__}
        expected = {"scores": scores, "evidence": evidence, "parts": parts}
        rows.append({"name": name, **given, "expected": expected})
    return rows


def random_pool(source: random.Random, count: int, width: int) -> Pool:
    """A pool of a few sessions whose turns stand beside each other."""
    roles = [source.choice(["core", "fact", "extra"]) for _ in range(width)]
    return Pool(
        signals=[[source.randint(-20, 100) / 100 for _ in roles] for _ in range(count)],
        weights=[source.randint(-2, 20) / 10 for _ in roles],
        core=[role == "core" for role in roles],
        fact=[role == "fact" for role in roles],
        evidence=[source.random() < 0.5 for _ in roles],
        previous=[at - 1 if at % 4 else -1 for at in range(count)],
        following=[at + 1 if at % 4 < 3 and at + 1 < count else -1 for at in range(count)],
        sessions=[at // 4 if source.random() < 0.8 else -1 for at in range(count)],
        places=[at // 4 * 100 + at % 4 * 2 for at in range(count)],
        asks=[source.random() < 0.4 for _ in range(count)],
        adjacency=(0.3, 0.5, 0.3, 0.2),
        reach=3,
    )


def select_cases() -> list[dict[str, Any]]:
    """Whole numbers as vectors; scores with many ties; keys beyond ASCII."""
    source = random.Random(SEED)
    rows = []
    for count, dims, k, diversity in (
        (0, 3, 5, 0.5), (1, 2, 5, 0.5), (6, 0, 4, 0.5), (8, 9, 8, 0.0), (8, 9, 8, 1.0),
        (12, 5, 7, 0.05), (30, 17, 20, 0.4),
    ):  # fmt: skip
        directions = [[float(source.randint(-4, 4)) for _ in range(dims)] for _ in range(4)]
        choice = Choice(
            scores=[source.randint(0, 8) / 8 for _ in range(count)],
            keys=[LETTERS[at % 4] + f"{at:02}" for at in range(count)],
            eligible=[source.random() < 0.8 for _ in range(count)],
            vectors=[
                [0.0] * dims if source.random() < 0.1 else
                [part + source.randint(0, 1) for part in source.choice(directions)]
                for _ in range(count)
            ],
            k=k,
            diversity=diversity,
        )  # fmt: skip
        given = {field: getattr(choice, field) for field in Choice.__dataclass_fields__}
        name = f"{count} of {dims} dims, {k} asked for, diversity {diversity}"
        rows.append({"name": name, "dims": dims, **given, "expected": naive_select(choice)})
    return rows


def write(name: str, origin: str, cases: list[dict[str, Any]]) -> None:
    """One case a line."""
    lines = ",\n    ".join(json.dumps(case, ensure_ascii=False) for case in cases)
    head = f'{{\n  "origin": {json.dumps(origin)},\n  "cases": [\n    '
    (FOLDER / f"{name}.json").write_text(f"{head}{lines}\n  ]\n}}\n", "utf-8")


if __name__ == "__main__":
    exact = "Exact rational arithmetic (tests/vectors/make_ranking.py), not an engine."
    write("keyword", exact, keyword_cases())
    write("fuse", exact, fuse_cases())
    write("select", f"{exact} Every candidate is looked at in every step.", select_cases())
