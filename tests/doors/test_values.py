"""Values at the door: what is accepted, and how each refusal names its field."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import InvalidInput
from satchel.tools.answer import iso, jsonable
from satchel.tools.kinds import Range
from satchel.tools.parameter import Parameter
from satchel.tools.values import load_json, parse

TEXT = Parameter(name="p", base="text", long=True)
NAME = Parameter(name="p", base="text")
CHOICE = Parameter(name="p", base="text", choices=("memory", "chatlog"))
INTEGER = Parameter(name="p", base="integer", range=Range(1, 10))
NUMBER = Parameter(name="p", base="number", range=Range(0, 1))
FLAG = Parameter(name="p", base="boolean")
TIME = Parameter(name="p", base="time")
OBJECT = Parameter(name="p", base="object")
MANY = Parameter(name="p", base="text", many=True)


@pytest.mark.parametrize(
    ("parameter", "value", "word"),
    [
        (TEXT, 5, "text"),
        (TEXT, None, "null"),
        (TEXT, "a\0b", "position 1"),
        (TEXT, "ab\ud800", "position 2"),
        (TEXT, "é" * 600_000, "bytes"),
        (NAME, "x" * 1001, "characters"),
        (CHOICE, "memry", "memory, chatlog"),
        (INTEGER, "5", "integer"),
        (INTEGER, 5.5, "integer"),
        (INTEGER, True, "integer"),
        (INTEGER, 0, "1..10"),
        (INTEGER, 10**30, "64 bits"),
        (NUMBER, "0.5", "number"),
        (NUMBER, 1.5, "0..1"),
        (NUMBER, float("nan"), "finite"),
        (FLAG, "true", "true or false"),
        (FLAG, 1, "true or false"),
        (TIME, 5, "ISO-8601"),
        (TIME, "yesterday", "ISO-8601"),
        (TIME, "2026-13-01", "ISO-8601"),
        (OBJECT, [], "object"),
        (OBJECT, "{", "line 1, column 2"),
        (OBJECT, '{"a": NaN}', "NaN"),
        (OBJECT, '{"a": 1, "a": 2}', "twice"),
        (OBJECT, {"a": ["\0"]}, "NUL"),
        (OBJECT, {"a": {"\ud800": 1}}, "surrogate"),
        (OBJECT, {"a": float("inf")}, "JSON"),
        (MANY, "a", "list"),
        (MANY, ["a", 5], "text"),
        (MANY, ["a"] * 1001, "items"),
    ],
)
def test_refused_by_name(parameter: Parameter, value: Any, word: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse(parameter, value, from_text=False)

    assert caught.value.field == "p"
    assert word in str(caught.value)


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [
        (INTEGER, "5", 5),
        (NUMBER, "0.5", 0.5),
        (OBJECT, '{"a": 1}', {"a": 1}),
        (TEXT, "5", "5"),
        (MANY, ["5"], ["5"]),
    ],
)
def test_what_a_shell_types_is_read(parameter: Parameter, value: Any, expected: Any) -> None:
    assert parse(parameter, value, from_text=True) == expected


@pytest.mark.parametrize("value", ["", "x", "5.5", "1" * 40])
def test_what_is_no_integer_in_a_shell(value: str) -> None:
    with pytest.raises(InvalidInput):
        parse(INTEGER, value, from_text=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-11-29T18:24:00.123456Z", 1795976640123),
    ],
)
def test_times_become_milliseconds(text: str, expected: int) -> None:
    assert parse(TIME, text, from_text=False) == expected


def test_a_time_without_offset_is_of_this_machine() -> None:
    local = datetime(2026, 7, 1, 12).astimezone()

    assert parse(TIME, "2026-07-01T12:00", from_text=False) == int(local.timestamp() * 1000)


@given(st.integers(min_value=-62_135_596_800_000, max_value=253_402_300_799_999))
def test_a_time_comes_back_as_it_went_out(time_ms: int) -> None:
    assert parse(TIME, iso(time_ms), from_text=False) == time_ms


@given(st.text(alphabet=st.characters() | st.sampled_from("\0\ud800\udfff")))
def test_any_text_is_taken_whole_or_refused_with_a_position(text: str) -> None:
    bad = [n for n, one in enumerate(text) if one == "\0" or "\ud800" <= one <= "\udfff"]
    if not bad:
        assert parse(TEXT, text, from_text=False) == text
        return
    with pytest.raises(InvalidInput, match=f"position {bad[0]}"):
        parse(TEXT, text, from_text=False)


def test_deep_json_is_refused() -> None:
    with pytest.raises(InvalidInput, match="deep"):
        load_json("p", "[" * 100_000)


def test_rows_are_shown_with_times_and_json() -> None:
    row = {
        "recorded_at": 0,
        "metadata": '{"at": 5}',
        "aliases": '["1", "b"]',
        "changes": {"valid_to": [None, 0], "title": ["1", "2"]},
        "count": 5,
        "vector": b"\x01",
    }

    assert jsonable(row) == {
        "recorded_at": "1970-01-01T00:00:00.000+00:00",
        "metadata": {"at": 5},
        "aliases": ["1", "b"],
        "changes": {"valid_to": [None, "1970-01-01T00:00:00.000+00:00"], "title": ["1", "2"]},
        "count": 5,
        "vector": "01",
    }
