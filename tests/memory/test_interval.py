"""The two times: the SQL predicate and the Python rule equal the sentence in rows.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from fix_memory import StillClock, opened
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory import chatlog, read, supersede
from satchel.memory.interval import Moment, answers, holds
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import Replica

times = st.none() | st.integers(0, 8)
COLUMNS = ("recorded_at", "valid_from", "valid_to", "valid_to_was", "retired_at", "expires_at")
FAST_MS = 5000


def rule(row: dict[str, int | None], now: int, as_of: int | None, known_at: int | None) -> bool:
    """`recorded_at <= k` and `valid_from <= v < (valid_to_was if k < retired_at else valid_to)`.

    Without k all that is here is known. Without both, a row's own stamps are never in the future.
    """
    before, after = -(10**9), 10**9

    def or_(value: int | None, open_end: int) -> int:
        return open_end if value is None else value

    stamps = [or_(row["recorded_at"], now), or_(row["retired_at"], now)]
    present = max(now, *stamps) if known_at is None else now
    v, k = or_(as_of, present), or_(known_at, after - 1)
    old_belief = row["retired_at"] is not None and k < row["retired_at"]
    end = row["valid_to_was"] if old_belief else row["valid_to"]
    return (
        or_(row["recorded_at"], before) <= k
        and or_(known_at, now) < or_(row["expires_at"], after)
        and or_(row["valid_from"], before) <= v < or_(end, after)
    )


@given(st.fixed_dictionaries(dict.fromkeys(COLUMNS, times)), st.integers(0, 8), times, times)
def test_sql_and_python_keep_the_rule(
    row: dict[str, int | None], now: int, as_of: int | None, known: int | None
) -> None:
    selected = ", ".join(f":{name} AS {name}" for name in COLUMNS)
    moment = Moment(now=now, as_of=as_of, known_at=known)
    db = apsw.Connection(":memory:")
    found = db.execute(
        f"SELECT count(*) FROM (SELECT {selected}) AS t WHERE {answers('t')}",
        {**row, **moment.params},
    ).get
    db.close()
    assert bool(found) == rule(row, now, as_of, known)
    assert holds(moment, **row) == rule(row, now, as_of, known)


PRESENT: dict[str, Callable[[Replica, str], list[str]]] = {
    "search": lambda r, key: [hit.id for hit in search.search(r, "zebra").hits],
    "list": lambda r, key: [one["id"] for one in read.list_memories(r)["items"]],
    "get": lambda r, key: [one["id"] for one in read.get(r, [key])["items"] if one["current"]],
    "stats": lambda r, key: [key] * read.stats(r)["current"],
    "twin": lambda r, key: [write(r, "zebra crossing").id],
}


@pytest.mark.parametrize("path", PRESENT)
def test_a_memory_of_a_fast_clock_is_found_at_once(
    replica: Replica, clock: StillClock, path: str
) -> None:
    clock.at_ms += FAST_MS
    key = write(replica, "zebra crossing").id
    clock.at_ms -= FAST_MS
    assert PRESENT[path](replica, key) == [key]
    asked = read.list_memories(replica, as_of=clock.at_ms)["items"]
    assert asked == read.list_memories(replica, known_at=clock.at_ms)["items"] == []


def test_what_a_fast_clock_superseded_has_ended(replica: Replica, clock: StillClock) -> None:
    old = write(replica, "zebra crossing").id
    clock.at_ms += FAST_MS
    new = supersede.supersede(replica, old, "zebra bridge").id
    clock.at_ms -= FAST_MS
    assert [hit.id for hit in search.search(replica, "zebra").hits] == [new]
    clock.at_ms += 1
    newer = supersede.supersede(replica, new, "zebra tunnel").id
    assert [hit.id for hit in search.search(replica, "zebra").hits] == [newer]


def test_what_is_planned_waits_for_its_time(replica: Replica, clock: StillClock) -> None:
    key = write(replica, "zebra crossing", valid_from=clock.at_ms + FAST_MS).id
    assert read.list_memories(replica)["items"] == []
    clock.at_ms += FAST_MS
    assert [one["id"] for one in read.list_memories(replica)["items"]] == [key]


def test_a_turn_of_a_fast_clock_is_found_at_once(tmp_path: Path, clock: StillClock) -> None:
    with opened(tmp_path, "ada", clock=clock, embedding="off") as ada:
        chatlog.write(ada, "talk", "zebra crossing", said_at=clock.at_ms + FAST_MS)
        assert len(chatlog.search(ada, "zebra").hits) == 1
        assert search.search(ada, "zebra", as_of=clock.at_ms).hits == []
