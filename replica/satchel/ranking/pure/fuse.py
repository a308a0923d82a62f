"""Fusion: weighted signals and what stands around a candidate become its score."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from satchel.ranking.contract import Adjacency, BytesLike, Fused
from satchel.ranking.packed import pack
from satchel.ranking.pure.checks import (
    check_count,
    check_small,
    flags,
    indexes,
    numbers,
    small_numbers,
    view,
)
from satchel.ranking.pure.lanes import added, rounded


def fuse(
    signals: BytesLike,
    weights: BytesLike,
    core: BytesLike,
    fact: BytesLike,
    evidence: BytesLike,
    previous: BytesLike,
    following: BytesLike,
    sessions: BytesLike,
    places: BytesLike,
    asks: BytesLike,
    adjacency: Adjacency,
    reach: int,
) -> Fused:
    """Score every candidate of a pool: see `contract.Ranking`."""
    table = _Table.read(signals, weights, core, fact, evidence, len(view("asks", asks)))
    around = _Around.read(previous, following, sessions, places, asks)
    check_small("adjacency", adjacency)
    check_count("reach", reach, least=0)
    asked_weight, session_weight, neighbour_weight, window_weight = adjacency

    own = [added(compress(row, table.core)) for row in table.rows]
    asked = [
        rounded(asked_weight * own[before]) if before >= 0 and around.asks[before] else 0.0
        for before in around.previous
    ]
    facts = [
        added((mine, *compress(row, table.fact), question))
        for mine, row, question in zip(own, table.rows, asked, strict=True)
    ]
    session = [rounded(session_weight * best) for best in _best_of(around.sessions, facts)]
    neighbour = [rounded(neighbour_weight * best) for best in _best_beside(around, own)]

    window = [rounded(window_weight * best) for best in _best_within(around, facts, reach)]

    contexts = zip(asked, session, neighbour, window, strict=True)
    parts = [(*row, *context) for row, context in zip(table.rows, contexts, strict=True)]
    scores = [rounded(added(row)) for row in parts]
    proof = [rounded(added(compress(row, table.evidence))) for row in table.rows]
    return scores, proof, pack("d", (part for row in parts for part in row))


@dataclass(frozen=True, slots=True)
class _Table:
    """Contributions of the signals, a row a candidate, and which columns count for what."""

    rows: list[list[float]]
    core: list[bool]
    fact: list[bool]
    evidence: list[bool]

    @staticmethod
    def read(
        signals: BytesLike,
        weights: BytesLike,
        core: BytesLike,
        fact: BytesLike,
        evidence: BytesLike,
        candidates: int,
    ) -> "_Table":
        width = len(view("core", core))
        found = small_numbers("signals", view("signals", signals), candidates * width)
        weight = small_numbers("weights", view("weights", weights), width)
        marks = [
            flags(name, view(name, value), width)
            for name, value in (("core", core), ("fact", fact), ("evidence", evidence))
        ]
        for column, (is_core, is_fact) in enumerate(zip(marks[0], marks[1], strict=True)):
            if is_core and is_fact:
                raise ValueError(f"column {column} is both core and fact")
        rows = [found[first : first + width] for first in _starts(candidates, width)]
        return _Table([_weighed(row, weight) for row in rows], *marks)


def _weighed(row: Sequence[float], weights: Sequence[float]) -> list[float]:
    return [rounded(signal * weight) for signal, weight in zip(row, weights, strict=True)]


def _starts(candidates: int, width: int) -> Iterable[int]:
    return (candidate * width for candidate in range(candidates))


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands around each candidate in the pool: indexes, -1 for none, and its place."""

    previous: list[int]
    following: list[int]
    sessions: list[int]
    places: list[int]
    asks: list[bool]

    @staticmethod
    def read(
        previous: BytesLike,
        following: BytesLike,
        sessions: BytesLike,
        places: BytesLike,
        asks: BytesLike,
    ) -> "_Around":
        count = len(view("asks", asks))
        return _Around(
            indexes("previous", view("previous", previous), count),
            indexes("following", view("following", following), count),
            indexes("sessions", view("sessions", sessions), count),
            numbers("places", view("places", places), "i", count),
            flags("asks", view("asks", asks), count),
        )


def _best_of(sessions: Sequence[int], facts: Sequence[float]) -> list[float]:
    """The best of each one's session; its own where it has none."""
    best: dict[int, float] = {}
    for session, found in zip(sessions, facts, strict=True):
        best[session] = max(best.get(session, found), found)
    return [
        best[session] if session >= 0 else found
        for session, found in zip(sessions, facts, strict=True)
    ]


def _best_beside(around: _Around, own: Sequence[float]) -> list[float]:
    """The best of each one and what stands before and after it."""
    return [
        max([mine, *(own[index] for index in beside if index >= 0)])
        for mine, *beside in zip(own, around.previous, around.following, strict=True)
    ]


def _best_within(around: _Around, facts: Sequence[float], reach: int) -> list[float]:
    """The best of those of one session that are at most `reach` places away, itself included."""
    at = sorted(zip(around.sessions, around.places, range(len(facts)), strict=True))
    best = list(facts)
    for nth, (session, place, index) in enumerate(at):
        for other_session, other_place, other in at[nth + 1 :]:
            if session < 0 or other_session != session or other_place - place > reach:
                break
            best[index] = max(best[index], facts[other])
            best[other] = max(best[other], facts[index])
    return best
