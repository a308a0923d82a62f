"""The doctor's checks at a terminal: a line each, below what is not well why, and how to mend it.

Colour only repeats what the words say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from satchel.doctor import Check

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_BELOW = ("why", "fix", "fixed")


def show(console: Console, checks: Sequence[Check]) -> None:
    """Print them and a last line that sums up."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("check", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in checks:
        table.add_row(Text(check.ok, style=_STYLES[check.ok]), check.name, _words(check))
    console.print(table)
    console.print(_sum(checks))


def _words(check: Check) -> Text:
    """What was found, a line for each part of a long one; what there is to do stands out."""
    text = Text(check.brief or check.found.replace("; ", "\n"))
    for key in _BELOW:
        if said := getattr(check, key):
            text.append(f"\n{key}: ", style="dim" if key == "why" else "bold")
            text.append(said)
    return text


def _sum(checks: Sequence[Check]) -> Text:
    bad = {verdict: sum(one.ok == verdict for one in checks) for verdict in ("fail", "warn")}
    if not any(bad.values()):
        return Text(f"{len(checks)} checks: all is well", style=_STYLES["ok"])
    said = [f"{bad['fail']} failed"] if bad["fail"] else []
    said += [f"{bad['warn']} to look at"] if bad["warn"] else []
    text = f"{len(checks)} checks: {', '.join(said)}"
    if any(one.fixable and one.ok != "ok" for one in checks):
        text += "; `satchel doctor --fix` can mend some of it"
    return Text(text, style=_STYLES["fail" if bad["fail"] else "warn"])
