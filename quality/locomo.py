"""LoCoMo, turn by turn: which turns answer a question about two people's long conversation.

Maharana et al. 2024, "Evaluating very long-term conversational memory of LLM agents". Official
format: `conversation.session_N` holds turns with `dia_id`, `qa` the questions with `evidence`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.metrics import MRR, PRECISION, all_at, any_at
from quality.question import Absent, QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FILE = Path("locomo/locomo-dev.json")
CATEGORIES = {1: "1 several turns", 2: "2 time", 3: "3 open", 4: "4 one turn"}
"""Category 5 asks for what was never said: it has no evidence for an answer and is left out."""
METRICS = (any_at(1), any_at(5), any_at(10), all_at(10), MRR)
TURN_SECONDS = 30
"""Turns of a session have one date: they are written this far apart, as a chat would be."""
_TURN = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What somebody said; `key` is unique among all conversations."""

    key: str
    session: str
    ordinal: int
    speaker: str
    text: str
    said_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """All sessions of two people, with the questions about them."""

    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]


def read(file: Path) -> list[Conversation]:
    """The conversations of a file. Raises Absent."""
    if not file.is_file():
        raise Absent(f"{FILE} is not in the data folder")
    return [_conversation(sample) for sample in json.loads(file.read_text("utf-8"))]


def _conversation(sample: Mapping[str, Any]) -> Conversation:
    name = sample["sample_id"]
    turns = list(_turns(name, sample["conversation"]))
    known = {turn.key for turn in turns}
    asked = [_question(name, place, qa, known) for place, qa in enumerate(sample["qa"])]
    return Conversation(name=name, turns=turns, questions=[one for one in asked if one.relevant])


def _turns(name: str, sessions: Mapping[str, Any]) -> Iterator[Turn]:
    numbers = sorted(int(key[8:]) for key in sessions if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        began = said_at(sessions[f"session_{number}_date_time"])
        for place, turn in enumerate(sessions[f"session_{number}"]):
            yield Turn(
                key=f"{name}/{turn['dia_id']}",
                session=f"{name}/session-{number}",
                ordinal=place,
                speaker=turn["speaker"],
                text=text_of(turn),
                said_at=(began + timedelta(seconds=place * TURN_SECONDS)).isoformat(),
            )


def text_of(turn: Mapping[str, Any]) -> str:
    """What was said, with what the shared picture shows, where one was."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [shared {caption}]" if caption else str(turn["text"])


def said_at(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023` in UTC."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _question(name: str, place: int, qa: Mapping[str, Any], known: set[str]) -> Question:
    """Evidence that names no turn of the conversation is left out, and so is all of category 5."""
    named = _TURN.findall(" ".join(qa.get("evidence", ())))
    turns = {f"{name}/D{int(session)}:{int(turn)}" for session, turn in named}
    answered = qa["category"] in CATEGORIES
    return Question(
        id=f"{name}/{place}",
        text=qa["question"],
        category=CATEGORIES.get(qa["category"], ""),
        relevant=frozenset(turns & known if answered else ()),
    )


# ---- ways to write them down --------------------------------------------------------------------


def as_chat(desk: Desk, turns: Sequence[Turn]) -> dict[str, str]:
    """Each session a conversation, the speaker as the role."""
    return {
        turn.key: desk.call(
            "chatlog_write",
            conversation_id=turn.session,
            text=turn.text,
            role=turn.speaker,
            ordinal=turn.ordinal,
            said_at=turn.said_at,
        )["id"]
        for turn in turns
    }


def as_one_chat(desk: Desk, turns: Sequence[Turn]) -> dict[str, str]:
    """All sessions one conversation, with users and assistants; names stand in the text."""
    first = turns[0].speaker
    return {
        turn.key: desk.call(
            "chatlog_write",
            conversation_id=turn.key.partition("/")[0],
            text=f"{turn.speaker}: {turn.text}",
            role="user" if turn.speaker == first else "assistant",
            said_at=turn.said_at,
        )["id"]
        for turn in turns
    }


def as_memories(desk: Desk, turns: Sequence[Turn]) -> dict[str, str]:
    """Each turn a memory that is true from its date on."""
    return {
        turn.key: desk.call(
            "memory_write", text=f"{turn.speaker}: {turn.text}", valid_from=turn.said_at
        )["id"]
        for turn in turns
    }


Writing = Callable[["Desk", Sequence[Turn]], dict[str, str]]


def _write(write: Writing, turns: Sequence[Turn], desk: Desk) -> dict[str, str]:
    return write(desk, turns)


def one_store_each(file: Path, write: Writing, tool: str) -> list[World]:
    """A world a conversation."""
    return [
        World(
            name=conversation.name,
            write=partial(_write, write, conversation.turns),
            questions=[replace(one, tool=tool) for one in conversation.questions],
        )
        for conversation in read(file)
    ]


def one_store(file: Path, write: Writing, tool: str) -> list[World]:
    """One world of all conversations."""
    held = read(file)
    turns = [turn for conversation in held for turn in conversation.turns]
    asked = [replace(one, tool=tool) for conversation in held for one in conversation.questions]
    return [World(name="all", write=partial(_write, write, turns), questions=asked)]


def sets(folder: Path) -> list[QualitySet]:
    """The conversations in a store each and in one, and written down in other ways."""
    file = folder / FILE
    return [
        QualitySet(
            name="locomo",
            title="LoCoMo, a store for each conversation",
            method="""Turns by `chatlog_write`, each session a conversation, the speaker's name as
                the role, dated; questions by `chatlog_search`.""",
            metrics=METRICS,
            headline=("any@1", "any@5", "any@10", "all@10"),
            worlds=lambda: one_store_each(file, as_chat, "chatlog_search"),
        ),
        QualitySet(
            name="locomo-shared",
            title="LoCoMo, all conversations in one store",
            method="As above, but nothing tells search which of the conversations is meant.",
            metrics=METRICS,
            headline=("any@1", "any@10"),
            worlds=lambda: one_store(file, as_chat, "chatlog_search"),
        ),
        QualitySet(
            name="locomo-named",
            title="LoCoMo, names in the text",
            method="""A conversation is one `conversation_id` with roles user and assistant; each
                text begins with the speaker's name and a colon. Questions by `chatlog_search`.""",
            metrics=METRICS,
            headline=("any@1", "any@10"),
            worlds=lambda: one_store_each(file, as_one_chat, "chatlog_search"),
        ),
        QualitySet(
            name="locomo-memories",
            title="LoCoMo, each turn a memory",
            method="""Turns by `memory_write` as "name: text", `valid_from` their date; questions by
                `memory_search`. The floor of memories stands here: what is not clearly about the
                question does not come back.""",
            metrics=(*METRICS, PRECISION),
            headline=("any@10", "precision"),
            worlds=lambda: one_store_each(file, as_memories, "memory_search"),
        ),
    ]
