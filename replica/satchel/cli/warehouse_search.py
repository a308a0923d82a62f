"""`satchel warehouse search`: over the memories and turns of all machines."""

from __future__ import annotations

from typing import Annotated

import typer

from satchel.cli.door import Door
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress


def search(
    door: Door,
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help='Words, "phrases", ids, names, dates; word*')
    ],
    k: Annotated[int, typer.Option("-k", metavar="N", help="Hits at most")] = 10,
    kind: Annotated[
        str, typer.Option("--kind", metavar="all|memory|chatlog", help="Rows to look in")
    ] = "all",
    type_: Annotated[str | None, typer.Option("--type", help="Only of this type")] = None,
    scope: Annotated[
        str | None, typer.Option("--scope", help="Only agent, session, space, user or org")
    ] = None,
    space: Annotated[list[str] | None, typer.Option("--space", help="Only this space")] = None,
    of_agent: Annotated[
        list[str] | None, typer.Option("--of-agent", help="Only rows of this agent")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Recorded or said from then on")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Recorded or said before")
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="TIME", help="What was true then; default: now")
    ] = None,
    mode: Annotated[
        str,
        typer.Option("--mode", metavar="hybrid|keyword", help="By words and meaning, or words"),
    ] = "hybrid",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the parts of each score")
    ] = False,
    tenant: Annotated[
        str | None, typer.Option("--tenant", help="Of which tenant; default: the login's")
    ] = None,
) -> None:
    """Search what all machines know, for those with the right.

    It is ranked as `satchel search` does. The warehouse keeps who searched, when and which rows
    were shown, never the question.
    """
    require_operator(door, "all machines are searched")
    from satchel.tools.parameter import Parameter
    from satchel.tools.values import parse
    from satchel.warehouse.searching import Wanted
    from satchel.warehouse.searching import search as searched

    def moment(name: str, value: str | None) -> int | None:
        one = Parameter(name=name, base="time")
        return None if value is None else int(parse(one, value, from_text=True))

    wanted = Wanted(
        query=query,
        k=k,
        kind=kind,
        type=type_,
        scope=scope,
        spaces=tuple(space or ()),
        agents=tuple(of_agent or ()),
        since=moment("since", since),
        until=moment("until", until),
        as_of=moment("as_of", as_of),
        mode=mode,
        explain=explain,
    )
    door.answer(searched(door.settings, wanted, tenant=tenant))


def index(
    door: Door,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this one")] = None,
) -> None:
    """Bring the words and vectors of searches up to date.

    Put it into cron: a search indexes some thousand rows by itself. Vectors of turns are made here,
    with this machine's model; the nearest are found by the extension pgvector, or one by one
    without it.
    """
    require_operator(door, "the warehouse is indexed")
    from satchel.warehouse import indexing

    with progress(door) as step:
        answer = indexing.index(door.settings, tenant, step)
    door.answer(answer, changed=True)
