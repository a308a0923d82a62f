"""`satchel warehouse`: make, upgrade and look at the Postgres hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import command, group
from satchel.cli.door import Door


def make() -> Any:
    """The command group."""
    return group(
        "warehouse",
        "The Postgres warehouse that machines reconcile with",
        lambda: {
            "init": lambda: command("init", init),
            "migrate": lambda: command("migrate", migrate),
            "status": lambda: command("status", status),
            "serve-embedded": lambda: command("serve-embedded", serve_embedded),
            "grant": lambda: command("grant", grant),
            "replica": _replica,
        },
    )


def _replica() -> Any:
    return group(
        "replica",
        "The machines that the warehouse knows",
        lambda: {
            "list": lambda: command("list", list_),
            "revoke": lambda: command("revoke", revoke),
        },
    )


def list_(door: Door) -> None:
    """Every machine: its id, login, host and version, when it came, what it pushed."""
    from satchel import peers

    door.answer(peers.warehouse_replicas(door.settings))


def revoke(
    door: Door,
    replica: Annotated[
        str, typer.Argument(metavar="ID", help="Its id, or 8 or more of its first or last digits")
    ],
    undo: Annotated[
        bool,
        typer.Option(
            "--undo", help="Take it back, and what went with it; their next sync compares all rows"
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking")] = False,
) -> None:
    """Close the warehouse to a machine and the later ids of its file: they may not sync.

    A copy of the file that became a machine of its own is one of these; the answer names them all.
    """
    from satchel import peers

    confirm = yes or (not undo and door.asked(f"revoke replica {replica}?"))
    answer = peers.warehouse_revoke(door.settings, replica, undo=undo, confirm=confirm)
    door.answer(answer, changed=True)


def init(door: Door) -> None:
    """Make the roles, schemas and functions in an empty database."""
    from satchel import peers

    door.answer(peers.warehouse_init(door.settings))


def migrate(door: Door) -> None:
    """Bring the warehouse's schema to this version, under one lock."""
    from satchel import peers

    door.answer(peers.warehouse_migrate(door.settings))


def status(door: Door) -> None:
    """The warehouse's version, size and replicas."""
    from satchel import peers

    door.answer(peers.warehouse_status(door.settings))


def serve_embedded(
    door: Door,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The data folder")],
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=1,
            max=65535,
            help="Listen on this TCP port of 127.0.0.1 too",
        ),
    ] = None,
) -> int:
    """Run a Postgres of its own in the foreground; prints its DSN once it accepts connections."""
    import sys

    from satchel import peers

    def ready(where: dict[str, Any]) -> None:
        door.answer(where)
        sys.stdout.flush()

    return peers.warehouse_serve_embedded(door.settings, folder, on_ready=ready, port=port)


def grant(
    door: Door,
    replica: Annotated[str, typer.Option("--replica", metavar="NAME", help="The login's name")],
    password_file: Annotated[
        Path | None, typer.Option("--password-file", help="Its password; default: a random one")
    ] = None,
) -> None:
    """Make a login through which a replica may sync."""
    from satchel import peers

    door.answer(peers.warehouse_grant(door.settings, replica, password_file=password_file))
