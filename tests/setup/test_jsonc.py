"""JSON with comments edited in its text: only what is asked for changes, and it can be undone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel.setup import jsonc
from satchel.setup.errors import Malformed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
COMMENTS = st.sampled_from(["", "", "", " // t, }", "  /* b, */", "\t//"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    """An object, and a text that says it: some indent, some line ends, comments here and there."""
    value = draw(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
    if indent is not None:
        lines = [line + draw(COMMENTS) for line in text.split("\n")]
        if draw(st.booleans()):
            lines.insert(draw(st.integers(0, len(lines))), '  // c "x": {')
        text = newline.join(lines)
    return value, text + draw(st.sampled_from(["", newline]))


@given(document=documents(), key=st.text(min_size=1, max_size=3), put=VALUES, deep=st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_is_put_is_there_and_taken_away_leaves_the_text(
    document: tuple[dict[str, Any], str], key: str, put: Any, deep: bool
) -> None:
    value, text = document
    if key in value:
        return
    path = (key, "satchel") if deep else (key,)
    with_it = jsonc.put(text, path, put)
    assert jsonc.value_of(with_it) == {**value, key: {"satchel": put} if deep else put}
    assert jsonc.put(with_it, path, put) == with_it
    without = jsonc.drop(with_it, (key,))
    assert jsonc.value_of(without) == value
    if value:
        assert without == text


@given(document=documents(), put=VALUES)
@settings(max_examples=100, deadline=None)
def test_each_place_can_be_replaced_and_dropped(
    document: tuple[dict[str, Any], str], put: Any
) -> None:
    value, text = document
    for key, held in value.items():
        others = {name: one for name, one in value.items() if name != key}
        assert jsonc.value_of(jsonc.drop(text, (key,))) == others
        assert jsonc.value_of(jsonc.put(text, (key,), put)) == {**value, key: put}
        if isinstance(held, list):
            longer = jsonc.append(text, (key,), put)
            assert jsonc.value_of(longer) == {**value, key: [*held, put]}
            assert jsonc.value_of(jsonc.drop(longer, (key, len(held)))) == value
            for n in range(len(held)):
                left = {**value, key: held[:n] + held[n + 1 :]}
                assert jsonc.value_of(jsonc.drop(text, (key, n))) == left


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "m": {\n    "s": 1\n  }\n}\n'),
        ('{"a": 1}', '{"a": 1, "m": {"s": 1}}'),
        ('{\n\t"a": 1, // x\n}\n', '{\n\t"a": 1, // x\n\t"m": {\n\t\t"s": 1\n\t},\n}\n'),
        (
            '{\n  "m": {\n    "x": 2 // keep\n    // and this\n  }\n}',
            '{\n  "m": {\n    "x": 2, // keep\n    // and this\n    "s": 1\n  }\n}',
        ),
        ("// all\n{\n  // none\n}", '// all\n{\n  // none\n  "m": {\n    "s": 1\n  }\n}'),
        ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "m": {\r\n  "s": 1\r\n }\r\n}'),
    ],
)
def test_the_form_of_the_text_is_kept(before: str, after: str) -> None:
    assert jsonc.put(before, ("m", "s"), 1) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: a key"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or }"),
        ('{"a": }', "no JSON value"),
        ('{"a": 1}}', "behind its end"),
        ('{"a": 1, "a": 2}', "twice"),
        ("{'a': 1}", "a key"),
        ('{"a": "\n"}', "no JSON value"),
        ('{"a": 01}', "comma"),
        ('{"a": NaN}', "no JSON value"),
        ('{"a": /* open', "no JSON value"),
        ("[" * 5_000, "nested deeper"),
        ("nothing", "no JSON value"),
        ("[1, 2]", "the whole of it is not an object"),
        ('{"m": []}', "m is not an object"),
        ('{"m": null}', "m is not an object"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        jsonc.put(text, ("m", "s"), 1)


def test_an_item_needs_an_array() -> None:
    with pytest.raises(Malformed, match="not an array"):
        jsonc.append('{"m": {}}', ("m",), 1)
