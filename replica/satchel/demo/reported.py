"""The last scene: the overview that decision makers get, as one page."""

from __future__ import annotations

from pathlib import Path

from satchel.demo.world import MACHINES, World, expect
from satchel.errors import EngineUnavailable
from satchel.warehouse import report_files, reports

NAME = "overview"


def overview(world: World) -> None:
    """The warehouse reports: an overview as one page"""
    page = world.page or world.office.home.parent / f"{NAME}.html"
    try:
        found = reports.read(world.office, NAME, "html", tenant="default", refresh=True)
    except EngineUnavailable as missing:
        world.console.print(f"  left out: {missing}; {missing.hint}", markup=False)
        return
    [file] = report_files.to_path(found, "html", page, overwrite=False)
    for label, value, note in reports.figures(found):
        world.console.print(f"  {label:<20} {value:>8}  {note}", markup=False)
    figures = found.figures
    expect(figures["ok"] == len(MACHINES), f"the page tells of {figures['ok']} machines in touch")
    expect(figures["conflicts"] == 1, f"the page tells of {figures['conflicts']} conflicts")
    expect(figures["done"] == len(MACHINES), f"the page tells of {figures['done']} tasks done")
    memories = len(world.held("laptop")["memory"])
    expect(figures["now"] == memories, f"the page tells of {figures['now']} memories of {memories}")
    _tell(world, Path(file))


def _tell(world: World, file: Path) -> None:
    kept = "" if world.page or world.stays else ", gone with the demo: `--html FILE` keeps it"
    size = f"{file.stat().st_size // 1024} KiB of HTML"
    world.console.print(f"  {size} in {file}{kept}", markup=False)
