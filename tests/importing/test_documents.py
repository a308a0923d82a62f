"""The records of a JSON document come one by one, each with the line that it begins at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.importing.documents import Found, walk

LISTS = frozenset({"results", "relations"})
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-9, 9) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def told(text: str) -> list[tuple[int | None, Any]]:
    """(line, value of a record or text of a fault) in order."""
    return [
        (one.place.line, one.value if isinstance(one, Found) else str(one.error))
        for one in walk(text, LISTS)
    ]


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("", []),
        (" \n\t ", []),
        ('[{"a": 1},\n\n {"b": 2}]', [(1, {"a": 1}), (3, {"b": 2})]),
        ('{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('{"n": 2, "results": [1,\n2], "x": 3}', [(1, 1), (2, 2), (1, {"n": 2, "x": 3})]),
        ('{"results": [], "relations": [\n3]}', [(2, 3), (1, {})]),
        ('{"results": {"a": 1}}', [(1, {"results": {"a": 1}})]),
        ('{"x": {"results": [1]}}', [(1, {"x": {"results": [1]}})]),
    ],
)  # fmt: skip
def test_what_is_a_record(text: str, records: list[tuple[int, Any]]) -> None:
    assert told(text) == records


@pytest.mark.parametrize(
    ("text", "lines", "values"),
    [
        ('{"a": 1}\n{"a": \n{"a": 3}', [1, 2, 3], [{"a": 1}, {"a": 3}]),
        ('{\n  "a": 1,\n  "b":\n}\n', [4], []),
        ('{"a": 1}\n{oops}\n{"a": 3}', [1, 2, 3], [{"a": 1}, {"a": 3}]),
        ('{"a": 1}\n]\n{"b": NaN}\n{"a": 3}', [1, 2, 3, 4], [{"a": 1}, {"a": 3}]),
        ('[{"a": 1},\n{"b":},\n{"c": 1}]', [1, 2], [{"a": 1}]),
        ('[{"a": 1} {"b": 1}]', [1, 1], [{"a": 1}]),
        ('{"results": [1, 2', [1, 1, 1], [1, 2]),
        ("[" * 100_000, [1], []),
        ('{"a":' * 100_000, [1], []),
        ("1" * 5_000, [1], []),
        ('{"results": [' + "1" * 5_000 + "]}", [1, 1], [{}]),
        ('[{"a": 1},\n{"b": [-' + "7" * 5_000 + ']},\n{"c": 2}]', [1, 2, 3], [{"a": 1}, {"c": 2}]),
        ('{"n": ' + "1" * 5_000 + ',\n"m": 2,"results": [1]}', [1, 2, 1], [1, {"m": 2}]),
        ('{"a": ' + "1" * 5_000 + '}\n{"a": 2}', [1, 2], [{"a": 2}]),
    ],
)
def test_what_is_broken_is_told_by_its_line(text: str, lines: list[int], values: list[Any]) -> None:
    found = told(text)
    assert [line for line, _ in found] == lines
    assert [value for _, value in found if not str(value).startswith("it is no")] == values


@settings(max_examples=60)
@given(st.lists(PLAIN, max_size=6), st.sampled_from([None, 1, 4]))
def test_an_array_and_json_lines_hold_the_same(values: list[Any], indent: int | None) -> None:
    array = [value for _, value in told(json.dumps(values, indent=indent))]
    assert array == values
    # A bare list or an object of our lists is a document of its own, so each line is wrapped.
    lines = "".join(json.dumps({"it": value}) + "\n" for value in values)
    assert told(lines) == [(n, {"it": value}) for n, value in enumerate(values, start=1)]
