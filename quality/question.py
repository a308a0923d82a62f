"""What a quality set is made of: worlds to write down, questions to ask, what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quality.desk import Desk
    from quality.metrics import Metric

HITS_ASKED = 10
"""Hits that each question asks for: what a user gets without saying otherwise."""


class Absent(Exception):
    """The data of a set is not on this machine: the set is skipped, with this reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question. Its keys name items of its world: `session/turn`, a belief, a note."""

    id: str
    text: str
    category: str
    relevant: frozenset[str]
    """Keys of all that answers it; empty: nothing does."""
    aside: frozenset[str] = frozenset()
    """Keys that count neither as found nor as wrong."""
    forbidden: frozenset[str] = frozenset()
    """Keys that must not come back at all."""
    stale: frozenset[str] = frozenset()
    """Keys of what was true before: the answer should stand before them."""
    tool: str = "memory_search"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the tool, as a user would give them."""
    user: str = "una"
    """Who asks."""

    def renamed(self, name: Callable[[str], str]) -> Question:
        """The same question about items that are called otherwise."""
        return replace(
            self,
            relevant=frozenset(map(name, self.relevant)),
            aside=frozenset(map(name, self.aside)),
            forbidden=frozenset(map(name, self.forbidden)),
            stale=frozenset(map(name, self.stale)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came back for a question: keys with their scores, best first, each once."""

    question: Question
    keys: tuple[str, ...]
    scores: tuple[float, ...] = ()
    took_ms: float = 0.0

    def renamed(self, name: Callable[[str], str]) -> Found:
        """The same answer in other names; of keys that become the same the best stays."""
        keys = tuple(dict.fromkeys(map(name, self.keys)))
        return Found(question=self.question.renamed(name), keys=keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A store of its own: `write` fills it and tells the id of the row of each key."""

    name: str
    write: Callable[[Desk], Mapping[str, str]]
    questions: Sequence[Question]


@dataclass(frozen=True, slots=True, kw_only=True)
class QualitySet:
    """A set of worlds that is scored by the same metrics; `method` is told on the page."""

    name: str
    title: str
    method: str
    metrics: tuple[Metric, ...]
    headline: tuple[str, ...]
    """Names of the metrics that the ablation shows."""
    worlds: Callable[[], Sequence[World]]
    """Reads or makes them. Raises Absent."""
