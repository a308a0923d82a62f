"""Made-up users who talk to an assistant for a year, in the shape of LongMemEval.

From one seed: each user has sessions with an assistant, most of it small talk about the same
subjects that the questions are about; what matters is said once, in words that the question does
not repeat.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from quality.metrics import MRR, NEWEST_FIRST, all_at, any_at, by_session
from quality.question import QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FILE = Path(__file__).parent / "texts" / "synthetic.json"
SEED = 20_241
USERS = 10
SESSIONS = 40
FILLERS_EACH = 3
"""Exchanges about nothing in each session."""
BEGINS = datetime(2024, 1, 8, 18, 30, tzinfo=UTC)
ENDS = datetime(2025, 1, 12, 9, 0, tzinfo=UTC)
"""When the questions are asked."""
TURN_SECONDS = 40
METRICS = (
    any_at(1), any_at(5), any_at(10), all_at(10), MRR,
    by_session(any_at(1)), by_session(any_at(5)), NEWEST_FIRST,
)  # fmt: skip


@dataclass(slots=True)
class Said:
    """An exchange: what the user says and what the assistant answers; `mark` names the fact."""

    user: str
    assistant: str
    mark: str = ""
    by_assistant: bool = False
    """The fact is in the answer."""


@dataclass(slots=True)
class Session:
    """One sitting."""

    name: str
    began: datetime
    exchanges: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """A question before its facts have places; the marks are filled in at the end."""

    text: str
    category: str
    marks: Sequence[str]
    stale: Sequence[str] = ()


class User:
    """One made-up user; `random` decides everything."""

    def __init__(self, name: str, random: Random, texts: Mapping[str, Any]) -> None:
        """An empty year of sessions, one a week or so."""
        self.name, self._random, self._texts = name, random, texts
        days = sorted(random.sample(range((ENDS - BEGINS).days - 3), SESSIONS))
        self.sessions = [
            Session(
                f"{name}-{place:02}", BEGINS + timedelta(days=day, minutes=random.randrange(180))
            )
            for place, day in enumerate(days)
        ]
        self.asked: list[Asked] = []

    # ---- facts ----------------------------------------------------------------------------------

    def updates(self, count: int) -> None:
        """Something that is true, and something else that is true later."""
        for place, one in enumerate(self._random.sample(self._texts["updates"], count)):
            early, late = self._in_order(2)
            values = self._random.sample(one["values"], 2)
            old, new = (f"update-{place}-{which}" for which in ("old", "new"))
            self._say(early, self._random.choice(one["says"]).format(v=values[0]), old)
            self._say(late, self._random.choice(one["changes"]).format(v=values[1]), new)
            self._ask(one["asks"], "knowledge update", [new], stale=[old])

    def temporal(self, count: int) -> None:
        """The same kind of event on three days: when was one, and which one was then."""
        for place, one in enumerate(self._random.sample(self._texts["temporal"], count)):
            sessions = self._apart(3)
            values = self._random.sample(one["values"], 3)
            marks = [f"event-{place}-{number}" for number in range(3)]
            for session, value, mark in zip(sessions, values, marks, strict=True):
                text = self._random.choice(one["says"]).format(v=value)
                self._say(session, text[0].upper() + text[1:], mark)
            which = self._random.randrange(3)
            ask = self._random.choice(one["when"]).format(v=values[which])
            self._ask([ask], "temporal: when", [marks[which]])
            which = self._random.randrange(3)
            then = self._then(sessions[which].began)
            self._ask([self._random.choice(one["what"]).format(when=then)], "temporal: what",
                      [marks[which]])  # fmt: skip

    def preferences(self, count: int) -> None:
        """A liking, and a request that ought to heed it."""
        for place, one in enumerate(self._random.sample(self._texts["preferences"], count)):
            mark = f"preference-{place}"
            self._say(self._random.choice(self.sessions), self._random.choice(one["says"]), mark)
            self._ask(one["asks"], "preference", [mark])

    def multi(self, count: int) -> None:
        """Facts of one kind in three sessions; the question is about all."""
        for place, one in enumerate(self._random.sample(self._texts["multi"], count)):
            marks = [f"multi-{place}-{number}" for number in range(3)]
            items = self._random.sample(one["items"], 3)
            for session, item, mark in zip(self._apart(3), items, marks, strict=True):
                self._say(session, item, mark)
            self._ask(one["asks"], "multi-session", marks)

    def assistant(self, count: int) -> None:
        """What the assistant said."""
        for place, one in enumerate(self._random.sample(self._texts["assistant"], count)):
            answer = one["says"].format(v=self._random.choice(one["values"]))
            said = Said(one["user"], answer, f"assistant-{place}", by_assistant=True)
            self._random.choice(self.sessions).exchanges.append(said)
            self._ask(one["asks"], "assistant", [said.mark])

    def nothing(self, count: int) -> None:
        """Questions that nobody ever answered."""
        for text in self._random.sample(self._texts["nothing"], count):
            self._ask([text], "abstention", [])

    def small_talk(self) -> None:
        """Fill every session, then shuffle it: no fact has a place of its own."""
        for session in self.sessions:
            for question, answer in self._random.sample(self._texts["filler"], FILLERS_EACH):
                session.exchanges.append(Said(question, answer))
            self._random.shuffle(session.exchanges)

    # ---- steps ----------------------------------------------------------------------------------

    def _say(self, session: Session, text: str, mark: str) -> None:
        opening = self._random.choice(self._texts["openings"])
        reply = self._random.choice(self._texts["replies"])
        session.exchanges.append(Said(opening + text, reply, mark))

    def _ask(
        self, texts: Sequence[str], category: str, marks: Sequence[str], stale: Sequence[str] = ()
    ) -> None:
        self.asked.append(Asked(self._random.choice(texts), category, marks, stale))

    def _in_order(self, count: int) -> list[Session]:
        places = sorted(self._random.sample(range(len(self.sessions)), count))
        return [self.sessions[place] for place in places]

    def _apart(self, count: int) -> list[Session]:
        """Sessions in different months."""
        months: dict[tuple[int, int], list[Session]] = defaultdict(list)
        for session in self.sessions:
            months[session.began.year, session.began.month].append(session)
        chosen = self._random.sample(sorted(months), count)
        return [self._random.choice(months[month]) for month in sorted(chosen)]

    def _then(self, day: datetime) -> str:
        """A date as people say it: of a day, of a month, or counted back from the question."""
        weeks = round((ENDS - day).days / 7)
        ways: list[Callable[[], str]] = [
            lambda: f"on {day.day} {day:%B}",
            lambda: f"in {day:%B}" if (ENDS - day).days < 330 else f"in {day:%B %Y}",
        ]
        if weeks < 9:
            ways.append(lambda: f"{weeks} weeks ago" if weeks > 1 else "last week")
        return self._random.choice(ways)()


def users(seed: int = SEED, count: int = USERS) -> list[User]:
    """The same users for the same seed."""
    texts = json.loads(FILE.read_text("utf-8"))
    made = []
    for number in range(count):
        user = User(f"user-{number}", Random(seed * 1000 + number), texts)
        user.updates(9)
        user.temporal(5)
        user.preferences(6)
        user.multi(4)
        user.assistant(4)
        user.nothing(4)
        user.small_talk()
        made.append(user)
    return made


def world(user: User) -> World:
    """A user's year in a store, with the questions at its end; a turn goes by `session/place`."""
    keys = {
        said.mark: f"{session.name}/{place * 2 + said.by_assistant}"
        for session in user.sessions
        for place, said in enumerate(session.exchanges)
        if said.mark
    }
    return World(
        name=user.name,
        write=partial(write, user=user),
        questions=[
            Question(
                id=f"{user.name}/{place}",
                text=one.text,
                category=one.category,
                relevant=frozenset(keys[mark] for mark in one.marks),
                stale=frozenset(keys[mark] for mark in one.stale),
                arguments={"kind": "chatlog", "as_of": ENDS.isoformat()},
            )
            for place, one in enumerate(user.asked)
        ],
    )


