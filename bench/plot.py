"""Pictures of docs/BENCHMARKS.md: how long an answer takes as a store grows, one line a peer."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from bench.page import PAGE

PICTURE = PAGE.parent / "pictures" / "nearest.svg"
SHOWN = {
    "scan": "satchel, scan alone",
    "nearest, all": "satchel, proved from SQLite",
    "nearest, one agent of a hundred": "satchel, one agent of a hundred",
    "numpy": "numpy, resident matrix",
    "sqlite-vec": "sqlite-vec",
}
Series = dict[str, list[tuple[int, float]]]


def read(page: str, kind: str) -> Series:
    """Name -> (vectors, p50 in ms) of the section of nearest vectors, for one kind of vectors."""
    section = re.search("<!-- begin scan -->(.*?)<!-- end scan -->", page, re.DOTALL)
    found: Series = defaultdict(list)
    for line in section[1].splitlines() if section else ():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 4 and cells[1] == kind and cells[2] in SHOWN:
            found[SHOWN[cells[2]]].append((int(cells[0].replace(",", "")), float(cells[4])))
    return found


def draw(series: dict[str, Series], to: Path) -> None:
    """One panel a kind of vectors, both axes logarithmic, as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    # The same input gives the same file.
    mpl.rcParams["svg.hashsalt"] = "satchel"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, len(series), figsize=(11, 4.5), sharey=True)
    for panel, (kind, lines) in zip(panels, series.items(), strict=True):
        for name in (name for name in SHOWN.values() if name in lines):
            rows, times = zip(*sorted(lines[name]), strict=True)
            panel.loglog(rows, times, marker="o", label=name)
        panel.set(title=f"{kind} vectors", xlabel="vectors of 384 numbers")
        panel.grid(visible=True, which="major", alpha=0.3)
    panels[0].set_ylabel("p50 of one question, ms")
    panels[0].legend(fontsize="small")
    to.parent.mkdir(exist_ok=True)
    figure.savefig(to, bbox_inches="tight", metadata={"Date": None})


def main() -> None:
    """Draw what the page says."""
    page = PAGE.read_text("utf-8")
    series = {kind: found for kind in ("random", "clustered") if (found := read(page, kind))}
    if len(series) == 2:
        draw(series, PICTURE)
        print(f"drew {PICTURE.name}")
    else:
        print("nothing to draw: the section of nearest vectors has not been measured whole")


if __name__ == "__main__":
    main()
