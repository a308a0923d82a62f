"""Scores of one answer, 0..1, or None where a question says nothing about that score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log2

from quality.question import HITS_ASKED, Found


@dataclass(frozen=True, slots=True)
class Metric:
    """A named score of one answer."""

    name: str
    of: Callable[[Found], float | None]


def counted(found: Found) -> list[str]:
    """Keys that count, best first."""
    return [key for key in found.keys if key not in found.question.aside]


def any_at(k: int) -> Metric:
    """Whether one relevant item is among the first k."""

    def of(found: Found) -> float | None:
        relevant = found.question.relevant
        return float(bool(relevant & set(counted(found)[:k]))) if relevant else None

    return Metric(f"any@{k}", of)


def all_at(k: int) -> Metric:
    """Whether every relevant item is among the first k."""

    def of(found: Found) -> float | None:
        relevant = found.question.relevant
        return float(relevant <= set(counted(found)[:k])) if relevant else None

    return Metric(f"all@{k}", of)


def _reciprocal_rank(found: Found) -> float | None:
    if not found.question.relevant:
        return None
    return next((1 / rank for rank, _ in relevant_ranks(found)), 0.0)


def relevant_ranks(found: Found) -> Iterable[tuple[int, str]]:
    """(rank from 1, key) of each relevant item that came back."""
    for rank, key in enumerate(counted(found), start=1):
        if key in found.question.relevant:
            yield rank, key


def _precision(found: Found) -> float:
    return precision_of(counted(found), found)


def _strict_precision(found: Found) -> float:
    return precision_of(found.keys, found)


def precision_of(keys: Sequence[str], found: Found) -> float:
    """Relevant hits of all hits. No hits: 1 where nothing is relevant, else 0."""
    if not keys:
        return float(not found.question.relevant)
    return len(found.question.relevant & set(keys)) / len(keys)


def _recall(found: Found) -> float | None:
    relevant = found.question.relevant
    return len(relevant & set(counted(found))) / len(relevant) if relevant else None


def _left_empty(found: Found) -> float | None:
    return None if found.question.relevant else float(not counted(found))


def _kept_out(found: Found) -> float | None:
    forbidden = found.question.forbidden
    return float(not forbidden & set(found.keys)) if forbidden else None


def _newest_first(found: Found) -> float | None:
    """What is true now stands before what was true; neither found: not."""
    if not found.question.stale:
        return None
    keys = counted(found)
    ranks = {key: rank for rank, key in enumerate(keys)}
    best = min((ranks.get(key, len(keys)) for key in found.question.relevant), default=len(keys))
    old = min(ranks.get(key, len(keys)) for key in found.question.stale)
    return float(best < old)


def _ndcg(found: Found) -> float | None:
    """nDCG@10 with one grade of relevance (Järvelin and Kekäläinen 2002)."""
    relevant = found.question.relevant
    if not relevant:
        return None
    gained = sum(1 / log2(rank + 1) for rank, _ in relevant_ranks(found) if rank <= HITS_ASKED)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(relevant), HITS_ASKED) + 1))
    return gained / ideal


MRR = Metric(f"MRR@{HITS_ASKED}", _reciprocal_rank)
PRECISION = Metric("precision", _precision)
STRICT_PRECISION = Metric("precision, all hits", _strict_precision)
RECALL = Metric("recall", _recall)
LEFT_EMPTY = Metric("left empty", _left_empty)
KEPT_OUT = Metric("kept out", _kept_out)
NEWEST_FIRST = Metric("newest first", _newest_first)
NDCG = Metric(f"nDCG@{HITS_ASKED}", _ndcg)


def by_session(metric: Metric) -> Metric:
    """The same score of sessions: a key's part before the last slash."""
    return Metric(
        f"session {metric.name}",
        lambda found: metric.of(found.renamed(lambda key: key.rpartition("/")[0])),
    )


def when_answerable(metric: Metric) -> Metric:
    """The same score, of questions that something answers."""
    return replace(metric, of=lambda found: metric.of(found) if found.question.relevant else None)


def mean(metric: Metric, answers: Iterable[Found]) -> float | None:
    """The mean over the answers that it says something about."""
    scores = [score for found in answers if (score := metric.of(found)) is not None]
    return sum(scores) / len(scores) if scores else None


def rows(
    metrics: Sequence[Metric], answers: Sequence[Found]
) -> list[tuple[str, int, list[float | None]]]:
    """(category, questions, means): first of all together, then of each category."""
    categories = sorted({found.question.category for found in answers})
    groups = [("all", list(answers))]
    if len(categories) > 1:
        groups += [
            (one, [found for found in answers if found.question.category == one])
            for one in categories
        ]
    return [(name, len(group), [mean(one, group) for one in metrics]) for name, group in groups]
