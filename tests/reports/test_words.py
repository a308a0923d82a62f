"""Numbers, times and names as a report shows them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel_warehouse.reports import words

CASES = [
    *((words.count, value, text) for value, text in (
        (0, "0"), (999, "999"), (12_345, "12,345"), (1_234_567, "1.23 M"), (5e9, "5 G"),
    )),
    *((words.share, value, text) for value, text in (
        (0, "0%"), (1, "100%"), (0.5, "50%"), (0.004, "0.4%"), (0.00012, "0.012%"),
        (0.9999, "99.9%"), (0.995, "99.5%"), (1.088, "109%"), (12, "1,200%"),
    )),
    *((words.span, value, text) for value, text in (
        (0, "0 s"), (0.02, "20 ms"), (59, "59 s"), (600, "10 min"), (5_400, "1.5 h"),
        (86_400 * 1.5, "36.0 h"), (86_400 * 9, "9 d"), (-9, "−9 s"),
    )),
    *((words.money, value, text) for value, text in (
        (0, "$0.00"), (0.5, "$0.50"), (12_345.6, "$12,346"),
    )),
    *((words.number, value, text) for value, text in (
        (3, "3"), (2.5781, "2.58"), (1_234.5, "1,234"),
    )),
    *((words.listed, value, text) for value, text in (
        ([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c", "d", "e"],
         "a, b, c and 2 more"),
    )),
    (words.day, date(2026, 11, 3), "3 November 2026"),
    (words.short, "0" * 24 + "89abcdef", "89abcdef"),
    (words.short, "0198f0a5-7d96-774b-bcce-b302099a8057", "099a8057"),
    (words.short, "desktop-review", "desktop-review"),
    (words.name_of, None, "(none)"),
    (words.name_of, "", "(none)"),
]  # fmt: skip


@pytest.mark.parametrize(("say", "value", "text"), CASES)
def test_a_value_is_said(say: object, value: object, text: str) -> None:
    assert say(value) == text  # type: ignore[operator]


def test_a_moment_is_said_in_utc() -> None:
    there = timezone(timedelta(hours=5, minutes=30))
    assert words.moment(datetime(2026, 11, 30, 2, 15, tzinfo=there)) == "2026-11-29 20:45 UTC"
    assert words.moment(datetime(2026, 11, 30, 2, 15, tzinfo=UTC)) == "2026-11-30 02:15 UTC"


def test_what_is_not_known_is_a_dash() -> None:
    for unit in ("text", "id", "count", "share", "money", "time", "date", "flag"):
        assert words.shown(None, unit) == words.NOTHING  # type: ignore[arg-type]


def test_plural_and_top() -> None:
    rows = [
        {"who": "b", "n": 3},
        {"who": "a", "n": 1},
        {"who": "b", "n": None},
        {"who": None, "n": 4},
    ]
    assert words.plural(1, "row") == "1 row"
    assert words.plural(0, "memory", "memories") == "0 memories"
    assert words.totals(rows, "who", "n") == {None: 4, "b": 3, "a": 1}
    assert words.top(rows, "who", "n") == ("(none)", 4, 0.5)
    assert words.top([{"who": "a", "n": 0}], "who", "n") == ("a", 0, 0.0)


@given(st.text())
def test_a_name_steers_neither_terminal_nor_page(name: str) -> None:
    shown = words.visible(name)
    assert not any(ord(one) < 32 or 127 <= ord(one) < 160 for one in shown)
    assert not set(shown) & words._BIDI
    assert words.visible(shown) == shown


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_other_names_stay_as_they_are(name: str) -> None:
    assert words.visible(name) == name
