"""PrecisionMemBench: beliefs of a user, and which of them a question should bring back.

`expect.relevantBeliefs` is what is scored. The benchmark's other lists are put together without a
search: pinned beliefs and open questions are always shown, and preferences of the scope
`user:universal` are a prelude. So a hit that belongs on one of those counts neither way; the metric
"precision, all hits" counts it as wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quality.metrics import KEPT_OUT, LEFT_EMPTY, PRECISION, RECALL, STRICT_PRECISION
from quality.question import Absent, QualitySet, Question, World

if TYPE_CHECKING:
    from quality.desk import Desk

FOLDER = Path("precisionmembench")
UNIVERSAL = "user:universal"
METRICS = (PRECISION, RECALL, LEFT_EMPTY, KEPT_OUT, STRICT_PRECISION)

Belief = Mapping[str, Any]


def read(folder: Path) -> tuple[list[Belief], list[Mapping[str, Any]]]:
    """(beliefs, cases) of a folder. Raises Absent."""
    files = [folder / name for name in ("beliefs.seed.json", "retrieval.cases.json")]
    if not all(file.is_file() for file in files):
        raise Absent(f"{FOLDER} is not in the data folder")
    beliefs, cases = (json.loads(file.read_text("utf-8")) for file in files)
    return beliefs, cases


def world(folder: Path) -> World:
    """All beliefs in one store, with the cases that are scored."""
    beliefs, cases = read(folder)
    aside = frozenset(one["_id"] for one in beliefs if is_shown_anyway(one))
    return World(
        name="beliefs",
        write=partial(write, beliefs=beliefs),
        questions=[_question(one, aside, beliefs) for one in cases if is_scored(one)],
    )


def is_shown_anyway(belief: Belief) -> bool:
    """Whether the benchmark has another list for it."""
    return bool(
        belief["pinned"] or belief["type"] == "open_question" or belief["scope"] == [UNIVERSAL]
    )


def is_scored(case: Mapping[str, Any]) -> bool:
    """Whether it has a list of relevant beliefs, and no budget that cuts it."""
    relevant = case["expect"].get("relevantBeliefs", {})
    return "budget" not in case and "shouldOnlyInclude" in relevant


def _question(
    case: Mapping[str, Any], aside: frozenset[str], beliefs: Sequence[Belief]
) -> Question:
    user = case.get("userId", "test-user")
    return Question(
        id=case["caseId"],
        text=case["query"],
        category=case["category"],
        relevant=frozenset(case["expect"]["relevantBeliefs"]["shouldOnlyInclude"]),
        aside=aside,
        forbidden=forbidden(case["scope"], user, beliefs),
        arguments={"kind": "memory", "spaces": [space(one) for one in case["scope"]]},
        user=user,
    )


def forbidden(scopes: Sequence[str], user: str, beliefs: Sequence[Belief]) -> frozenset[str]:
    """Beliefs of other scopes, of other users, superseded, resolved: none may come back."""
    return frozenset(
        one["_id"]
        for one in beliefs
        if one["user_id"] != user
        or not set(one["scope"]) & set(scopes)
        or one["superseded_by"]
        or one["resolved_at"]
    )


# ---- writing beliefs down -----------------------------------------------------------------------


def space(scope: str) -> str:
    """A belief's scope is the space that it is kept in; all are of the scope `user`."""
    return scope.partition(":")[2]


def write(desk: Desk, beliefs: Sequence[Belief]) -> dict[str, str]:
    """Beliefs with their aliases, ends and links."""
    shift = _shift(beliefs)
    replaces = {one["superseded_by"]: one["_id"] for one in beliefs if one["superseded_by"]}
    ids: dict[str, str] = {}
    for belief in oldest_first(beliefs):
        began = _moved(belief["created_at"], shift)
        old = ids.get(replaces.get(belief["_id"], ""))
        write_one = partial(_supersede, desk, old) if old else partial(_create, desk)
        ids[belief["_id"]] = key = write_one(belief, began)
        user = belief["user_id"]
        desk.call("memory_alias", user=user, id=key, names=belief["aliases"])
        if belief["resolved_at"]:
            end = _moved(belief["resolved_at"], shift)
            desk.call("memory_update", user=user, id=key, valid_to=end)
    for belief in beliefs:
        for other in belief.get("participants", ()):
            desk.call(
                "memory_link",
                user=belief["user_id"],
                from_id=ids[belief["_id"]],
                to_id=ids[other],
                type=belief["relation_type"],
            )
    return ids


def oldest_first(beliefs: Sequence[Belief]) -> list[Belief]:
    """By date, and each behind what it superseded whatever the dates say."""
    left = sorted(beliefs, key=lambda one: str(one["created_at"]))
    found: list[Belief] = []
    while left:
        waiting = {one["superseded_by"] for one in left}
        ready = next((one for one in left if one["_id"] not in waiting), left[0])
        left.remove(ready)
        found.append(ready)
    return found


def _create(desk: Desk, belief: Belief, began: str) -> str:
    written = desk.call(
        "memory_write",
        user=belief["user_id"],
        text=belief["content"],
        title=belief["canonical_name"],
        type=belief["type"],
        scope="user",
        space=space(belief["scope"][0]),
        confidence=belief["confidence"],
        pin=belief["pinned"],
        valid_from=began,
    )
    return str(written["id"])


def _supersede(desk: Desk, old: str, belief: Belief, began: str) -> str:
    user = belief["user_id"]
    written = desk.call(
        "memory_supersede",
        user=user,
        id=old,
        text=belief["content"],
        title=belief["canonical_name"],
        valid_from=began,
    )
    if belief["pinned"]:
        desk.call("memory_pin", user=user, id=written["id"])
    return str(written["id"])


def _shift(beliefs: Sequence[Belief]) -> timedelta:
    """How far back all dates are moved where this machine's clock stands before the last."""
    dates = [one[name] for one in beliefs for name in ("created_at", "resolved_at") if one[name]]
    late = max(map(datetime.fromisoformat, dates)) - (datetime.now(UTC) - timedelta(days=1))
    return max(late, timedelta())


def _moved(date: str, shift: timedelta) -> str:
    return (datetime.fromisoformat(date) - shift).isoformat()


def sets(folder: Path) -> list[QualitySet]:
    """The one set."""
    return [
        QualitySet(
            name="precision",
            title="PrecisionMemBench",
            method="""Beliefs by `memory_write` (the canonical name as title, scope `user`, the
                domain as space), `memory_alias`, `memory_supersede`, `memory_link`; a resolved one
                has ended. Cases by `memory_search` in the case's spaces: all but the four with a
                budget and the two without a list of relevant beliefs. Pinned beliefs, open
                questions and universal preferences, which the benchmark shows without a search,
                count neither way; in "precision, all hits" they count as wrong. "Kept out": no
                belief of another scope or user, none superseded or resolved came back.""",
            metrics=METRICS,
            headline=("precision", "recall"),
            worlds=lambda: [world(folder / FOLDER)],
        )
    ]
