"""docs/BENCHMARKS.md: every benchmark writes its own section, the others stay as they are."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.measure import load, machine

PAGE = Path(__file__).parents[1] / "docs" / "BENCHMARKS.md"


@dataclass
class Section:
    """What one benchmark found: how it was measured, a table, remarks, raw numbers by name."""

    name: str
    title: str
    method: str
    columns: Sequence[str]
    rows: list[Sequence[object]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    raw: dict[str, str] = field(default_factory=dict)
    load_before: str = field(default_factory=load)

    def add(self, *cells: object) -> None:
        """One line of the table."""
        self.rows.append(cells)

    def text(self) -> str:
        """The section in Markdown."""
        lines = [f"## {self.title}", "", " ".join(self.method.split()), "", self._taken(), ""]
        for cells in (self.columns, ["---"] * len(self.columns), *self.rows):
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines += ["", *(f"- {remark}" for remark in self.remarks)]
        if self.raw:
            lines += ["", "Raw numbers (ms, in order):", ""]
            lines += [f"- {name}: {numbers}" for name, numbers in self.raw.items()]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def write(self) -> None:
        """Put the section in its place on the page, or at the end."""
        begin, end = f"<!-- begin {self.name} -->", f"<!-- end {self.name} -->"
        whole = f"{begin}\n\n{self.text()}\n\n{end}"
        page = PAGE.read_text("utf-8")
        held = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        found = held.search(page)
        text = held.sub(lambda _: whole, page) if found else f"{page.rstrip()}\n\n{whole}\n"
        PAGE.write_text(text, "utf-8")
        print(f"\n{self.text()}\n")

    def _taken(self) -> str:
        day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        return f"Taken {day}, load {self.load_before} before and {load()} after. {machine()}."
