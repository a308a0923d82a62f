"""Run a set: fill each world's store, ask its questions, keep what came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from quality.desk import Desk, opened
from quality.question import HITS_ASKED, Found, QualitySet, Question, World

from satchel.embedding import Embedder


@dataclass(frozen=True, slots=True)
class Filled:
    """A store that holds a world; `names` has the key of each row, `same` of each key that key.

    Two items with the same text are one row: it goes by the key of the first.
    """

    world: World
    desk: Desk
    names: Mapping[str, str]
    same: Mapping[str, str]

    def answers(self, limit: int | None = None) -> Iterator[Found]:
        """What comes back for each question."""
        for question in self.world.questions[:limit]:
            yield self.ask(question)

    def ask(self, question: Question) -> Found:
        """One question through its tool. A blank one is refused by search: nothing comes back."""
        asked = question.renamed(lambda key: self.same.get(key, key))
        if not question.text.strip():
            return Found(question=asked, keys=())
        answer = self.desk.call(
            question.tool,
            user=question.user,
            query=question.text,
            k=HITS_ASKED,
            **question.arguments,
        )
        hits = answer["hits"]
        return Found(
            question=asked,
            keys=tuple(self.names.get(hit["id"], hit["id"]) for hit in hits),
            scores=tuple(hit["score"] for hit in hits),
            took_ms=answer["took_ms"],
        )


@contextmanager
def filled(world: World, embedder: Embedder | None) -> Iterator[Filled]:
    """A store with this world in it."""
    with opened(embedder) as desk:
        ids = world.write(desk)
        desk.embed()
        names: dict[str, str] = {}
        for key, row in ids.items():
            names.setdefault(row, key)
        yield Filled(world, desk, names, {key: names[row] for key, row in ids.items()})


def measure(
    one: QualitySet,
    embedder: Embedder | None,
    *,
    limit: int | None = None,
    also: Callable[[Filled], None] | None = None,
) -> list[tuple[World, Found]]:
    """Every answer of a set, at most `limit` a world; `also` may ask the filled store more."""
    answers: list[tuple[World, Found]] = []
    for world in one.worlds():
        with filled(world, embedder) as store:
            answers += [(world, found) for found in store.answers(limit)]
            if also:
                also(store)
    return answers


def of_all(answers: Sequence[tuple[World, Found]]) -> list[Found]:
    """The answers alone."""
    return [found for _, found in answers]
