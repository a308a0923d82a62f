"""Sticks that carry bundles between machines and the hub: late, lost, twice, out of order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from simulation import steps as s
from simulation.invariants import check_cursors, require

from satchel_sync.bundles.errors import BundleRefused
from satchel_sync.bundles.inbound import accept, receive
from satchel_sync.bundles.outbound import export_for, export_push
from satchel_sync.bundles.parcel import Parcel
from satchel_sync.errors import HubRefused
from satchel_sync.in_memory.depot import MemoryDepot

if TYPE_CHECKING:
    from simulation.machines import Machine
    from simulation.world import World


@dataclass
class Sticks:
    """All sticks that were written, the newest last."""

    world: World
    written: list[tuple[bool, Parcel]] = field(default_factory=list)
    """(for the hub, what it carries)"""

    def export(self, step: s.Export) -> None:
        """Write a stick; the hub has none for a replica that it does not know."""
        machine = self.world.machine(step.at)
        if step.to_hub:
            self.written.append((True, export_push(machine.replica)))
        elif self.world.hub.state.registered(machine.replica.replica_id).revoked:
            return
        elif machine.replica.replica_id in self.world.hub.state.replicas:
            depot = MemoryDepot(self.world.hub)
            self.written.append((False, export_for(depot, machine.replica.replica_id)))

    def take_in(self, step: s.Import) -> None:
        """Read a stick."""
        if not self.written:
            return
        for_hub, parcel = self.written[-1 - step.which % len(self.written)]
        if for_hub:
            self._at_hub(parcel)
            self._brought_back()
            return
        for machine in self.world.machines:
            file = machine.replica.file
            if parcel.head.recipient in (file.replica_id, *file.predecessors):
                self._at_machine(machine, parcel)
                return

    def round(self, machine: Machine) -> None:
        """A stick there, and one back."""
        for to_hub in (True, False):
            self.export(s.Export(machine.number, to_hub))
            for_hub, parcel = self.written[-1]
            require(for_hub is to_hub, "the hub has no bundle for a replica whose bundle it took")
            self.take_in(s.Import(0)) if for_hub else self._at_machine(machine, parcel)

    def _at_hub(self, parcel: Parcel) -> None:
        try:
            receive(MemoryDepot(self.world.hub), parcel)
        except HubRefused:
            ids = (parcel.head.sender, *parcel.head.predecessors)
            revoked = any(self.world.hub.state.registered(one).revoked for one in ids)
            require(revoked, "a bundle was refused of a replica that nobody revoked")

    def _brought_back(self) -> None:
        """What only this stick carried is not lost any more."""
        files = [machine.replica.file for machine in self.world.machines]
        for write in self.world.truth.carried(self.world.hub.state, files):
            write.lost = False

    def _at_machine(self, machine: Machine, parcel: Parcel) -> None:
        recipient = machine.replica.replica_id
        try:
            accept(machine.replica, parcel)
        except BundleRefused:
            require(parcel.head.recipient != recipient, "a bundle was refused by its recipient")
        check_cursors(self.world, machine)
