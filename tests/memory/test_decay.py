"""Expiry and decay: what has expired is not shown, what fades gives way between equals only."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from fix_memory import StillClock, opened, seen_as
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory import change, decay, edges, read
from satchel.memory.search import search
from satchel.memory.search.candidates import Candidate
from satchel.memory.write import write
from satchel.replica import Replica
from satchel.store.activity import DAY_MS, GIVEN_KEPT_DAYS, Activity, Trace

NOON_MS = StillClock().at_ms


def found(replica: Replica, query: str, **given: int) -> list[str]:
    return [hit.id for hit in search.search(replica, query, **given).hits]  # type: ignore[arg-type]


# ---- expiry -------------------------------------------------------------------------------------

PATHS: dict[str, Callable[[Replica, str], bool]] = {
    "search": lambda r, key: key in found(r, "kettle"),
    "search by id": lambda r, key: key in found(r, key),
    "list": lambda r, key: key in [one["id"] for one in read.list_memories(r)["items"]],
    "get": lambda r, key: bool(read.get(r, [key])["items"][0]["current"]),
    "graph": lambda r, key: bool(edges.graph(r, key)["nodes"][0]["current"]),
    "stats": lambda r, key: read.stats(r)["current"] == 1,
    "the same text again": lambda r, key: (
        write(r, "the kettle is on", expires_at=NOON_MS + 10).id == key
    ),
}
"""Path -> whether it takes the memory for one that holds now."""


@pytest.mark.parametrize("path", PATHS)
def test_what_has_expired_is_over_on_every_path(
    replica: Replica, clock: StillClock, path: str
) -> None:
    end = clock.at_ms + 10
    key = write(replica, "the kettle is on", expires_at=end).id
    clock.at_ms = end - 1
    assert PATHS[path](replica, key)
    clock.at_ms = end
    assert not PATHS[path](replica, key)


def test_what_expired_was_known_before_and_can_be_kept_after_all(
    replica: Replica, clock: StillClock
) -> None:
    start, end = clock.at_ms, clock.at_ms + 10
    key = write(replica, "the kettle is on", expires_at=end, pinned=True).id
    clock.at_ms = end + 5
    assert found(replica, "kettle") == found(replica, "kettle", as_of=start) == []
    assert found(replica, "kettle", known_at=end - 1) == [key]
    assert read.list_memories(replica, superseded=True)["items"][0]["current"] is False
    assert change.update(replica, key, clear=["expires_at"])["current"] is True
    assert found(replica, "kettle") == [key]
    assert change.update(replica, key, expires_at=end)["current"] is False


# ---- how a memory fades -------------------------------------------------------------------------


def candidate(type_: str | None, recorded_at: int | None, pinned: bool = False) -> Candidate:
    numbers = (None, recorded_at, recorded_at, 0.0, 0.0, pinned, type_)
    return Candidate("memory", 1, "k", "text", None, (), None, None, None, *numbers)


@pytest.mark.parametrize(
    ("type_", "days", "share"),
    [
        *((name, half_life, 0.5) for name, half_life in decay.HALF_LIFE_DAYS.items()),
        (None, 30, 0.5),
        ("my own type", 60, 0.25),
        ("working", 3, 0.125),
        ("fact", 0, 1.0),
        ("fact", -5, 1.0),  # from a machine whose clock is fast
    ],
)
def test_freshness_halves_with_the_half_life_of_the_type(
    type_: str | None, days: int, share: float
) -> None:
    row = candidate(type_, NOON_MS - days * DAY_MS)
    assert decay.fresh(row, None, NOON_MS) == pytest.approx(share)
    # Given again half way, it is as fresh as it was on that day; pinned it never fades.
    again = (1, NOON_MS - days * DAY_MS // 2)
    assert decay.fresh(row, again, NOON_MS) == pytest.approx(min(share**0.5, 1.0))
    assert decay.fresh(row._replace(pinned=True), None, NOON_MS) == 1.0
    assert decay.fresh(candidate(type_, None), None, NOON_MS) == 0.0


@given(st.integers(1, 500), st.integers(1, 500))
def test_use_counts_by_days_and_never_to_the_full(days: int, more: int) -> None:
    assert decay.used(None) == 0.0
    assert 0.5 <= decay.used((days, 0)) <= decay.used((days + more, 0)) <= 1.0


def test_days_are_counted_once_each_and_today_not_at_all(tmp_path: Path) -> None:
    def read_at(activity: Activity, at: int, *ids: str) -> None:
        rows = tuple(("memory", one) for one in ids)
        assert activity.record(Trace(at=at, actor="ann", tool="t", rows=rows, caller="ann"))

    today = NOON_MS // DAY_MS * DAY_MS
    with closing(Activity(tmp_path)) as activity:
        for at in (today - 2 * DAY_MS, today - DAY_MS, today - 1, today, today + 5):
            read_at(activity, at, "m1")
        read_at(activity, today, "m2")
        given = activity.given_days(["m1", "m2", "m3"], today + 9)
        assert given == {"m1": (2, today - DAY_MS)}
        assert activity.access_counts(["m1"]) == {"m1": (5, today + 5)}
        read_at(activity, today + (GIVEN_KEPT_DAYS - 1) * DAY_MS, "m3")
        assert activity.given_days(["m1"], today + 9) == {"m1": (1, today - DAY_MS)}


def test_between_equals_the_more_used_comes_first_from_the_next_day_on(
    replica: Replica, clock: StillClock
) -> None:
    red = write(replica, "the kettle is red").id
    blue = write(replica, "the kettle is blue").id
    assert found(replica, "kettle") == [red, blue], "ties go by id"
    clock.at_ms += 20 * DAY_MS
    for _ in range(3):
        read.get(replica, [blue])
    assert found(replica, "kettle") == [red, blue], "the day is not over"
    clock.at_ms += DAY_MS
    read.get(replica, [blue])
    clock.at_ms += DAY_MS
    hits = search.search(replica, "kettle", explain=True).hits
    assert [hit.id for hit in hits] == [blue, red]
    parts = [hit.explain or {} for hit in hits]
    assert parts[0]["used"] > parts[1]["used"] > 0, "both were found once before"
    assert parts[0]["recency"] > parts[1]["recency"]
    assert found(replica, "red kettle") == [red, blue], "what fits better stays first"


def test_a_working_note_fades_in_days_and_a_procedure_in_years(
    replica: Replica, clock: StillClock
) -> None:
    notes = [
        write(replica, f"the kettle number {n} boils", type=name).id
        for n, name in enumerate(("working", "note", "procedure"))
    ]
    clock.at_ms += 30 * DAY_MS
    hits = search.search(replica, "kettle boils", explain=True).hits
    assert [hit.id for hit in hits] == notes[::-1]
    fresh = {str(hit.type): (hit.explain or {}).get("recency", 0.0) for hit in hits}
    assert fresh["working"] < fresh["note"] < fresh["procedure"]


def test_without_the_side_table_a_search_only_forgets_what_was_of_use(
    tmp_path: Path, clock: StillClock
) -> None:
    with opened(tmp_path, "ada", clock=clock, embedding="off") as ada:
        key = write(ada, "the kettle is on").id
        assert found(ada, "kettle") == [key]
        clock.at_ms += DAY_MS
        used = search.search(ada, "kettle", explain=True).hits[0]
        assert (used.explain or {})["used"] > 0
        ada.activity.close()
        for file in tmp_path.glob("activity.db*"):
            file.unlink()
        lost = search.search(seen_as(ada, "ada"), "kettle", explain=True).hits[0]
        assert (lost.id, (lost.explain or {}).get("used", 0.0)) == (key, 0.0)
