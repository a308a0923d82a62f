"""LongMemEval: which of a user's many sessions with an assistant answer a question.

Wu et al. 2025, "LongMemEval: Benchmarking chat assistants on long-term interactive memory". The
official JSON: a list of questions, each with a haystack of sessions of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.metrics import MRR, all_at, any_at, by_session
from quality.question import Absent, QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FILE = Path("longmemeval/longmemeval_s.json")
METRICS = (
    by_session(any_at(1)),
    by_session(any_at(5)),
    by_session(any_at(10)),
    by_session(all_at(10)),
    by_session(MRR),
)
UNANSWERABLE = "_abs"
"""Question ids that end so ask for what no session holds: no hit is right, as in the paper."""
TURN_SECONDS = 30
_DATE = "%Y/%m/%d (%a) %H:%M"


def read(file: Path) -> list[World]:
    """A world a question. Raises Absent."""
    if not file.is_file():
        raise Absent(f"{file.name} is not here; give its path with --longmemeval")
    return [world(one) for one in json.loads(file.read_text("utf-8"))]


def world(sample: Mapping[str, Any]) -> World:
    """The haystack of one question; a turn goes by `session/place`."""
    key = sample["question_id"]
    places = {
        session: range(len(turns))
        for session, turns in zip(
            sample["haystack_session_ids"], sample["haystack_sessions"], strict=True
        )
    }
    answers = () if key.endswith(UNANSWERABLE) else sample["answer_session_ids"]
    return World(
        name=key,
        write=partial(write, sample=sample),
        questions=[
            Question(
                id=key,
                text=sample["question"],
                category=sample["question_type"],
                relevant=frozenset(f"{one}/{place}" for one in answers for place in places[one]),
                arguments={"kind": "chatlog", "as_of": date(sample["question_date"]).isoformat()},
            )
        ],
    )


def date(text: str) -> datetime:
    """`2023/05/20 (Sat) 02:21` in UTC."""
    return datetime.strptime(text, _DATE).replace(tzinfo=UTC)


def write(desk: Desk, sample: Mapping[str, Any]) -> dict[str, str]:
    """Each session a conversation, its turns with their roles and its date."""
    ids: dict[str, str] = {}
    sessions = zip(
        sample["haystack_session_ids"],
        sample["haystack_dates"],
        sample["haystack_sessions"],
        strict=True,
    )
    for session, said, turns in sessions:
        began = date(said)
        for place, turn in enumerate(turns):
            if not turn["content"].strip():
                continue  # the file has some empty turns; there is nothing to keep of them
            ids[f"{session}/{place}"] = desk.call(
                "chatlog_write",
                conversation_id=session,
                text=turn["content"],
                role=turn["role"],
                ordinal=place,
                said_at=(began + timedelta(seconds=place * TURN_SECONDS)).isoformat(),
            )["id"]
    return ids


def sets(file: Path) -> list[QualitySet]:
    """The one set."""
    return [
        QualitySet(
            name="longmemeval",
            title="LongMemEval",
            method="""For users who have the file: each question's haystack in a store of its own,
                turns by `chatlog_write`, the question by `memory_search` as of its date. A session
                is found when one of its turns is. Questions that nothing answers do not count.""",
            metrics=METRICS,
            headline=("session any@5",),
            worlds=lambda: read(file),
        )
    ]
