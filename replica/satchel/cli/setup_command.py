"""`satchel setup`: write satchel into the settings of the agents' hosts, or take it out again."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from satchel.cli.command import command
from satchel.cli.door import Door
from satchel.errors import ConfirmationNeeded, SatchelError, explain

if TYPE_CHECKING:
    from satchel.setup.plan import Plan


def make() -> Any:
    """The command."""
    return command("setup", setup)


def setup(
    door: Door,
    host: Annotated[
        list[str] | None,
        typer.Option("--host", metavar="NAME", help="Only this host, found here or not"),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Take satchel out again")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking")] = False,
) -> int:
    """Write satchel's server and hooks into the settings of every agent host on this machine."""
    from satchel.setup.plan import shown

    plans = _plans(door, host or [], remove)
    changes = [one for each in plans for one in each.changed]
    if changes and not door.json:
        door.note(shown(plans))
    if changes and not (dry_run or yes or door.asked(f"Write {len(changes)} files?")):
        raise ConfirmationNeeded(
            f"{len(changes)} files of other programs would be changed: nothing was written",
            hint="--dry-run shows how, --yes writes them",
        )
    told = [_host(one, write=not dry_run) for one in plans]
    notes = [*_notes(told), *_passing()]
    answer: dict[str, Any] = {"hosts": told, "dry_run": dry_run, "notes": notes}
    if not door.json:
        answer = _table(told, ["nothing was written"] * dry_run + notes)
    door.answer(answer, changed=bool(changes) and not dry_run)
    return 1 if any(one["error"] for one in told) else 0


def _plans(door: Door, names: Sequence[str], remove: bool) -> list[Plan]:
    from satchel.setup import hosts, machine, plan, program

    settings = door.settings
    here = machine.this_machine()
    home = None if settings.home_origin == "default" else settings.home
    this = program.this_program(home, door.options.agent)
    return [plan.plan(one, here, this, remove=remove) for one in hosts.chosen(names, here)]


def _host(planned: Plan, *, write: bool) -> dict[str, Any]:
    """Write one host's files; what became of each."""
    from satchel.setup.apply import apply

    files, error = [], planned.refusal
    for change in planned.changes:
        if write and error is None:
            try:
                apply(change)
            except SatchelError as failed:
                error, _ = explain(failed)
        saved = change.backup if change.saves else None
        files.append(
            {
                "path": str(change.path),
                "change": change.what if error is None else "same",
                "backup": str(saved) if saved and error is None else None,
                "diff": change.diff,
            }
        )
    notes = [] if error else list(planned.notes)
    return {"host": planned.host.name, "files": files, "notes": notes, "error": error}


def _table(told: Sequence[dict[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """The answer as a person reads it: a row for each file; the differences were shown before."""
    from satchel.setup.machine import this_machine

    home, rows = f"{this_machine().home}{os.sep}", []
    for one in told:
        error = one["error"] and one["error"]["message"]
        for file in one["files"] or [{}]:
            places = {name: file.get(name) or "" for name in ("path", "backup")}
            shown = {name: place.replace(home, f"~{os.sep}", 1) for name, place in places.items()}
            rows.append(
                {"host": one["host"], "change": file.get("change"), **shown, "error": error}
            )
    said = [f"{one['host']}: {note}" for one in told for note in one["notes"]]
    return {"files": rows, "notes": [*said, *notes]}


def _passing() -> list[str]:
    """What a program that `uvx` runs is: it goes when that one's cache is cleared."""
    if "archive-v0" not in Path(sys.executable).parts:
        return []
    return [f"{sys.executable} is a passing copy: install satchel, then run its setup again"]


def _notes(told: Sequence[dict[str, Any]]) -> list[str]:
    if told:
        return []
    return ["no host was found on this machine: name one with --host"]
