"""A world that plays a story: a hub, machines, the real session between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from simulation import steps as s
from simulation.invariants import check_cursors, check_report, require
from simulation.machines import Crash, Line, Machine, Now, Tap, WorldClock
from simulation.sticks import Sticks
from simulation.texts import Texts
from simulation.truth import Truth

from satchel_sync.errors import HubRefused, HubUnreachable
from satchel_sync.in_memory.hub import MemoryHub
from satchel_sync.in_memory.hub_state import HubState
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.phases.heal import damage, heal
from satchel_sync.session import sync
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import BY_NAME, MEMORY, TABLES

NOON_MS = 1_800_000_000_000
MACHINES_MAX = 5
SPOILT = '{"a":"t:","a":"t:00"}'
"""An `extra` that no hub takes."""


class World:
    """A hub and machines; `play` does a step, `quiet` lets every machine sync undisturbed."""

    def __init__(self, machines: int, seed: int = 0) -> None:
        self._random = Random(seed)
        self.now = Now(NOON_MS)
        self.hub_clock = WorldClock(self.now)
        self.hub = MemoryHub(self.hub_clock, draw=self.draw)
        self.truth = Truth()
        self.texts = Texts()
        self.backups: list[tuple[HubState, int]] = []
        self.moment, self.before = 0, dict[int, int]()
        self.cuts, self.has_spoilt = 0, False
        self.machines: list[Machine] = []
        for _ in range(machines):
            self._add(MemoryReplica(bytes.fromhex(self.draw()), self.hub_clock, self.draw))
        self.sticks = Sticks(self)
        self._do: dict[type, Callable[[Any], None]] = {
            s.Edit: self._edit,
            s.Spoil: self._spoil,
            s.Delete: self._delete,
            s.Forget: self._forget,
            s.Derive: self._derive,
            s.Work: self._work,
            s.Seen: self._seen,
            s.Sync: self._sync,
            s.Backup: self._backup,
            s.Restore: self._restore,
            s.Clone: self._clone,
            s.HubBackup: lambda _: self.backups.append((self.hub.snapshot(), self.moment)),
            s.HubRewind: self._rewind,
            s.Revoke: self._revoke,
            s.Pass: self._pass,
            s.Skew: self._skew,
            s.Damage: self._damage,
            s.Export: self.sticks.export,
            s.Import: self.sticks.take_in,
        }

    def draw(self) -> str:
        """32 hex digits, from the seed."""
        return f"{self._random.getrandbits(128):032x}"

    def play(self, step: s.Step) -> None:
        """Do one step. Raises Broken where an invariant does not hold."""
        self._do[type(step)](step)

    def machine(self, at: int) -> Machine:
        """The machine of that number."""
        return self.machines[at % len(self.machines)]

    def synced(self, machine: Machine) -> dict[str, Any]:
        """An undisturbed sync; its report, which was looked at."""
        report = sync(machine.replica, machine.hub, machine.clock)
        self._reached(machine)
        check_report(self, machine, report)
        return report

    # ---- what users do --------------------------------------------------------------------------

    def put(self, at: int, kind: str, key: str, columns: Mapping[str, object]) -> None:
        """Write a row, if it was not forgotten."""
        replica = self.machine(at).replica
        table = BY_NAME[kind]
        held = replica.kinds[kind].rows.get(key)
        if held is not None and held.stamp == SCRUBBED:
            return
        values = (*(columns.get(name) for name in table.names), columns.get("extra"))
        row = replica.put(table, key, values)  # type: ignore[arg-type]
        replica.note("writes", "write")
        self.truth.wrote(kind, row, held)

    def _edit(self, step: s.Edit) -> None:
        self.put(step.at, "memory", f"m{step.key}", {"content": self.texts.of_memory(step.key)})

    def _spoil(self, step: s.Spoil) -> None:
        self.has_spoilt = True
        columns = {"content": self.texts.of_memory(step.key), "extra": SPOILT}
        self.put(step.at, "memory", f"m{step.key}", columns)

    def _delete(self, step: s.Delete) -> None:
        replica = self.machine(step.at).replica
        key = self.texts.key_of(step.kind, step.key)
        held = replica.kinds[step.kind].rows.get(key)
        if held is not None and not held.stamp.dead:
            self.truth.wrote(step.kind, replica.delete(BY_NAME[step.kind], key), held)

    def _forget(self, step: s.Forget) -> None:
        replica, key = self.machine(step.at).replica, f"m{step.key}"
        held = replica.kinds["memory"].rows.get(key)
        if held is not None and held.stamp != SCRUBBED:
            self.truth.wrote("memory", replica.forget(MEMORY, key), held)

    def _derive(self, step: s.Derive) -> None:
        kind, key, columns = self.texts.derived(step.kind, step.key)
        edge = self.machine(step.at).replica.kinds["relationship"].rows.get(f"e{step.key}")
        if step.kind == "edge history" and (edge is None or edge.stamp.dead):
            return
        self.put(step.at, kind, key, columns)

    def _work(self, step: s.Work) -> None:
        columns = {"title": self.texts.plain(), "status": step.status}
        self.put(step.at, "task", f"t{step.key}", columns)

    def _seen(self, step: s.Seen) -> None:
        held = self.machine(step.at).replica.kinds["agent"].rows.get("a")
        text = held.values[0] if held is not None and not step.says else self.texts.plain()
        self.put(step.at, "agent", "a", {"description": text, "last_seen": self.texts.number()})

    # ---- what machines do -----------------------------------------------------------------------

    def _add(self, replica: MemoryReplica) -> Machine:
        clock = WorldClock(self.now)
        replica.clock = clock
        machine = Machine(len(self.machines), replica, clock, self.hub.connect())
        self.machines.append(machine)
        return machine

    def _sync(self, step: s.Sync) -> None:
        machine = self.machine(step.at)
        if machine.busy:
            return  # one sync of a file at a time
        machine.busy = True
        try:
            if step.fault or step.meanwhile:
                self._disturbed(machine, step)
            else:
                self.synced(machine)
        except (Crash, HubUnreachable):
            self._reached(machine)
        except HubRefused:
            require(self.is_revoked(machine), "a replica was refused that nobody revoked")
        finally:
            machine.busy = False
        check_cursors(self, machine)

    def _disturbed(self, machine: Machine, step: s.Sync) -> None:
        meanwhile: dict[int, list[s.Step]] = {}
        for call, other in step.meanwhile:
            meanwhile.setdefault(call, []).append(other)
        cuts = self.cuts
        line = Line(step.fault, meanwhile, self.play, lambda: self.cuts > cuts)
        replica = Tap(machine.replica, line, remote=False)
        hub = Tap(machine.hub, line, remote=True)
        report = sync(replica, hub, machine.clock)  # type: ignore[arg-type]
        self._reached(machine)
        check_report(self, machine, report)

    def _reached(self, machine: Machine) -> None:
        """The hub has moved on, and this machine knows."""
        self._next_moment()
        machine.met = self.moment

    def _backup(self, step: s.Backup) -> None:
        machine = self.machine(step.at)
        machine.backups.append((machine.replica.snapshot(), machine.met))

    def _restore(self, step: s.Restore) -> None:
        machine = self.machine(step.at)
        if not machine.backups or machine.busy:
            return
        file, met = machine.backups[-1 - step.which % len(machine.backups)]
        self._destroying(lambda: machine.replica.restore(file))
        machine.met, machine.suspect = met, True
        if step.noticed:
            machine.replica.succeed("the fingerprint differs")

    def _clone(self, step: s.Clone) -> None:
        machine = self.machine(step.at)
        if len(self.machines) == MACHINES_MAX:
            return
        twin = self._add(MemoryReplica(machine.replica.replica_id, self.hub_clock, self.draw))
        twin.replica.restore(machine.replica.snapshot())
        twin.met, twin.taken_back = machine.met, machine.taken_back
        twin.suspect = machine.suspect = True
        if step.noticed:
            twin.replica.succeed("the fingerprint differs")

    def _pass(self, step: s.Pass) -> None:
        self.now.ms += step.ms

    def _skew(self, step: s.Skew) -> None:
        clock = self.hub_clock if step.at == s.HUB else self.machine(step.at).clock
        clock.skew_ms = step.ms

    # ---- what befalls the hub -------------------------------------------------------------------

    def _rewind(self, step: s.HubRewind) -> None:
        if not self.backups:
            return
        state, moment = self.backups[-1 - step.which % len(self.backups)]
        self._destroying(lambda: self.hub.restore(state))
        self.moment = moment
        self._next_moment()
        self.cuts += 1

    def _revoke(self, step: s.Revoke) -> None:
        machine = self.machine(step.at)
        replica_id = machine.replica.replica_id
        if not step.undo:
            self.hub.state.revoke(replica_id)
            return
        self.take_back(machine)

    def take_back(self, machine: Machine) -> None:
        """An administrator undoes the revocation of every id of a file."""
        for one in (machine.replica.replica_id, *machine.replica.file.predecessors):
            if self.hub.state.registered(one).revoked:
                self.hub.state.take_back(one)
        for other in self.machines:
            other.taken_back = True

    def is_revoked(self, machine: Machine) -> bool:
        """Whether the hub refuses it."""
        file = machine.replica.file
        ids = (file.replica_id, *file.predecessors)
        return any(self.hub.state.registered(one).revoked for one in ids)

    def _damage(self, step: s.Damage) -> None:
        """Damage a row that waits nowhere; a machine verifies, and it is healed."""
        by = self.machine(step.by)
        key = f"m{step.key}"
        if by.busy or not self._is_settled(by, key) or self.is_revoked(by):
            return
        end = self.hub if step.at == s.HUB else self.machine(step.at).replica
        if end is not self.hub and end is not by.replica:
            return
        end.damage(MEMORY, key, self.texts.values_of_damage())
        self.synced(by)
        by.hub.hello(by.replica.hello())
        for table in TABLES:
            left = heal(by.replica, by.hub, table, damage(by.replica, by.hub, table))
            require(not left.keys, f"damage of {table.name} {sorted(left.keys)} was not healed")
        self._reached(by)

    def _is_settled(self, machine: Machine, key: str) -> bool:
        mine = machine.replica.kinds["memory"]
        theirs = self.hub.state.rows["memory"].get(key)
        held = mine.rows.get(key)
        same = held is not None and theirs is not None and held.stamp == theirs.stamp
        return same and not mine.unsent(key)

    # ---- what is known of it --------------------------------------------------------------------

    def _next_moment(self) -> None:
        new = len(self.before) + 1
        self.before[new] = self.moment
        self.moment = new

    def is_past(self, moment: int) -> bool:
        """Whether the hub, as it is, once was at that moment."""
        now: int | None = self.moment
        while now and now > moment:
            now = self.before[now]
        return now == moment

    def _destroying(self, act: Callable[[], None]) -> None:
        """Note which writes nobody carries any more after something was set back."""
        files = [machine.replica.file for machine in self.machines]
        before = self.truth.carried(self.hub.state, files)
        act()
        files = [machine.replica.file for machine in self.machines]
        for write in before - self.truth.carried(self.hub.state, files):
            write.lost = True
