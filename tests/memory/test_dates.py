"""Dates in questions: what they name, and how near a row is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.memory.search.dates import DAY_MS, MENTIONS_MAX, Span, mentioned

NOW = datetime(2026, 11, 29, 15, 30, tzinfo=UTC)  # a Sunday
NOW_MS = int(NOW.timestamp() * 1000)


def spans(text: str) -> list[tuple[str, int]]:
    return [(str(span.start), span.days) for span in mentioned(text, NOW_MS)]


@pytest.mark.parametrize(
    ("text", "start", "days"),
    [
        ("what did she say on 8 May, 2023?", "2023-05-08", 1),
        ("May 8th 2023", "2023-05-08", 1),
        ("the 8th of may 2023", "2023-05-08", 1),
        ("May 8", "2026-05-08", 1),
        ("on December 24", "2025-12-24", 1),
        ("Sept. 5", "2026-09-05", 1),
        ("2023-05-07", "2023-05-07", 1),
        ("2023-05", "2023-05-01", 31),
        ("2023年5月7日に", "2023-05-07", 1),
        ("2024年2月", "2024-02-01", 29),
        ("25/5/2023", "2023-05-25", 1),
        ("25.5.2023", "2023-05-25", 1),
        ("7/7/2023", "2023-07-07", 1),
        ("in May", "2026-05-01", 31),
        ("in may 2024", "2024-05-01", 31),
        ("last May", "2026-05-01", 31),
        ("last November", "2025-11-01", 30),
        ("in November", "2026-11-01", 30),
        ("next March", "2027-03-01", 31),
        ("during last December", "2025-12-01", 31),
        ("February 2024", "2024-02-01", 29),
        ("today", "2026-11-29", 1),
        ("this morning", "2026-11-29", 1),
        ("YESTERDAY", "2026-11-28", 1),
        ("last night", "2026-11-28", 1),
        ("the day before yesterday", "2026-11-27", 1),
        ("tomorrow", "2026-11-30", 1),
        ("last week", "2026-11-16", 7),
        ("this week", "2026-11-23", 7),
        ("next week", "2026-11-30", 7),
        ("this weekend", "2026-11-28", 2),
        ("last weekend", "2026-11-21", 2),
        ("last month", "2026-10-01", 31),
        ("last year", "2025-01-01", 365),
        ("two days ago", "2026-11-27", 1),
        ("a couple of days ago", "2026-11-27", 1),
        ("3 weeks ago", "2026-11-02", 7),
        ("two months ago", "2026-09-01", 30),
        ("a year ago", "2025-01-01", 365),
        ("in 3 days", "2026-12-02", 1),
        ("in two weeks", "2026-12-07", 7),
        ("the past 3 weeks", "2026-11-08", 22),
        ("over the last ten days", "2026-11-19", 11),
        ("last Monday", "2026-11-23", 1),
        ("on Sunday", "2026-11-22", 1),
        ("next friday", "2026-12-04", 1),
        ("3 days before May 7, 2023", "2023-05-04", 1),
        ("a week after 2023-05-07", "2023-05-14", 1),
        ("one month before yesterday", "2026-10-28", 1),
        ("2 days after the 25th of December 2025", "2025-12-27", 1),
        ("a year before May 2024", "2023-05-01", 31),
        ("summer 2023", "2023-06-01", 92),
        ("last summer", "2026-06-01", 92),
        ("winter of 2025", "2025-12-01", 90),
        ("Q3 2025", "2025-07-01", 92),
        ("in 2022", "2022-01-01", 365),
        ("what happened in 2024?", "2024-01-01", 366),
    ],
)
def test_a_date_is_read(text: str, start: str, days: int) -> None:
    assert spans(text) == [(start, days)]


@pytest.mark.parametrize(
    "text",
    [
        "May I ask",
        "I may go",
        "five apples",
        "the march of progress",
        "version 2.2022",
        "build 20221105",
        "2023-13-45",
        "room 2022/3",
        "in the morning",
        "last but not least",
        "on Mondayish",
        "10:30",
        "$2023",
        "year 0000-01-01",
        "as of late",
        "the second of these",
    ],
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert spans(text) == []


def test_figures_in_either_order_are_both_meant() -> None:
    assert spans("7/5/2023") == [("2023-05-07", 1), ("2023-07-05", 1)]


def test_dates_come_in_the_order_of_the_text_and_each_once() -> None:
    text = "from 2023-05-07 to May 9, 2023 or again on 2023-05-07, and last week"
    assert spans(text) == [("2023-05-07", 1), ("2023-05-09", 1), ("2026-11-16", 7)]
    many = " ".join(f"2023-05-{day:02}" for day in range(1, 29))
    assert len(mentioned(many, NOW_MS)) == MENTIONS_MAX


@given(st.text(max_size=200), st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_no_text_is_an_error(text: str, now_ms: int) -> None:
    for span in mentioned(text, now_ms):
        assert span.start < span.end


WORDS = st.sampled_from(
    [
        *("last", "next", "3", "12", "99", "two", "days", "weeks", "months", "years", "ago", "in"),
        *("before", "after", "may", "2023", "31", "february", "q4", "2023-02-31", "summer"),
        *("friday", "9999", "0001", "yesterday", "of", "the", "1/1/1", "年"),
    ]
)


@given(st.lists(WORDS, max_size=12), st.dates())
def test_no_words_of_time_are_an_error(words: list[str], today: date) -> None:
    now = datetime(today.year, today.month, today.day, tzinfo=UTC)
    for span in mentioned(" ".join(words), int(now.timestamp() * 1000)):
        assert span.start < span.end


def at_ms(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY_MS + DAY_MS // 2


@pytest.mark.parametrize(
    ("days_after", "expected"),
    [
        *((-32, 0.0), (-31, 0.3), (-3, 0.3), (-2, 0.6), (-1, 0.6), (0, 1.0)),
        *((3, 1.0), (4, 0.6), (14, 0.6), (15, 0.3), (31, 0.3), (32, 0.0)),
    ],
)
def test_near_a_day(days_after: int, expected: float) -> None:
    day = date(2023, 5, 8)
    span = Span(day, day + timedelta(days=1))
    assert span.nearness(at_ms(day + timedelta(days=days_after))) == expected


def test_near_a_month_and_a_year() -> None:
    (may,) = mentioned("May 2023", NOW_MS)
    for day, expected in [
        (date(2023, 5, 1), 1.0),
        (date(2023, 5, 31), 1.0),
        (date(2023, 6, 30), 0.4),
        (date(2023, 7, 2), 0.0),
        (date(2023, 4, 30), 0.0),
    ]:
        assert may.nearness(at_ms(day)) == expected
    (year,) = mentioned("in 2023", NOW_MS)
    assert [year.nearness(at_ms(date(y, 6, 1))) for y in (2022, 2023, 2024)] == [0.0, 0.3, 0.0]


@given(st.dates(date(2, 1, 1), date(9990, 1, 1)), st.integers(1, 400), st.integers(-800, 800))
def test_nearness_is_a_share(start: date, days: int, away: int) -> None:
    try:
        span = Span(start, start + timedelta(days=days))
        day = start + timedelta(days=away)
    except OverflowError:
        return
    found = span.nearness(at_ms(day))
    assert 0 <= found <= 1
    if 0 <= away < days:
        assert found > 0


@pytest.mark.parametrize(
    "one", ["2023-05-08 ", "8 May 2023, ", "3 days before May 7 ", "last week "]
)
def test_a_text_full_of_dates_is_read_to_its_end(one: str) -> None:
    """As long as a question may be; work that grew with the square would hit the test's timeout."""
    found = mentioned(one * (200_000 // len(one)), NOW_MS)
    assert found[: len(mentioned(one, NOW_MS))] == mentioned(one, NOW_MS)
    assert len(found) <= MENTIONS_MAX
