"""What a recipe of the ranking consists of: signals, contexts, floors, a model's scale.

Named tuples, since every command that searches makes these classes, and a dataclass costs more.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from satchel.ranking.packed import pack

Role = Literal["core", "fact", "extra", "context"]
"""`core` is what the text itself says; a `fact` joins it before sessions are compared; an `extra`
is added once, at the end. A `context` is no column: the engine finds it around a candidate."""


class Signal(NamedTuple):
    """One part of a score; a column's number is from 0 to about 1, `weight` makes it score."""

    name: str
    weight: float
    role: Role
    reason: str
    evidence: bool = False
    """It counts for the floor: it alone may show that a row has to do with the question."""


class Recipe(NamedTuple):
    """Signals in the order of their columns, contexts, and the constants beside them."""

    signals: tuple[Signal, ...]
    contexts: tuple[Signal, Signal, Signal, Signal]
    """asked, session, neighbour, window."""
    reach: int
    """How many places a window reaches to either side."""
    k1: float
    """How soon another mention of a term adds nothing (Robertson's k1)."""
    diversity: float
    """How much a hit loses for being like one before it: `Ranking.select`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parts of a score, in the order of `Ranking.fuse`."""
        return (*(one.name for one in self.signals), *(one.name for one in self.contexts))

    @property
    def weights(self) -> bytes:
        """Argument of `Ranking.fuse`; so are the next four."""
        return pack("d", (one.weight for one in self.signals))

    @property
    def core(self) -> bytes:
        """Flags of the columns that are what a text says."""
        return bytes(one.role == "core" for one in self.signals)

    @property
    def fact(self) -> bytes:
        """Flags of the columns that join them."""
        return bytes(one.role == "fact" for one in self.signals)

    @property
    def evidence(self) -> bytes:
        """Flags of the columns that count for the floor."""
        return bytes(one.evidence for one in self.signals)

    @property
    def adjacency(self) -> tuple[float, float, float, float]:
        """Weights of the contexts."""
        asked, session, neighbour, window = (one.weight for one in self.contexts)
        return asked, session, neighbour, window

    def without(self, name: str) -> "Recipe":
        """The same with one weight at 0, for an ablation. Raises KeyError for an unknown name."""
        if name not in self.names:
            raise KeyError(f"no signal is called `{name}`: there are {', '.join(self.names)}")

        def left(one: Signal) -> Signal:
            return one._replace(weight=0.0) if one.name == name else one

        asked, session, neighbour, window = map(left, self.contexts)
        return self._replace(
            signals=tuple(map(left, self.signals)), contexts=(asked, session, neighbour, window)
        )


class Floor(NamedTuple):
    """What hits must show: so much evidence the best of them, such a share of it every other.

    The first alone keeps a question empty to which nothing is relevant; the second lets the rest
    of an answer be as weak as its best, since a question in other words finds all of it weakly.
    """

    best_least: float
    of_best: float = 0.0

    def passes(self, evidence: Iterable[float]) -> list[bool]:
        """Which of a pool's evidences are enough; what has none never is."""
        found = list(evidence)
        best = max(found, default=0.0)
        if best < self.best_least:
            return [False] * len(found)
        return [one > 0.0 and one >= self.of_best * best for one in found]


class Unasked(NamedTuple):
    """The floor of a memory that nobody asked for (`satchel recall`): meaning, words, facts.

    A prompt is long: words of it stand by chance in any memory. So they add `keyword_most` at most,
    and of a prompt of more than `words_full` words only a share counts.
    """

    least: float
    keyword_most: float
    words_full: int


class Calibration(NamedTuple):
    """One model's scale: the cosine that says nothing, the one that says all, and its floors."""

    nothing: float
    all: float
    memory: Floor
    chatlog: Floor
    unasked: Unasked
    reason: str

    def meaning(self, cosine: float) -> float:
        """The signal: 0 where the cosine says nothing, 1 where it says all."""
        return min(max((cosine - self.nothing) / (self.all - self.nothing), 0.0), 1.0)

    def floor(self, kind: Literal["memory", "chatlog"]) -> Floor:
        """The floor of one kind of row."""
        return self.memory if kind == "memory" else self.chatlog