def write(desk: Desk, user: User) -> dict[str, str]:
    """Each session a conversation of roles user and assistant."""
    ids: dict[str, str] = {}
    for session in user.sessions:
        turns = [
            turn
            for said in session.exchanges
            for turn in (("user", said.user), ("assistant", said.assistant))
        ]
        for place, (role, text) in enumerate(turns):
            ids[f"{session.name}/{place}"] = desk.call(
                "chatlog_write",
                conversation_id=session.name,
                text=text,
                role=role,
                ordinal=place,
                said_at=(session.began + timedelta(seconds=place * TURN_SECONDS)).isoformat(),
            )["id"]
    return ids


def sets(seed: int = SEED) -> list[QualitySet]:
    """The one set."""
    return [
        QualitySet(
            name="synthetic",
            title="Made-up users and an assistant, in LongMemEval's shape",
            method=f"""{USERS} users from seed {seed}, {SESSIONS} sessions a year with an assistant,
                most of it small talk on the subjects of the questions. Turns by `chatlog_write`
                (roles user and assistant), questions by `memory_search` as of the end. A question
                shares few words with what answers it. "Newest first": what is true now stands
                before what was true earlier. Questions that nothing answers ("abstention") have no
                score: search of chats has no floor that would leave them empty.""",
            metrics=METRICS,
            headline=("any@1", "any@10", "newest first"),
            worlds=lambda: [world(one) for one in users(seed)],
        )
    ]
