"""The stage of the demo: an embedded warehouse, a laptop and a desktop, each with its own file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import peers
from satchel.config import Settings
from satchel.errors import SatchelError
from satchel.replica import Replica, open_replica
from satchel.store.endpoint import SqliteReplica
from satchel.warehouse import making, roles
from satchel_sync.digest import BUCKETS
from satchel_sync.stamp import Stamp
from satchel_sync.tables import TABLES

if TYPE_CHECKING:
    from rich.console import Console

MACHINES = ("laptop", "desktop")


class DemoFailed(SatchelError):
    """What the demo was about to show is not true."""

    code = "demo_failed"
    exit_code = 1


@dataclass
class World:
    """Two open replicas and what the scenes hand on to each other."""

    console: Console
    machines: dict[str, Replica]
    office: Settings
    """Where the warehouse's administrator sits."""
    scene: int = 0
    shared_id: str = ""
    texts: dict[str, str] = field(default_factory=dict)
    page: Path | None = None
    """Where the report is kept."""
    stays: bool = False
    """Whether all files are there afterwards."""

    @property
    def laptop(self) -> Replica:
        """The first machine."""
        return self.machines["laptop"]

    @property
    def desktop(self) -> Replica:
        """The second machine."""
        return self.machines["desktop"]

    def sync(self, name: str) -> dict[str, Any]:
        """Sync one machine, print its report in a line and return it."""
        report = peers.sync_once(self.machines[name].settings)
        counts = {
            what: sum(kind[what] for kind in report["kinds"].values())
            for what in ("sent", "accepted", "pulled", "applied")
        }
        told = " · ".join(f"{what} {count}" for what, count in counts.items())
        spent_ms = sum(report["ms"].values())
        self.console.print(
            f"  {name:<8} {told} · conflicts {report['conflicts']} · digest {report['digest']}"
            f" · {spent_ms} ms"
        )
        expect(report["exit"] == 0, f"the sync of {name} ended with {report['exit']}")
        return report

    def held(self, name: str) -> Mapping[str, Mapping[str, Stamp]]:
        """Kind -> key -> version of everything that a machine holds."""
        replica = SqliteReplica(self.machines[name].store)
        return {table.name: replica.manifest(table, range(BUCKETS)) for table in TABLES}


def expect(true: bool, otherwise: str) -> None:
    """Raise DemoFailed unless what is about to be shown holds."""
    if not true:
        raise DemoFailed(otherwise)


@contextmanager
def world(console: Console, folder: Path, told: Settings | None = None) -> Iterator[World]:
    """Start the warehouse, make its roles and two replicas; stop everything afterwards.

    All of them reach it by a Unix socket, and may reach nothing else: so any network mode will do.
    """
    with ExitStack() as stack:
        admin = Settings(home=folder, network_mode="unix")
        if told is not None:
            admin = replace(
                admin,
                crypto_provider=told.crypto_provider,
                fips_mode=told.fips_mode,
                fips_module=told.fips_folder,
            )
        with console.status("starting a Postgres of our own"):
            dsn = stack.enter_context(making.embedded(admin, folder / "warehouse"))
        admin = replace(admin, warehouse_admin_dsn=dsn)
        with console.status("making roles, tables and functions in it"):
            status = making.init(admin)
        console.print(f"Warehouse: PostgreSQL {status['server']}, revision {status['revision']}")
        machines = {}
        for name in MACHINES:
            roles.grant(admin, f"demo_{name}")
            settings = replace(
                admin,
                home=folder / name,
                agent_id=f"{name}-agent",
                role="agent",
                user_id="ada",
                warehouse_dsn=dsn.replace("postgres@", f"demo_{name}@", 1),
            )
            machines[name] = stack.enter_context(open_replica(settings))
            console.print(f"Machine:   {name}, its own SQLite file, its own login at the warehouse")
        yield World(console, machines, replace(admin, home=folder / "office"))
