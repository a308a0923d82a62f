"""Random histories of machines that only sticks connect to a hub which may be set back; in memory.

Sticks are kept for ever, so they come late, twice, in any order or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from fix_sync import FakeClock, memory_values

from satchel_sync.bundles.inbound import accept, receive
from satchel_sync.bundles.outbound import export_for, export_push
from satchel_sync.bundles.parcel import Parcel, ParcelKind
from satchel_sync.errors import SyncError
from satchel_sync.in_memory.depot import MemoryDepot
from satchel_sync.in_memory.file import File
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.session import sync
from satchel_sync.stamp import Stamp
from satchel_sync.tables import MEMORY

QUIET_ROUNDS = 3
ALARMS = ("set back", "another epoch")


@dataclass
class History:
    """One history: what was done is in `log`, in words."""

    seed: int
    rewinds: bool = True
    restores: bool = False
    online: bool = False
    log: list[str] = field(default_factory=list)
    sticks: list[tuple[int, Parcel]] = field(default_factory=list)
    files: list[tuple[int, File]] = field(default_factory=list)
    backup: HubState | None = None
    rewound: bool = False
    alarms: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.clock = FakeClock()
        self.hub = MemoryHub(self.clock, HubState(epoch=self.draw()[:16]), self.draw)
        count = self.random.choice([2, 3])
        self.machines = [
            MemoryReplica(bytes([number + 1]) * 16, self.clock, self.draw)
            for number in range(count)
        ]

    def draw(self) -> str:
        """32 hex digits of this history."""
        return f"{self.random.getrandbits(128):032x}"

    def fault(self) -> str:
        """Play it, then the quiet rounds; what is wrong then, in words, or ""."""
        for step in range(self.random.randint(5, 40)):
            self.clock.ms += self.random.choice([0, 1, 1000])
            number = self.random.randrange(len(self.machines))
            try:
                self.step(step, number, self.machines[number])
            except SyncError as error:
                self.log.append(f"{step}: refused: {error}")
        due = self.highest()
        for _ in range(QUIET_ROUNDS):
            for machine in self.machines:
                self.take_in(0, export_push(machine))
                self.take_in(
                    self.machines.index(machine),
                    export_for(MemoryDepot(self.hub), machine.replica_id),
                )
        return self.wrong(due)

    def step(self, step: int, number: int, machine: MemoryReplica) -> None:
        """Something happens, to this machine where it is about one."""
        chance = self.random.random()
        if chance < 0.30:
            self.write(step, machine)
        elif chance < 0.45:
            self.sticks.append((number, export_push(machine)))
        elif chance < 0.60:
            parcel = export_for(MemoryDepot(self.hub), machine.replica_id)
            self.sticks.append((number, parcel))
        elif chance < 0.90 and self.sticks:
            place = self.random.randrange(len(self.sticks))
            owner, parcel = self.sticks[place]
            self.log.append(f"{step}: stick {place} ({parcel.head.kind.value}) of {owner}")
            self.take_in(owner, parcel)
        elif chance < 0.93 and self.online:
            report = sync(machine, self.hub.connect(), self.clock)
            self.alarms += report["identity"]
        elif chance < 0.96 and self.rewinds:
            self.set_back()
        elif chance < 0.99 and self.restores:
            self.put_back(number, machine)

    def write(self, step: int, machine: MemoryReplica) -> None:
        """Put or delete one of five rows."""
        key = f"k{self.random.randrange(5)}"
        if key in machine.file.kinds["memory"].rows and self.random.random() < 0.25:
            machine.delete(MEMORY, key)
        else:
            machine.put(MEMORY, key, memory_values(f"of step {step}"))
        self.log.append(f"{step}: {machine.replica_id[:1].hex()} writes {key}")

    def take_in(self, owner: int, parcel: Parcel) -> None:
        """Import a stick where it belongs."""
        if parcel.head.kind is ParcelKind.PUSH:
            report = receive(MemoryDepot(self.hub), parcel)
            self.alarms += [report["reconcile_due"]] if report["reconcile_due"] else []
        else:
            accept(self.machines[owner], parcel)

    def set_back(self) -> None:
        """Back the hub up, or set it back."""
        if self.backup is None or self.random.random() < 0.3:
            self.backup = self.hub.snapshot()
            self.log.append("the hub is backed up")
        else:
            self.hub.restore(self.backup)
            self.rewound = True
            self.log.append("the hub is set back")

    def put_back(self, number: int, machine: MemoryReplica) -> None:
        """Back a machine's file up, or put one back."""
        if self.files and self.random.random() < 0.6:
            owner, file = self.random.choice(self.files)
            self.machines[owner].restore(file)
            self.log.append(f"the file of {owner} is put back")
        else:
            self.files.append((number, machine.snapshot()))

    def highest(self) -> dict[str, Stamp]:
        """Key -> the highest version that is anywhere."""
        found: dict[str, Stamp] = {}
        held = [machine.file.kinds["memory"].rows for machine in self.machines]
        for rows in (*held, self.hub.state.rows["memory"]):
            for key, row in rows.items():
                found[key] = max(row.stamp, found.get(key, row.stamp))
        return found

    def wrong(self, due: dict[str, Stamp]) -> str:
        """What is not as it has to be after the quiet rounds."""
        alarms = [said for said in self.alarms if any(word in said for word in ALARMS)]
        if alarms and not self.rewound:
            return f"an alarm when nothing had happened: {alarms[0]}"
        hub = {key: row.stamp for key, row in self.hub.state.rows["memory"].items()}
        for number, machine in enumerate(self.machines):
            kept = machine.file.kinds["memory"]
            if {key: row.stamp for key, row in kept.rows.items()} != hub:
                return f"machine {number} and the hub differ"
            if kept.outbox or kept.quarantine or machine.due():
                return f"machine {number} is not done"
        return "" if hub == due else "a row was lost"
