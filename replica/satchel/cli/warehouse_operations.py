"""What keeps a warehouse well: `satchel warehouse doctor`, `retain`, `backup-check` and more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from satchel.cli.door import Door
from satchel.cli.operator import require_operator

DAYS_MAX = 36_500


def doctor(door: Door) -> int:
    """Check server, schema and care; why, and how to mend it.

    Exit 1 if a check fails.
    """
    require_operator(door, "a warehouse is examined")
    from satchel.warehouse import operations

    answer = operations.doctor(door.settings)
    door.answer(answer)
    return 0 if answer["ok"] else 1


def retain(
    door: Door,
    journal_days: Annotated[
        int | None,
        typer.Option("--journal-days", metavar="N", min=0, max=DAYS_MAX, help="Of the journal"),
    ] = None,
    reports_days: Annotated[
        int | None,
        typer.Option("--reports-days", metavar="N", min=0, max=DAYS_MAX, help="Of syncs' reports"),
    ] = None,
    audit_days: Annotated[
        int | None,
        typer.Option("--audit-days", metavar="N", min=0, max=DAYS_MAX, help="Of audit records"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count only; nothing goes")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Prune journal, reports and audit older than they are kept.

    They came more days ago than that: the days come from [warehouse] retain_journal_days and so on;
    0 keeps for ever. Rows, tombstones and what tells a restored file from one that was away are
    never pruned.
    """
    require_operator(door, "a warehouse is pruned")
    from satchel.warehouse import operations

    given = {"journal_days": journal_days, "reports_days": reports_days, "audit_days": audit_days}
    confirm = yes or (not dry_run and door.asked("remove what is older from the warehouse?"))
    answer = operations.retain(door.settings, given, dry_run=dry_run, confirm=confirm)
    door.answer(answer, changed=not dry_run)


def backup_check(
    door: Door,
    dump: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A dump of pg_dump, custom or tar format"),
    ] = None,
    days: Annotated[
        int,
        typer.Option(
            "--days", metavar="N", min=1, max=DAYS_MAX, help="Without FILE: how old one may be"
        ),
    ] = 7,
    scratch: Annotated[
        Path | None,
        typer.Option(
            "--scratch", metavar="DIR", help="Where FILE is restored for the check; as much room"
        ),
    ] = None,
) -> int:
    """Restore a dump beside and hold it against the warehouse.

    Every row of it is read; exit 1 if it fails. Without FILE: whether a checked dump or a WAL
    archive reaches into the last days.
    """
    require_operator(door, "backups are checked")
    from satchel.warehouse import operations

    if dump is None:
        answer = operations.backups(door.settings, days=days)
    else:
        import signal
        import sys

        # Ended by a signal it takes its copy of all rows away, and the server that has it open.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        answer = operations.check_dump(door.settings, dump, scratch)
    door.answer(answer)
    return 0 if answer["ok"] else 1


def mark_restored(
    door: Door,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Once after a restore: put rights and functions right.

    With its next sync every machine compares all its rows with the warehouse.
    """
    require_operator(door, "a restore is marked")
    from satchel.warehouse import operations

    confirm = yes or door.asked("let every machine compare all its rows with this warehouse?")
    door.answer(operations.mark_restored(door.settings, confirm=confirm), changed=True)


def metrics(
    door: Door,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen", metavar="[HOST:]PORT", help="Serve them at /metrics until a signal ends it"
        ),
    ] = None,
) -> None:
    """The warehouse's numbers for Prometheus.

    They are printed once, or served on loopback or at HOST.
    """
    require_operator(door, "metrics are shown")
    if listen is not None:
        from satchel.warehouse.metrics.listening import permitted

        where = permitted(door.settings, listen)
        from satchel.warehouse.metrics.serving import serve

        serve(door.settings, where, lambda said: door.answer(said, changed=True))
        return
    import sys

    from satchel.warehouse.metrics.exposition import printed

    sys.stdout.write(printed(door.settings))
