"""The two times: the SQL predicate and the Python rule equal the sentence in rows.md."""

from __future__ import annotations

import apsw
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory.interval import Moment, answers, holds

times = st.none() | st.integers(0, 8)
COLUMNS = ("recorded_at", "valid_from", "valid_to", "valid_to_was", "retired_at", "expires_at")


def rule(row: dict[str, int | None], as_of: int, known_at: int) -> bool:
    """`recorded_at <= k` and `valid_from <= v < (valid_to_was if k < retired_at else valid_to)`."""
    before, after = -(10**9), 10**9

    def or_(value: int | None, open_end: int) -> int:
        return open_end if value is None else value

    old_belief = row["retired_at"] is not None and known_at < row["retired_at"]
    end = row["valid_to_was"] if old_belief else row["valid_to"]
    return or_(row["recorded_at"], before) <= known_at < or_(row["expires_at"], after) and or_(
        row["valid_from"], before
    ) <= as_of < or_(end, after)


@given(st.fixed_dictionaries(dict.fromkeys(COLUMNS, times)), st.integers(0, 8), st.integers(0, 8))
def test_sql_and_python_keep_the_rule(row: dict[str, int | None], as_of: int, known: int) -> None:
    selected = ", ".join(f":{name} AS {name}" for name in COLUMNS)
    moment = Moment(as_of, known)
    db = apsw.Connection(":memory:")
    found = db.execute(
        f"SELECT count(*) FROM (SELECT {selected}) AS t WHERE {answers('t')}",
        {**row, **moment.params},
    ).get
    db.close()
    assert bool(found) == rule(row, as_of, known)
    assert holds(moment, **row) == rule(row, as_of, known)
