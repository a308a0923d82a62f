"""Machines at a hub whose time a test moves on, and the programs that dump and restore it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from fix_hub import HubWorld
from fix_hub_copies import Copy, taken
from fix_machines import DAY_MS, Fleet, Machine
from psycopg import conninfo, sql

from satchel.store import attempts
from satchel_warehouse.operations.retaining import Retained, Retention, retain
from satchel_warehouse.serve_embedded import _programs

EVERYTHING = Retention(journal_days=1, reports_days=1, audit_days=1)


@dataclass
class Kept(Fleet):
    """A fleet whose hub is looked after."""

    def later(self, days: int) -> None:
        """Let so many days pass, at the hub and on all machines."""
        self.world.psql().execute(
            "UPDATE satchel.hub SET clock_correction_ms = clock_correction_ms + %s",
            (days * DAY_MS,),
        )
        for machine in self.machines.values():
            machine.clock.at_ms += days * DAY_MS

    def retain(self, days: Retention = EVERYTHING, *, dry_run: bool = False) -> Retained:
        """Prune what is older than a day."""
        return retain(self.world.dsn, days, dry_run=dry_run)

    def epoch(self) -> str:
        """The default tenant's."""
        return str(self.value("SELECT epoch FROM satchel.tenant WHERE name = 'default'"))

    def value(self, query: str, *given: Any) -> Any:
        """The one value of a query at the hub."""
        return self.rows(query, *given)[0][0]

    def rows(self, query: str, *given: Any) -> list[Any]:
        """Rows of a query at the hub."""
        return self.world.psql().execute(query.encode(), given or None).fetchall()

    def copied(self) -> Copy:
        """All that the hub holds."""
        return taken(self.world.psql())

    def hang_up(self) -> None:
        """End the sessions of all machines and of this test."""
        for machine in self.machines.values():
            machine.hub.close()
        self.world.close()


def due(machine: Machine) -> str:
    """Why a machine has to reconcile."""
    with machine.store.read() as db:
        return attempts.due(db)


def own_journal(machine: Machine) -> list[tuple[str, str]]:
    """(key, content) of what a machine's own journal holds."""
    return [tuple(row) for row in machine.sql("SELECT key, content FROM conflict")]


def libpq(world: HubWorld) -> dict[str, str]:
    """The environment in which libpq's programs reach a hub's database."""
    at = conninfo.conninfo_to_dict(world.dsn)
    names = {"PGHOST": "host", "PGPORT": "port", "PGUSER": "user", "PGDATABASE": "dbname"}
    found = {name: str(at[key]) for name, key in names.items()}
    return {**found, "PATH": f"{_programs()}{os.pathsep}{os.environ['PATH']}"}


def dumped(world: HubWorld, file: Path, *options: str) -> Path:
    """A dump of a hub's database; custom format where nothing else is said."""
    given = options or ("--format=custom",)
    subprocess.run(["pg_dump", *given, f"--file={file}"], env=libpq(world), check=True)
    return file


def restore(world: HubWorld, file: Path) -> None:
    """Drop a hub's database and make it from a dump, as a DBA does. Ends all sessions with it."""
    world.close()
    name = sql.Identifier(world.name)
    elsewhere = conninfo.make_conninfo(world.dsn, dbname="postgres")
    with psycopg.connect(elsewhere, autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
        db.execute(sql.SQL("CREATE DATABASE {}").format(name))
    subprocess.run(
        ["pg_restore", "--exit-on-error", f"--dbname={world.name}", file],
        env=libpq(world), check=True,
    )  # fmt: skip
