"""`satchel report`: what there is to report on the warehouse, and a report as a page or a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door, ReaderGone
from satchel.cli.operator import require_operator
from satchel.cli.progress import progress
from satchel.errors import InvalidInput
from satchel.terminal import is_terminal

Name = Annotated[str, typer.Argument(metavar="NAME", help="As `satchel report list` has it")]
ENDINGS = ".html, .csv, .json or .parquet"


def make() -> Any:
    """The command group."""
    return group(
        "report",
        "Reports on the warehouse: machines, knowledge, tasks, cost",
        lambda: {
            "list": lambda: command("list", list_),
            "show": lambda: command("show", show),
            "run": lambda: command("run", run),
        },
    )


def list_(door: Door) -> None:
    """Every report: its name, what it answers, its sections."""
    require_operator(door, "reports are")
    from satchel.warehouse import reports

    door.answer({"items": reports.listed()})


def show(door: Door, name: Name) -> None:
    """What is in a report: its sections, their columns and the SQL on schema `report`."""
    require_operator(door, "reports are")
    from satchel.warehouse import reports

    told = reports.described(name)
    if door.json:
        door.answer(told)
    else:
        from satchel.cli.report_table import show_described

        show_described(told, no_color=door.options.no_color or None)


def run(
    door: Door,
    name: Name,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="table, csv, json, parquet or html; default: what --out ends in, else a table"
            " at a terminal and json in a pipe",
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="PATH", help="A file; of csv and parquet a folder, for all sections"
        ),
    ] = None,
    html: Annotated[
        str | None,
        typer.Option("--html", metavar="FILE", help="As --format html --out FILE"),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option("--section", metavar="NAME", help="Only this one; may be given again"),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DAY", help="2026-11-01, or 30d back; default: 30d"),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="DAY", help="The last day; default: today"),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="NAME", help="Only of this organisation")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Bring the views up to date before, as administrator")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Write over a file that is there")
    ] = False,
) -> None:
    """Read a report from the warehouse, in one snapshot, and show it or write it to a file."""
    require_operator(door, "reports are")
    from satchel.warehouse import report_files, reports

    chosen, path = _where(door, format, out, html)
    with progress(door) as step:
        found = reports.read(
            door.settings, name, chosen, sections=section or (), since=since, until=until,
            tenant=tenant, refresh=refresh, progress=step,
        )  # fmt: skip
    for remark in reports.remarks(found):
        door.note(remark)
    if path is not None:
        files = report_files.to_path(found, chosen, path, overwrite=yes)
        door.answer(report_files.answer(found, chosen, files), changed=True)
    elif chosen == "table":
        from satchel.cli.report_table import show_tables

        show_tables(found, no_color=door.options.no_color or None)
    else:
        try:
            report_files.to_stdout(found, chosen)
        except BrokenPipeError as error:  # as in Door.answer
            raise ReaderGone from error


def _where(
    door: Door,
    format: str | None,  # noqa: A002
    out: str | None,
    html: str | None,
) -> tuple[str, Path | None]:
    """The format and the file, which is None for stdout. Raises InvalidInput."""
    from satchel.memory.text import one_of
    from satchel.warehouse.report_files import BINARY
    from satchel.warehouse.reports import FORMATS

    if html is not None:
        if out is not None or format not in (None, "html"):
            raise InvalidInput(
                "--html names a file and a format already",
                hint="leave out --out and --format",
                field="html",
            )
        format, out = "html", html  # noqa: A001
    path = _path(out)
    by_name = path.suffix.lower()[1:] if path is not None else ""
    if format is None and path is not None and by_name not in FORMATS:
        raise InvalidInput(
            f"what {path.name[:60]!r} ends in is no format",
            hint=f"give --format, or a name that ends in {ENDINGS}",
            field="out",
        )
    known = by_name or ("json" if door.json else "table")
    chosen = one_of(known if format is None else format, FORMATS, "format")
    if by_name in FORMATS and by_name != chosen:
        raise InvalidInput(
            f"--format says {chosen}, and the name ends in .{by_name}",
            hint="leave out --format, or give another name",
            field="out",
        )
    if path is None and chosen in BINARY and is_terminal(sys.stdout):
        raise InvalidInput(
            f"{chosen} is no sight for a terminal",
            hint=f"`--out FILE.{chosen}`, or send it into a pipe",
            field="out",
        )
    if path is not None and chosen == "table":
        raise InvalidInput(
            "a table is for a terminal",
            hint=f"give --out a name that ends in {ENDINGS}",
            field="format",
        )
    return chosen, path


def _path(out: str | None) -> Path | None:
    if out is not None and not out.strip():
        raise InvalidInput("an empty name is no file", hint="`-` is stdout", field="out")
    return Path(out).expanduser() if out not in (None, "-") else None
