"""What becomes of a machine's file: backups, restores, clones, noticed at once or by the hub."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
from fix_machines import Fleet, Machine
from fix_memory import StillClock

from satchel.replica import DATABASE_FILE
from satchel.store import fingerprint
from satchel.store.connection import Store
from satchel_warehouse.endpoint import WarehouseHub


def saved(machine: Machine) -> Path:
    """A backup of a machine's file as it is now."""
    number = len(list(machine.store.home.glob("*.backup")))
    target = machine.store.home / f"{number}.backup"
    source = apsw.Connection(str(machine.store.path))
    copy = apsw.Connection(str(target))
    with copy.backup("main", source, "main") as backup:
        backup.step()
    copy.close()
    source.close()
    return target


def put_back(machine: Machine, backup: Path, *, noticed: bool) -> None:
    """Put a backup in the place of the machine's file.

    Noticed: as a new file. Unnoticed: written into the old one, so its fingerprint still fits.
    """
    path, store = machine.store.path, machine.store
    store.close()
    for tail in ("-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    if noticed:
        draft = path.with_suffix(".draft")
        shutil.copy(backup, draft)
        draft.replace(path)
    else:
        path.write_bytes(backup.read_bytes())
    machine.store = opened(path, machine.clock)


def cloned(fleet: Fleet, machine: Machine, name: str, *, noticed: bool) -> Machine:
    """A second machine with a copy of the file and the same login, its clock at the same time.

    Unnoticed: as where a whole disk is cloned, and no fingerprint can tell.
    """
    path = fleet.folder / name / DATABASE_FILE
    path.parent.mkdir()
    shutil.move(saved(machine), path)
    if not noticed:
        db = apsw.Connection(str(path))
        db.execute("UPDATE meta SET value = ? WHERE name = 'fingerprint'", (fingerprint.of(path),))
        db.close()
    clock = StillClock(machine.clock.at_ms)
    hub = WarehouseHub(machine.hub._dsn)
    fleet.machines[name] = Machine(opened(path, clock), clock, hub)
    return fleet.machines[name]


def opened(path: Path, clock: StillClock) -> Store:
    """A store as `Fleet.machine` opens it."""
    return Store.open(path, durability="process", clock=clock)
