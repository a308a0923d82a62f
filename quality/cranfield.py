"""Cranfield: abstracts on aerodynamics and questions of engineers, for users with the files.

Cleverdon 1967. `cran.all.1400` and `cran.qry` have records of `.I`, `.T`, `.A`, `.B`, `.W`;
`cranqrel` has lines of question number, abstract, grade: 1 to 4 are relevant, best first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from quality.metrics import MRR, NDCG, RECALL
from quality.question import Absent, QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FOLDER = Path("cranfield")
FILES = ("cran.all.1400", "cran.qry", "cranqrel")
GRADES = range(1, 5)

Record = Mapping[str, str]


def world(folder: Path) -> World:
    """All abstracts in one store. Raises Absent."""
    if not all((folder / name).is_file() for name in FILES):
        raise Absent(f"{', '.join(FILES)} are not here; give their folder with --cranfield")
    texts = {name: (folder / name).read_text("utf-8", errors="replace") for name in FILES}
    abstracts, asked = records(texts["cran.all.1400"]), records(texts["cran.qry"])
    relevant = judged(texts["cranqrel"])
    return World(
        name="abstracts",
        write=partial(write, abstracts=abstracts),
        questions=[
            # Judgements count the questions from 1, whatever their own numbers are.
            Question(
                id=str(place),
                text=one["W"],
                category="all",
                relevant=frozenset(relevant[place]),
                arguments={"kind": "memory"},
            )
            for place, one in enumerate(asked, start=1)
        ],
    )


def records(text: str) -> list[Record]:
    """Records as {letter: text}, `I` the number."""
    found: list[Record] = []
    for block in re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]:
        number, _, rest = block.partition("\n")
        fields = re.split(r"^\.([A-Z])\s*$", rest, flags=re.MULTILINE)[1:]
        parts = zip(fields[::2], fields[1::2], strict=True)
        found.append({"I": number.strip()} | {name: " ".join(one.split()) for name, one in parts})
    return found


def judged(text: str) -> dict[int, set[str]]:
    """Numbers of the relevant abstracts by the question's place."""
    found: dict[int, set[str]] = defaultdict(set)
    for line in text.splitlines():
        place, abstract, grade, *_ = [*line.split(), "", "", ""]
        if grade and int(grade) in GRADES:
            found[int(place)].add(abstract)
    return found


def write(desk: Desk, abstracts: list[Record]) -> dict[str, str]:
    """Each abstract a memory with its title; the two that are empty are left out."""
    return {
        one["I"]: desk.call("memory_write", text=one["W"], title=one.get("T") or None)["id"]
        for one in abstracts
        if one.get("W")
    }


def sets(folder: Path) -> list[QualitySet]:
    """The one set."""
    return [
        QualitySet(
            name="cranfield",
            title="Cranfield",
            method="""For users who have the files: abstracts by `memory_write`, questions by
                `memory_search`; BM25 reaches an nDCG@10 of about 0.39.""",
            metrics=(NDCG, MRR, RECALL),
            headline=("nDCG@10",),
            worlds=lambda: [world(folder)],
        )
    ]
