"""The block of YAML at the head of a Markdown file, and its values as JSON has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import yaml

from satchel.errors import InvalidInput

BYTES_MAX = 64 * 1024
_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)(?:\r?\n|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", re.S)


class _Loader(yaml.SafeLoader):
    """Plain values only, and none twice: a few aliases of aliases stand for a world of memory."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node. Raises ComposerError for an alias."""
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.composer.ComposerError(problem="an alias is not taken here")
        return super().compose_node(parent, index)


def split(text: str) -> tuple[dict[str, Any], str]:
    """(the values of the block, the text behind it); a text without such a block is all text.

    Raises InvalidInput, with the line, for a block that is no YAML.
    """
    block = _BLOCK.match(text)
    if block is None:
        return {}, text
    if len(block[1]) > BYTES_MAX:
        raise InvalidInput(f"the front matter is longer than {BYTES_MAX} characters")
    try:
        found = yaml.load(block[1], Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 2} of the file)" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be read"
        raise InvalidInput(f"the front matter is no YAML{where}: {problem}") from error
    except (ValueError, RecursionError, OverflowError) as error:
        raise InvalidInput(f"the front matter cannot be read: {error}") from error
    if not isinstance(found, Mapping):
        return ({}, text[block.end() :]) if found is None else ({}, text)
    return {str(plain(key)): plain(value) for key, value in found.items()}, text[block.end() :]


def plain(value: Any) -> Any:
    """A value of YAML as JSON has it: dates as ISO-8601 text, sets as lists, bytes as text."""
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(one) for one in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    return value


def dump(values: Mapping[str, Any]) -> str:
    """The block of these values, in their order, as `split` reads it."""
    body = yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False, width=10_000)
    return f"---\n{body}---\n"
