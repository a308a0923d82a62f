"""A hub and machines that run programs of different versions; a ledger of all they ever held."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fix_held import Holding, Ledger, hub_holds, replica_holds, same
from fix_hub import HubWorld
from fix_versions import Process, Program, Versions


@dataclass
class Machine:
    """A home, the program that has it open, and its login at the hub."""

    world: World
    home: Path
    dsn: str
    process: Process
    sent: int = 0
    pulled: int = 0

    def put(self, kind: str, key: str, **columns: Any) -> None:
        """Write columns of a row."""
        self.process.do("put", kind=kind, key=key, **columns)

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """A living row as the program shows it."""
        found: dict[str, Any] | None = self.process.do("get", kind=kind, key=key)
        return found

    def sync(self) -> dict[str, Any]:
        """One sync; its report."""
        report: dict[str, Any] = self.process.do("sync", dsn=self.dsn)
        self.world.ledger.check(self.holds(), hub_holds(self.world.hub.dsn))
        return report

    def holds(self) -> Holding:
        """What lies in the file."""
        return replica_holds(self.home)

    def upgrade(self, program: Program) -> None:
        """Another program takes over the home."""
        self.process.close()
        self.process = self.world.versions.start(program, self.home)
        self.process.do("open")


@dataclass
class World:
    """A hub, machines of several versions, and the ledger of all that was ever seen."""

    hub: HubWorld
    versions: Versions
    folder: Path
    machines: list[Machine] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)

    def machine(self, program: Program) -> Machine:
        """A new machine that runs this program."""
        home = self.folder / f"machine-{len(self.machines)}"
        process = self.versions.start(program, home)
        process.do("open")
        self.machines.append(Machine(self, home, self.hub.login(), process))
        return self.machines[-1]

    def migrate(self, program: Program) -> None:
        """Bring the hub to the version of this program."""
        self.versions.start(program).do("migrate_hub", dsn=self.hub.dsn)

    def settle(self) -> None:
        """Two rounds of syncs; a third moves nothing, and everybody holds the same."""
        for _ in range(2):
            for machine in self.machines:
                machine.sync()
        for machine in self.machines:
            report = machine.sync()
            assert (report["exit"], report["digest"], moved(report)) == (0, "equal", (0, 0))
        holdings = [machine.holds() for machine in self.machines]
        assert same(*holdings, hub_holds(self.hub.dsn))


def moved(report: dict[str, Any]) -> tuple[int, int]:
    """Rows that a sync sent and pulled."""
    counts = report["kinds"].values()
    return sum(kind["sent"] for kind in counts), sum(kind["pulled"] for kind in counts)
