"""`satchel warehouse seed`: a large warehouse of invented rows."""

from __future__ import annotations

from typing import Annotated

import typer

from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress


def seed(
    door: Door,
    rows: Annotated[int, typer.Option("--rows", metavar="N", help="How many synced rows")],
    machines: Annotated[
        int | None,
        typer.Option("--machines", metavar="M", help="How many machines wrote them; default: 20"),
    ] = None,
    tenant: Annotated[
        str, typer.Option("--tenant", help="A tenant that holds nothing; begins with `seeded`")
    ] = "seeded",
    number: Annotated[
        int, typer.Option("--seed", metavar="S", help="The same number makes the same rows")
    ] = 1,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="When its half a year ends; default: now"),
    ] = None,
) -> None:
    """Fill a tenant of its own with a made-up organisation.

    To try reports and sizes on. All of it or nothing. It is never taken for a real one: its name
    begins with `seeded`, its hosts end in `.invalid`, and no machine can log in to it.
    """
    require_operator(door, "made-up tenants are filled")
    from satchel.tools.parameter import Parameter
    from satchel.tools.values import parse
    from satchel.warehouse import seeding

    when = Parameter(name="until", base="time")
    until_ms = None if until is None else int(parse(when, until, from_text=True))
    with progress(door) as step:
        answer = seeding.seed(
            door.settings, rows=rows, machines=machines, tenant=tenant, number=number,
            until_ms=until_ms, progress=step,
        )  # fmt: skip
    door.answer(answer, changed=True)
