"""What tests of a change of the model write and ask: questions that share no telling word."""

from __future__ import annotations

from pathlib import Path

from fix_memory import settings

from satchel.embedding import library, queue
from satchel.memory.chatlog import write as say
from satchel.memory.search.search import search
from satchel.memory.write import write
from satchel.replica import Replica, open_replica

PAIRS = {
    "The cat sleeps on the warm radiator": "where does the kitten take its nap",
    "We cook pasta with tomatoes on Fridays": "what is for dinner at the end of the week",
    "Dr. Meyer prescribed antibiotics for the infection": "which medicine did the physician order",
    "The backup server stands in the basement": "where is the spare machine kept",
}
LATER = ("Heavy rain flooded the lower meadow", "what did the storm do to the field")
TURN = ("Grandmother arrives by train at noon", "when does our elderly relative get here")


def machine(home: Path, model: Path | str | None = None, **columns: object) -> Replica:
    """A replica in this home that is configured to use this model."""
    given = {"durability": "process", "model": str(model) if model else None, **columns}
    return open_replica(settings(home, **given))


def filled(replica: Replica, fillers: int = 4) -> list[str]:
    """The texts and a turn, and a few others; ids of all memories."""
    ids = [write(replica, text).id for text in PAIRS]
    say(replica, "c1", TURN[0], ordinal=0)
    others = (f"Item {number} of the committee's agenda was adjourned" for number in range(fillers))
    return ids + [write(replica, text).id for text in others]


def best(replica: Replica, question: str) -> str | None:
    """The first hit's text, which only its meaning can have found."""
    answer = search(replica, question, k=3)
    assert answer.mode == "hybrid"
    return answer.hits[0].snippet if answer.hits else None


def finds_all(replica: Replica) -> None:
    """Every question finds its text."""
    for text, question in [*PAIRS.items(), TURN]:
        assert best(replica, question) == text


def change(replica: Replica, model: Path | str) -> Replica:
    """`satchel model use`, and the replica as a process sees it that is started afterwards."""
    library.use(replica.settings, str(model))
    return machine(replica.store.home, model)


def vectors(replica: Replica) -> dict[str, tuple[int, int]]:
    """Model -> living vectors of memories, and of turns."""
    found: dict[str, tuple[int, int]] = {}
    with replica.store.read() as db:
        for model, memories, turns in db.execute(
            """SELECT model, sum(kind = 0), sum(kind = 1) FROM (
                   SELECT model, 0 AS kind FROM embedding WHERE model IS NOT NULL
                   UNION ALL SELECT model, 1 FROM turn_vector) GROUP BY model"""
        ):
            found[model.partition("@")[0]] = (memories, turns)
    return found


def drained(replica: Replica, limit: int | None = None) -> queue.Drained:
    """`satchel model reembed`, or a part of it."""
    library.want_configured(replica)
    return queue.drain(replica, limit=limit)
