"""A report as tables for a terminal; in a pipe they are as wide as they need to be."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from satchel.terminal import is_terminal
from satchel.warehouse import reports

ROWS_MAX = 40
"""Of a section; the other formats have all."""
PIPE_COLUMNS = 200


def show_tables(found: Any, *, no_color: bool | None = None) -> None:
    """Print the figures and each section on stdout."""
    wide = None if is_terminal(sys.stdout) else PIPE_COLUMNS
    console = Console(width=wide, no_color=no_color, highlight=False)
    scope = found.scope
    console.print(Text(f"{found.report.title}  {scope.since} to {scope.until}", style="bold"))
    if found.tenants:
        console.print(Text(reports.whose(found), style="dim"))
    figures = Table(box=None, show_header=False, pad_edge=False)
    for label, value, note in reports.figures(found):
        figures.add_row(Text(label), Text(value, style="bold"), Text(note, style="dim"))
    console.print(figures)
    for one in reports.tables(found, ROWS_MAX):
        console.print()
        console.print(Text(one["title"], style="bold"))
        console.print(Text(one["said"]))
        if one["rows"]:
            console.print(_table(one["columns"], one["numbers"], one["rows"]))
        if one["left_out"]:
            rest = "earlier rows" if one["latest"] else "rows more"
            console.print(Text(f"… and {one['left_out']} {rest}", style="dim"))


def show_described(told: dict[str, Any], *, no_color: bool | None = None) -> None:
    """Print what is in a report, with the SQL whole: it is there to be copied."""
    console = Console(no_color=no_color, highlight=False, soft_wrap=True)
    console.print(Text(f"{told['name']}  {told['title']}", style="bold"))
    console.print(Text(told["answers"]))
    for section in told["sections"]:
        console.print()
        console.print(Text(f"{section['name']}  {section['title']}", style="bold"))
        console.print(Text(", ".join(section["columns"]), style="dim"))
        console.print(Text(section["query"]))


def _table(columns: list[str], numbers: list[bool], rows: list[list[str]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column, number in zip(columns, numbers, strict=True):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
