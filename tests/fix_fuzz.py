"""What a stranger may send: good bytes that were changed, documents with odd values, and noise."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

EXAMPLES = settings(max_examples=120, deadline=None)
FEW = settings(max_examples=50, deadline=None)
MEGABYTE = 1024 * 1024
SECONDS_MAX = 5.0
"""Far more than any of these takes, far less than a hang: the machine may be busy."""

ODD_NUMBERS = [0, -1, 1, 2, 255, 256, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
               -(2**63), 10**30, 10**4000]  # fmt: skip
ODD_TEXTS = ["", " ", "\0", "\ud800", "a" * 70_000, "é" * 100, "0" * 32, "0" * 64, "g" * 32, "=",
             "====", "AAAA", "-1", "1e999", "null", "../../x", "\u202e", "٣" * 32]  # fmt: skip
ODD_VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.floats(),
    st.sampled_from(ODD_TEXTS),
    st.text(max_size=30),
    st.just([]),
    st.just({}),
    st.just([[[[[[]]]]]]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)
NOISE = st.one_of(st.binary(max_size=400), st.text(max_size=200).map(str.encode))


@contextmanager
def bounded(data: bytes, bytes_max: int = 20 * MEGABYTE, times: int = 12) -> Iterator[None]:
    """Fails where what happens inside allocates more than that and so many times the data.

    `bytes_max` is above the limit that each parser reads a file up to.
    """
    tracemalloc.start()
    started = time.monotonic()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= bytes_max + times * len(data), f"{peak} bytes for {len(data)}"
    assert time.monotonic() - started < SECONDS_MAX


def refused(
    parse: Callable[[bytes], object], data: bytes, *errors: type[Exception], times: int = 12
) -> Exception | None:
    """The typed error that `data` brings, or None where it is taken. Anything else is a fault."""
    with bounded(data, times=times):
        try:
            parse(data)
        except errors as error:
            require_told(error)
            return error
    return None


def require_told(error: Exception) -> None:
    """Every error has a code, and words that can be printed and are not endless."""
    assert isinstance(error.code, str)  # type: ignore[attr-defined]
    words = f"{error} {error.hint}"  # type: ignore[attr-defined]
    assert words.strip()
    words.encode("utf-8")
    assert len(words) < 3000, words[:300]


# ---- bytes --------------------------------------------------------------------------------------


@st.composite
def changed(draw: st.DrawFn, good: bytes, tokens: tuple[bytes, ...] = ()) -> bytes:
    """`good` after one to four changes."""
    data = good
    pieces = st.sampled_from(tokens) | st.binary(max_size=8) if tokens else st.binary(max_size=8)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        to = min(len(data), at + draw(st.sampled_from([0, 1, 1, 2, 4, 16, 1000])))
        new = draw(st.one_of(
            st.just(b""),
            pieces,
            st.binary(min_size=to - at, max_size=to - at) if to - at <= 64 else st.just(b""),
            st.just(data[at:to] * 2),
            st.just(bytes(data[at:to][::-1])),
            st.sampled_from([b"\0" * 4, b"\xff" * 4, b"\x7f" + b"\xff" * 7, b"9" * 40]),
        ))  # fmt: skip
        data = data[:at] + new + data[to:]
    return data


def cuts(good: bytes) -> list[bytes]:
    """Every beginning of it, or of a long one some hundreds."""
    step = max(1, len(good) // 300)
    return [good[:length] for length in range(0, len(good), step)]


# ---- documents ----------------------------------------------------------------------------------


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of a document."""
    found = [path]
    if isinstance(document, dict):
        items: list[tuple[Any, Any]] = list(document.items())
    else:
        items = list(enumerate(document)) if isinstance(document, list) else []
    for key, value in items:
        found += places(value, (*path, key))
    return found


def with_value(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with another value at a path."""
    made = deepcopy(document)
    parent = made
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = deepcopy(value)
    return made


@st.composite
def odd_documents(draw: st.DrawFn, good: Any) -> Any:
    """`good` after one to three changes: a value is odd, gone, doubled, or one too many."""
    document = deepcopy(good)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        if not path:
            continue
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        key = path[-1]
        match draw(st.sampled_from(["odd", "odd", "odd", "gone", "more", "twice"])):
            case "odd":
                parent[key] = deepcopy(draw(ODD_VALUES))
            case "gone":
                del parent[key]
            case "more" if isinstance(parent, dict):
                parent[draw(st.text(max_size=8))] = deepcopy(draw(ODD_VALUES))
            case _ if isinstance(parent, list):
                parent.append(deepcopy(parent[key]))
            case _:
                parent[key] = [parent[key]]
    return document


def as_json(document: Any) -> bytes:
    """As a stranger may write it: lone surrogates, NaN and long numbers included."""
    return json.dumps(document, ensure_ascii=True).encode()


HOSTILE_JSON = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"{",
    b'{"a": 1, "a": 2}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"a": ' + b"9" * 5_000 + b"}",
    b'{"a": 1e999999}',
    b'{"a": NaN}',
    b'{"a": -Infinity}',
    b'{"a": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'\xff\xfe{\0"\0a\0"\0:\x001\0}\0',
    b"\xef\xbb\xbf{}",
    b"\xff\xff\xff\xff",
    b'{"a": "' + b"x" * MEGABYTE + b'"}',
    b"[" + b"0," * 50_000 + b"0]",
]
