"""Lengths of time: what can be typed, what cannot, and that they are spelled back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import duration
from satchel.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10), ("30s", 30), ("15m", 900), ("1h", 3600), ("2h30m", 9000), ("1d", 86_400),
        (" 1h ", 3600), ("90m", 5400), ("1d2h3m4s", 93_784), ("31d", 31 * 86_400), ("0h10s", 10),
    ],
)  # fmt: skip
def test_what_can_be_typed(text: str, seconds: int) -> None:
    assert duration.seconds(text, field="every") == seconds


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "h", "60", "1.5h", "-1h", "+1h", "1 h", "1h 30m", "30m1h", "1h1h", "1H", "1w",
        "٣h", "１h", "one hour", "1h\n30m", "1h\0", "inf", "nan", "1e3s", "9" * 5000 + "s", "0x10s",
    ],
)  # fmt: skip
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"no length of time") as raised:
        duration.seconds(text, field="every")
    assert (raised.value.field, raised.value.exit_code) == ("every", 2)
    assert "2h30m" in raised.value.hint
    assert len(str(raised.value)) < 250


@pytest.mark.parametrize("text", ["0s", "9s", "0d", "31d1s", "745h", "999999999d"])
def test_what_is_out_of_range(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"out of range") as raised:
        duration.seconds(text, field="every")
    assert raised.value.hint == "give something from 10s to 31d"


@given(st.integers(duration.EVERY_S_MIN, duration.EVERY_S_MAX))
def test_what_is_spelled_is_read_back(seconds: int) -> None:
    assert duration.seconds(duration.spelled(seconds), field="every") == seconds
