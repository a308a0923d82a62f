"""`satchel demo`: two machines and a warehouse in a temporary folder, the main job end to end.

Everything is real: Postgres, two replica files, the sync engine, text that ships with Python. What
is shown is asserted; anything untrue ends the demo with an error.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.demo import reported, scenes, stick
from satchel.demo.world import World, world

if TYPE_CHECKING:
    from rich.console import Console

    from satchel.config import Settings

SCENES = (
    scenes.remember,
    scenes.find,
    scenes.reconcile,
    scenes.edit_offline,
    scenes.agree,
    scenes.forget_nothing,
    stick.carry,
    scenes.report,
    reported.overview,
)


def run(
    console: Console,
    home: Path | None = None,
    told: Settings | None = None,
    page: Path | None = None,
) -> int:
    """Play every scene; 0 when all that was shown was true.

    With `home` the files stay there for a look afterwards, and the report is kept in `page`; the
    cryptography is as `told`. Raises DemoFailed for what was untrue.
    """
    if home is not None:
        _play(console, home, told, page, stays=True)
        console.print(f"The files are in {home}", markup=False)
        return 0
    with tempfile.TemporaryDirectory(prefix="satchel-demo-") as folder:
        return _play(console, Path(folder), told, page, stays=False)


def _play(
    console: Console, folder: Path, told: Settings | None, page: Path | None, *, stays: bool
) -> int:
    with world(console, folder, told) as stage:
        stage.page, stage.stays = page, stays
        for scene in SCENES:
            _announce(stage, scene.__doc__ or "")
            scene(stage)
    console.print("[bold green]All that was shown held.[/]")
    return 0


def _announce(stage: World, text: str) -> None:
    stage.scene += 1
    stage.console.print()
    stage.console.rule(f"[bold]{stage.scene}. {text.splitlines()[0]}", align="left")
