"""`satchel warehouse`: make, upgrade and serve the Postgres hub; its other verbs by their files."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from satchel.cli.command import Loader, command, group
from satchel.cli.door import Door


def make() -> Any:
    """The command group."""
    return group(
        "warehouse",
        "The Postgres warehouse that machines reconcile with",
        lambda: {
            "init": lambda: command("init", init),
            "migrate": lambda: command("migrate", migrate),
            "grant": _in("warehouse_roles", "grant"),
            "tenant": _tenant,
            "replica": _replica,
            "status": _in("warehouse_status", "status"),
            "doctor": _in("warehouse_operations", "doctor"),
            "refresh": _in("warehouse_refresh", "refresh"),
            "retain": _in("warehouse_operations", "retain"),
            "backup-check": _in("warehouse_operations", "backup_check", "backup-check"),
            "mark-restored": _in("warehouse_operations", "mark_restored", "mark-restored"),
            "metrics": _in("warehouse_operations", "metrics"),
            "search": _in("warehouse_search", "search"),
            "index": _in("warehouse_search", "index"),
            "seed": _in("warehouse_seed", "seed"),
            "serve-embedded": lambda: command("serve-embedded", serve_embedded),
        },
    )


def _in(module: str, function: str, name: str = "") -> Loader:
    """A verb that another file has; `name` where it is not the function's."""

    def load() -> Any:
        found = getattr(importlib.import_module(f"satchel.cli.{module}"), function)
        return command(name or function, found)

    return load


def _replica() -> Any:
    return group(
        "replica",
        "The machines that the warehouse knows",
        lambda: {
            "list": _in("warehouse_roles", "list_", "list"),
            "revoke": _in("warehouse_roles", "revoke"),
        },
    )


def _tenant() -> Any:
    return group(
        "tenant",
        "The organisations that share the warehouse",
        lambda: {
            "add": _in("warehouse_roles", "add_tenant", "add"),
            "list": _in("warehouse_roles", "list_tenants", "list"),
        },
    )


def init(
    door: Door,
    partitions: Annotated[
        int,
        typer.Option(
            "--partitions",
            metavar="N",
            min=0,
            max=64,
            help="Hash partitions of the tables that grow, in a new warehouse only",
        ),
    ] = 0,
) -> None:
    """Make roles, schemas and functions in an empty database."""
    from satchel.warehouse import making

    door.answer(making.init(door.settings, partitions=partitions))


def migrate(door: Door) -> None:
    """Bring the schema to this version, under one lock."""
    from satchel.warehouse import making

    door.answer(making.migrate(door.settings))


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
    """Run a Postgres of its own in the foreground.

    It prints its DSN once it accepts connections.
    """
    import sys

    from satchel.warehouse import making

    def ready(where: dict[str, Any]) -> None:
        door.answer(where)
        sys.stdout.flush()

    return making.serve_embedded(door.settings, folder, on_ready=ready, port=port)
