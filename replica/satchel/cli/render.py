"""Answers for people: tables and lines at a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

LISTS = ("hits", "items", "turns", "conversations", "checks", "edges", "nodes", "settings", "tree")
"""Keys whose list of objects is shown as a table."""
_COLUMNS = {
    "hits": (
        *("score", "kind", "type", "title", "snippet", "explain", "space", "agent_id", "host"),
        *("recorded_at", "id"),
    ),
    "checks": ("ok", "name", "found", "why", "fix"),
    "settings": ("setting", "value", "origin", "help"),
}
_OF_ROWS = {
    "problem": ("backup", "made_at", "reason", "memories"),
    "becoming": ("name", "in_use", "becoming", "embedded", "usable"),
}
"""Of rows with this key (backups, models) the columns a person needs; commands take the first."""
_WRONG = {"problem": "problem", "becoming": "reason"}
"""Of the same rows the key that tells what is wrong with one: whole lines, under the table."""
_LAST = ("id",)
_SKIPPED = frozenset({"content_hash", "lineage", "digest", "hlc", "life", "origin", "extra"})
_CELL_CHARS_MAX = 200
_VERSION = re.compile(r"[0-9a-f]{80}")
"""A row's version: too wide for a table, and its end tells two of them apart."""
_COLUMNS_MAX = 9
_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red", "score": "cyan"}


def render(console: Console, answer: Any) -> None:
    """Print an answer: its lists as tables, its other keys as lines."""
    if not isinstance(answer, Mapping):
        if _is_rows(answer):
            _rows(console, "", answer)
        else:
            console.print(_cell("", answer))
        return
    answer = {key: _rows_of(key, _counts(key, value)) for key, value in answer.items()}
    plain = {key: value for key, value in answer.items() if not _is_rows(value)}
    for key, value in answer.items():
        if _is_rows(value):
            _rows(console, key, value)
        elif key in LISTS and not value:
            console.print(Text(f"no {key}", style="dim"))
    _lines(console, {k: v for k, v in plain.items() if k not in LISTS and not _empty(v)})


def _rows(console: Console, key: str, rows: list[Mapping[str, Any]]) -> None:
    """The rows as a table, and under it what is wrong with which, whole, to be read and copied."""
    kind, below = _kind(rows), []
    if kind == "problem":
        below.append(("in", Path(str(rows[0]["backup"])).parent))
        rows = [{**row, "backup": Path(str(row["backup"])).name} for row in rows]
    if kind:
        first, wrong = _OF_ROWS[kind][0], _WRONG[kind]
        below += [(row[first], row[wrong]) for row in rows if row[wrong]]
    console.print(_table(key, rows, console.width))
    for name, told in below:
        console.print(Text.assemble((f"{name}  ", "dim"), str(told)), soft_wrap=True)


def _kind(rows: list[Mapping[str, Any]]) -> str:
    """The key that tells what rows these are, where their columns are named."""
    return next((key for key in _OF_ROWS if key in rows[0]), "")


def _counts(key: str, value: Any) -> Any:
    """Of what a search dropped how many; which rows these were is for programs."""
    if key != "dropped" or not isinstance(value, Mapping):
        return value
    return {name: number for name, number in value.items() if name != "rows"}


def _rows_of(key: str, value: Any) -> Any:
    """An object of objects as the rows of a table; those that say nothing are left out."""
    if not isinstance(value, Mapping) or not value:
        return value
    if not all(isinstance(one, Mapping) for one in value.values()):
        return value
    return [{key: name, **row} for name, row in value.items() if any(row.values())]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _table(key: str, rows: list[Mapping[str, Any]], width: int) -> Table:
    columns = _columns(key, rows)
    table = Table(box=None, header_style="bold", pad_edge=False)
    copied = _OF_ROWS.get(_kind(rows), ("",))[0]
    # Where it is not wider than half the terminal: of a wider one the end would be cut off.
    whole = max(len(str(row.get(copied, ""))) for row in rows) * 2 <= width
    for column in columns:
        no_wrap = column in _LAST or (column == copied and whole)
        table.add_column(column, overflow="fold", no_wrap=no_wrap)
    for row in rows:
        table.add_row(*(_cell(column, row.get(column)) for column in columns))
    return table


def _columns(key: str, rows: list[Mapping[str, Any]]) -> list[str]:
    """The columns that say something: known ones, else the first that are filled."""
    filled = [name for row in rows for name in row if not _empty(row[name])]
    seen = [name for name in dict.fromkeys(filled) if name not in _SKIPPED]
    if known := _COLUMNS.get(key) or _OF_ROWS.get(_kind(rows)):
        return [name for name in known if name in seen]
    first = [name for name in seen if name not in _LAST][:_COLUMNS_MAX]
    return [*first, *(name for name in _LAST if name in seen)]


def _lines(console: Console, values: Mapping[str, Any]) -> None:
    width = max((len(key) for key in values), default=0)
    for key, value in values.items():
        console.print(Text.assemble((f"{key:<{width}}  ", "dim"), _cell(key, value, None)))


def _cell(key: str, value: Any, chars_max: int | None = _CELL_CHARS_MAX) -> Text:
    text = _words(value)
    if chars_max and len(text) > chars_max:
        text = text[: chars_max - 1] + "…"
    if chars_max and (key in _LAST or _VERSION.fullmatch(text)):
        text = text[-8:]
    return Text(text, style=_STYLES.get(str(value), _STYLES.get(key, "")))


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_words(item)}" for key, item in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(_words(item) for item in value)
    return local_time(str(value))


def local_time(text: str) -> str:
    """A time of an answer in this machine's zone; other text as it is."""
    if len(text) != len("2026-11-29T18:24:00.000+00:00") or text[10] != "T":
        return text
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return text


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], {})
