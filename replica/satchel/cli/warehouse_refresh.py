"""`satchel warehouse refresh`: what the reports read is made anew."""

from __future__ import annotations

from typing import Annotated

import typer

from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress


def refresh(
    door: Door,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Only this one; default: all")
    ] = None,
) -> None:
    """Bring the views of schema `report` up to date.

    No sync waits for it. Put it into cron, or let the database do it: `SELECT
    satchel.refresh_reports()`. What it made is told with the time that each took;
    `report.freshness` keeps when it was.
    """
    require_operator(door, "reports are refreshed")
    from satchel.warehouse import refreshing

    with progress(door) as step:
        answer = refreshing.refresh(door.settings, tenant=tenant, progress=step)
    door.answer(answer, changed=True)
