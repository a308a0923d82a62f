"""Every engine keeps the golden vectors, which cargo reads too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fix_ranking import Choice, Pool

from satchel.ranking import Ranking
from satchel.ranking.packed import pack

FOLDER = Path(__file__).parents[1] / "vectors" / "ranking"


def cases(name: str) -> pytest.MarkDecorator:
    """Parametrise with the cases of one file."""
    held = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    return pytest.mark.parametrize("case", held, ids=[case["name"] for case in held])


@cases("keyword")
def test_keyword(ranking: Ranking, case: dict[str, Any]) -> None:
    counts = pack("I", (count for row in case["counts"] for count in row))
    found = ranking.keyword(counts, len(case["counts"]), pack("d", case["idf"]), case["k1"])
    assert found == case["expected"]


@cases("fuse")
def test_fuse(ranking: Ranking, case: dict[str, Any]) -> None:
    pool = Pool(**{field: case[field] for field in Pool.__dataclass_fields__})
    asked, session, neighbour, window = pool.adjacency
    pool = replace(pool, adjacency=(asked, session, neighbour, window))
    scores, evidence, parts = pool.fused(ranking)
    assert {"scores": scores, "evidence": evidence, "parts": parts} == case["expected"]


@cases("select")
def test_select(ranking: Ranking, case: dict[str, Any]) -> None:
    choice = Choice(**{field: case[field] for field in Choice.__dataclass_fields__})
    assert ranking.select(*choice.packed()) == case["expected"]
