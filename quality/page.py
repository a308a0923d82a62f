"""docs/QUALITY.md: each set has a section, the ablation one more; what was not run stays."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from quality.metrics import mean, rows
from quality.question import Found, QualitySet
from quality.results import Run

HEAD = """# Quality

How well search finds what answers a question. `make quality` measures it and writes this page,
section by section; [quality](../quality/README.md) tells how, and what each score means. All
numbers are per cent. Whatever is measured goes through the tools that the command line and MCP
call, and every question asks for ten hits.
"""


def section_of(one: QualitySet, answers: Sequence[Found], run: Run) -> str:
    """A set with its table: all questions, then each category."""
    header = ("category", "questions", *(metric.name for metric in one.metrics))
    lines = [
        [name, str(count), *map(percent, means)]
        for name, count, means in rows(one.metrics, answers)
    ]
    return "\n\n".join(
        [f"## {one.title}", _paragraph(one.method), _taken(run), _table(header, lines)]
    )


def section_of_ablation(
    sets: Sequence[QualitySet],
    answers: Mapping[str, Sequence[Found]],
    ablated: Mapping[str, Mapping[str, Sequence[Found]]],
    run: Run,
) -> str:
    """What each weight is worth; `ablated` has the answers by set and by what was left out."""
    columns = [
        (one.name, metric) for one in sets for metric in one.metrics if metric.name in one.headline
    ]
    whole = [mean(metric, answers[name]) for name, metric in columns]
    lines = [["as it is", *map(percent, whole)]]
    for left_out in next(iter(ablated.values())):
        means = [mean(metric, ablated[name][left_out]) for name, metric in columns]
        lines.append([left_out, *map(difference, means, whole)])
    header = ("without", *(f"{name}: {metric.name}" for name, metric in columns))
    method = """The same questions with one weight of `replica/satchel/ranking/weights.py` at 0, in
        points against the recipe as it is: what falls is what the weight is worth. Nothing is
        tuned again, so a weight that others can stand in for seems worth little."""
    return "\n\n".join(
        ["## Each weight left out", _paragraph(method), _taken(run), _table(header, lines)]
    )


def put(page: Path, name: str, text: str) -> None:
    """Put a section in its place on the page, or at the end."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    whole = f"{begin}\n\n{text}\n\n{end}"
    held = page.read_text("utf-8") if page.exists() else HEAD
    place = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if place.search(held):
        held = place.sub(lambda _: whole, held)
    else:
        held = f"{held.rstrip()}\n\n{whole}\n"
    page.write_text(held, "utf-8")


def percent(share: float | None) -> str:
    """A share as a number of per cent."""
    return "" if share is None else f"{100 * share:.1f}"


def difference(share: float | None, whole: float | None) -> str:
    """By how many points it is more."""
    if share is None or whole is None:
        return ""
    points = round(100 * (share - whole), 1)
    return f"{points:+.1f}" if points else "0"


def _table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *lines))


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), width=100)


def _taken(run: Run) -> str:
    return f"Commit {run.commit}, model {run.model}, seed {run.seed}."
