"""The columns of the ranking: what each candidate of a pool shows, 0 to about 1 a signal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from satchel.memory import decay
from satchel.memory.search import talk
from satchel.memory.search.candidates import Candidate
from satchel.memory.search.context import Around
from satchel.memory.search.counting import Counted
from satchel.memory.search.names import is_named, said, speaker
from satchel.memory.search.question import Question
from satchel.memory.visibility import Caller

LAYERS: Mapping[str | None, float] = {"agent": 1.0, "session": 0.75, "space": 0.5, "user": 0.25}
"""Scope -> how near a row is to who asks; what is for everyone is farthest."""


class Shown(NamedTuple):
    """A candidate with its evidence in words and meaning."""

    candidate: Candidate
    counted: Counted
    covers: bool
    """Whether it has every word of the question: then it is about it, whatever the model says."""
    keyword: float
    meaning: float | None
    """None where there is no vector to compare."""
    alone: float | None
    """The meaning of a turn without the turn before it; of all else the same as `meaning`."""
    vector: bytes | None


def columns(
    question: Question,
    pool: Sequence[Shown],
    around: Around,
    given: Mapping[str, decay.Given],
    caller: Caller,
    now_ms: int,
) -> dict[str, list[float]]:
    """One list a signal of the recipe, one number a candidate.

    Rules about how people talk are for turns only: a memory has 0 there. `given` tells of the
    memories of the pool on which days they were given, by id; `caller` is who asks.
    """
    rows = [one.candidate for one in pool]
    turns = [said(row.text) if row.text and row.kind == "chatlog" else "" for row in rows]
    none = [0.0] * len(pool)
    talks = any(row.kind == "chatlog" for row in rows)
    return {
        "meaning": [one.meaning or 0.0 for one in pool],
        "alone": [one.alone or 0.0 for one in pool],
        "keyword": [one.keyword for one in pool],
        "speaker": [float(_speaks(question, row)) for row in rows] if question.names else none,
        "date": [_date(question, row) for row in rows] if question.dates else none,
        "phrase": [float(one.counted.phrase) for one in pool],
        "title": [float(one.counted.titled) for one in pool],
        "id": [float(_named(question, row.id)) for row in rows] if question.query.ids else none,
        "when": [float(talk.tells_time(text)) for text in turns] if question.asks_when else none,
        "question": [float(row.asks) for row in rows] if talks else none,
        "length": [math.log1p(one.counted.words) for one in pool],
        "number": [float(talk.has_number(text)) for text in turns] if talks else none,
        "reaction": [float(talk.reacts(text)) for text in turns] if talks else none,
        "falls": _falls(pool, around) if talks else none,
        "importance": [row.importance for row in rows],
        "confidence": [row.confidence for row in rows],
        "pinned": [float(row.pinned) for row in rows],
        "recency": [decay.fresh(row, given.get(row.id), now_ms) for row in rows],
        "layer": [_layer(row, caller) for row in rows],
        "used": [decay.used(given.get(row.id)) for row in rows] if given else none,
    }


def _speaks(question: Question, row: Candidate) -> bool:
    """Whether the question names who says the row."""
    return is_named(speaker(row.role, row.text, row.agent_id), question.names)


def _falls(pool: Sequence[Shown], around: Around) -> list[float]:
    """How much less a turn says by itself than the turn before: then it only comments on that."""
    found = []
    for one, previous in zip(pool, around.previous, strict=True):
        before = pool[previous] if previous >= 0 and one.candidate.kind == "chatlog" else None
        if before is None or before.candidate.asks or one.alone is None:
            found.append(0.0)
        else:
            found.append(max(0.0, (before.alone or 0.0) - one.alone))
    return found


def _date(question: Question, row: Candidate) -> float:
    at_ms = row.at_ms
    if at_ms is None:
        return 0.0
    return max((span.nearness(at_ms) for span in question.dates), default=0.0)


def _layer(row: Candidate, caller: Caller) -> float:
    """Private over shared over everyone's; what others keep for themselves is nobody's own here."""
    if row.scope == "agent" and row.agent_id != caller.agent_id:
        return 0.0
    return LAYERS.get(row.scope, 0.0)


def _named(question: Question, key: str) -> bool:
    """Whether the question has this id, or its beginning or end."""
    digits = key.replace("-", "")
    short = (given.replace("-", "") for given in question.query.ids)
    return any(digits.startswith(one) or digits.endswith(one) for one in short)
