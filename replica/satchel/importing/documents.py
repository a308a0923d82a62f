"""The records of a JSON document with the lines they begin at: an array, an object, or JSON lines.

Records are read one by one, so that one that is broken is told by its line and the rest is read. In
JSON lines reading goes on with the next line; inside an array nothing behind a broken one can be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from satchel.errors import InvalidInput
from satchel.importing.records import Fault, Place

DIGITS_MAX = 640
"""Of a whole number; a longer one is a mistake, and Python need not read it."""
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Found:
    """A value, where it begins, and the name of the list that it stands in ("" for none)."""

    place: Place
    list_name: str
    value: Any


class _Broken(Exception):
    """What is there is no JSON; `at` is where, as a position in the text."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def load(raw: str | bytes) -> Any:
    """One JSON value. Raises InvalidInput."""
    try:
        return json.loads(raw, parse_constant=_no_constant, parse_int=_whole)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it is not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise InvalidInput("it is nested too deeply") from error
    except ValueError as error:
        raise InvalidInput(f"it is not JSON: {error}") from error


def walk(text: str, lists: Collection[str]) -> Iterator[Found | Fault]:
    """Every record of a document.

    Of an object that has one of these lists, the items of the lists are records, and what else it
    has comes last, as one value in the list `{}`; any other value is a record itself, and so is
    each item of an array.
    """
    return _Walk(text, frozenset(lists)).values()


class _Walk:
    def __init__(self, text: str, lists: frozenset[str]) -> None:
        self._text = text
        self._lists = lists
        self._decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder(
            parse_constant=_no_constant, parse_int=self._whole
        ).raw_decode
        self._absurd = 0
        self._line, self._counted = 1, 0
        self._in_list = False

    def values(self) -> Iterator[Found | Fault]:
        """Values one after the other, as in JSON lines; mostly there is one."""
        at = self._skip(0)
        while at < len(self._text):
            begins = at
            try:
                at = yield from self._value(at)
            except _Broken as broken:
                at = self._next_line(begins)
                rest = "; what is behind it cannot be read" if at < 0 else ""
                message = f"it is not JSON: {broken} (column {self._column(broken.at)}){rest}"
                where = broken.at if at < 0 else begins
                yield Fault(self._place(where), InvalidInput(message))
                if at < 0:
                    return
            at = self._skip(at)

    def _next_line(self, begins: int) -> int:
        """Behind a broken line of JSON lines: where the next one begins, or -1 for none.

        A line of something longer, that only looks so, begins with white space or a key.
        """
        at = self._text.find("\n", begins) + 1
        if at == 0:
            return len(self._text) if not self._in_list else -1
        alike = self._text[at : at + 1] in ("{", "[", "\r", "\n", "")
        return at if alike and not self._in_list else -1

    def _value(self, at: int) -> Generator[Found | Fault, None, int]:
        if self._text[at] == "[":
            return (yield from self._array(at, ""))
        if self._text[at] == "{" and self._has_list(at):
            return (yield from self._object(at))
        found, end = self._record(at, "")
        yield found
        return end

    def _has_list(self, at: int) -> bool:
        """Whether one of the lists is in this object, which is looked through for it."""
        at = self._skip(at + 1)
        while at < len(self._text) and self._text[at] == '"':
            key, at = self._read(at)
            at = self._after(at, ":")
            if key in self._lists and self._text.startswith("[", at):
                return True
            at = self._skip(self._read(at)[1])
            if not self._text.startswith(",", at):
                return False
            at = self._skip(at + 1)
        return False

    def _object(self, at: int) -> Generator[Found | Fault, None, int]:
        self._in_list = True
        rest: dict[str, Any] = {}
        place = self._place(at)
        at = self._skip(at + 1)
        while not self._text.startswith("}", at):
            key, at = self._read(at)
            if not isinstance(key, str):
                raise _Broken(at, "a key is not text")
            at = self._after(at, ":")
            if key in self._lists and self._text.startswith("[", at):
                at = yield from self._array(at, key)
            else:
                found, at = self._record(at, "{}")
                if isinstance(found, Fault):
                    yield found
                else:
                    rest[key] = found.value
            at = self._next(at, "}")
        self._in_list = False
        yield Found(place, "{}", rest)
        return at + 1

    def _array(self, at: int, name: str) -> Generator[Found | Fault, None, int]:
        outer, self._in_list = self._in_list, True
        at = self._skip(at + 1)
        while not self._text.startswith("]", at):
            found, at = self._record(at, name)
            yield found
            at = self._next(at, "]")
        self._in_list = outer
        return at + 1

    def _next(self, at: int, end: str) -> int:
        """Behind a comma, or at the end of the array or object."""
        at = self._skip(at)
        if self._text.startswith(end, at):
            return at
        return self._after(at, ",")

    def _after(self, at: int, mark: str) -> int:
        at = self._skip(at)
        if not self._text.startswith(mark, at):
            raise _Broken(at, f"`{mark}` is missing")
        return self._skip(at + 1)

    def _record(self, at: int, name: str) -> tuple[Found | Fault, int]:
        """The value that begins here, and where it ends.

        An absurd number in it is a fault of this one only: what is behind it can be read.
        """
        self._absurd = 0
        place = self._place(at)
        value, end = self._read(at)
        if self._absurd:
            return Fault(place, InvalidInput(f"it is no record: {_absurd(self._absurd)}")), end
        return Found(place, name, value), end

    def _whole(self, digits: str) -> int:
        if len(digits) <= DIGITS_MAX:
            return int(digits)
        self._absurd = len(digits)
        return 0

    def _read(self, at: int) -> tuple[Any, int]:
        try:
            return self._decode(self._text, at)
        except json.JSONDecodeError as error:
            raise _Broken(error.pos, error.msg) from error
        except StopIteration as error:
            raise _Broken(at, "a value is missing") from error
        except RecursionError as error:
            raise _Broken(at, "it is nested too deeply") from error
        except ValueError as error:
            raise _Broken(at, str(error)) from error

    def _column(self, at: int) -> int:
        return at - self._text.rfind("\n", 0, at)

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _place(self, at: int) -> Place:
        """The line of a position; positions mostly come in order, so none is counted twice."""
        if at < self._counted:
            return Place(line=self._text.count("\n", 0, at) + 1)
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return Place(line=self._line)


def _whole(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise ValueError(_absurd(len(digits)))
    return int(digits)


def _absurd(digits: int) -> str:
    return f"a number in it has {digits} digits, more than {DIGITS_MAX}"


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
