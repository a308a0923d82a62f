"""Lone notes, snippets and procedures in four languages, written for this set: no conversation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.metrics import LEFT_EMPTY, MRR, PRECISION, RECALL, any_at
from quality.question import QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FILE = Path(__file__).parent / "texts" / "notes.json"
METRICS = (any_at(1), any_at(5), MRR, RECALL, PRECISION, LEFT_EMPTY)


def world(file: Path = FILE) -> World:
    """All notes in one store."""
    held = json.loads(file.read_text("utf-8"))
    return World(
        name="notes",
        write=partial(write, notes=held["notes"]),
        questions=[
            Question(
                id=f"notes/{place}",
                text=one["text"],
                category=one["category"],
                relevant=frozenset(one["relevant"]),
            )
            for place, one in enumerate(held["questions"])
        ],
    )


def write(desk: Desk, notes: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Each note a memory; the titles that are there are given."""
    return {
        note["key"]: desk.call(
            "memory_write", text=note["text"], title=note["title"], type=note["type"]
        )["id"]
        for note in notes
    }


def sets() -> list[QualitySet]:
    """The one set."""
    return [
        QualitySet(
            name="notes",
            title="Lone notes and code",
            method="""Notes, snippets, procedures, decisions and preferences (`quality/texts`) by
                `memory_write`; questions by `memory_search`, most in other words than the note has,
                some by an exact name, some with typing errors, some that nothing here answers. The
                model here was trained on English: the other languages stand mostly on keywords.""",
            metrics=METRICS,
            headline=("any@1", "precision", "left empty"),
            worlds=lambda: [world()],
        )
    ]
