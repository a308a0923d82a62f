"""How a hub in memory merges pushed rows: last write wins, what is about the forgotten goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from satchel_sync import restamp
from satchel_sync.changes import Loser, PushAnswer, Refusal, Row, Version
from satchel_sync.in_memory.hub_state import Attempt, HubState
from satchel_sync.in_memory.rows import about
from satchel_sync.merge import Verdict, decide, journaled, newest
from satchel_sync.stamp import NOBODY, SCRUBBED
from satchel_sync.subjects import scrubbed, subjects
from satchel_sync.tables import BY_NAME, Table
from satchel_sync.validity import reason_invalid


@dataclass
class Answer:
    """A push answer as it grows."""

    accepted: list[str] = field(default_factory=list)
    superseded: dict[str, Version] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)


def merge_rows(
    state: HubState, table: Table, rows: Sequence[Row], attempt: Attempt, now_ms: int
) -> PushAnswer:
    """Merge a batch; only the highest version of a key counts."""
    answer, before = Answer(), len(state.losers)
    for row in newest(rows):
        if refusal := refused(state, table, row, attempt, now_ms):
            answer.refused.append(refusal)
        else:
            merge_row(state, table, row, answer, now_ms)
    conflicts = max(0, len(state.losers) - before)
    return PushAnswer(
        tuple(answer.accepted), answer.superseded, tuple(answer.refused), conflicts, now_ms
    )


def refused(
    state: HubState, table: Table, row: Row, attempt: Attempt, now_ms: int
) -> Refusal | None:
    """Why a row is not taken, if it is not."""
    if reason := reason_invalid(table, row):
        return Refusal(row.key, "invalid", reason)
    held = state.rows[table.name].get(row.key)
    if restamp.future(row, held.stamp.hlc if held else 0, now_ms):
        return Refusal(row.key, "future")
    if row.stamp != SCRUBBED and not is_origin(state, row.stamp.origin):
        if not (attempt.relays or was_relayed(state, row.stamp.origin)):
            detail = f"origin {row.stamp.origin.hex()} is unknown here"
            return Refusal(row.key, "invalid", detail)
        relay = (row.stamp.origin, table.name, attempt.hello.replica_id)
        state.relayed[relay] = state.relayed.get(relay, 0) + 1
    return None


def is_origin(state: HubState, origin: bytes) -> bool:
    """Whether an id is one of this tenant's."""
    return origin in (NOBODY, state.hub_id, *state.replicas) or any(
        origin in replica.predecessors for replica in state.replicas.values()
    )


def was_relayed(state: HubState, origin: bytes) -> bool:
    """Whether rows of a stranger were taken in a reconcile: then a lost one may come back."""
    return any(origin == known for known, *_ in state.relayed)


def merge_row(state: HubState, table: Table, row: Row, answer: Answer, now_ms: int) -> None:
    """Merge one row that may be stored."""
    held = state.rows[table.name].get(row.key)
    if row.stamp != SCRUBBED and is_about_forgotten(state, table, row):
        if held is None or held.stamp != SCRUBBED:
            keep(state, table, scrubbed(table, row.key))
        answer.superseded[row.key] = Version(SCRUBBED)
        return
    verdict = decide(held.version if held else None, row.version)
    if held is not None and verdict.concurrent:
        winner, loser = (row, held) if verdict.replaces else (held, row)
        if journaled(table, loser.values, winner.values):
            journal(state, [Loser(table.name, loser, winner.stamp, "push", now_ms)])
    if verdict.replaces:
        keep(state, table, row)
    if verdict.replaces or verdict is Verdict.SAME or held is None:
        answer.accepted.append(row.key)
    else:
        answer.superseded[row.key] = held.version


def keep(state: HubState, table: Table, row: Row) -> None:
    """Store a row; one that is forgotten takes with it what is about it, and its journal."""
    state.store(table.name, row)
    if row.stamp != SCRUBBED:
        return
    state.losers = {
        place: loser
        for place, loser in state.losers.items()
        if place[:2] != (table.name, row.key)
        and (table.name, row.key) not in subjects(BY_NAME[loser.kind], loser.row)
    }
    for other, key in about(state.rows.values(), table.name, row.key):
        if state.rows[other.name][key].stamp != SCRUBBED:
            keep(state, other, scrubbed(other, key))


def is_about_forgotten(state: HubState, table: Table, row: Row) -> bool:
    """Whether what a row is about was forgotten."""
    held = (state.rows[kind].get(key) for kind, key in subjects(table, row) if kind in state.rows)
    return any(one is not None and one.stamp == SCRUBBED for one in held)


def journal(state: HubState, losers: Sequence[Loser]) -> None:
    """Add entries that are new, and none of what was forgotten."""
    for loser in losers:
        held = state.rows[loser.kind].get(loser.row.key)
        forgotten = held is not None and held.stamp == SCRUBBED
        if not forgotten and not is_about_forgotten(state, BY_NAME[loser.kind], loser.row):
            state.losers.setdefault((loser.kind, loser.row.key, loser.row.stamp), loser)
