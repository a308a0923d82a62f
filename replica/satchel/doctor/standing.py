"""How this machine stands: its stamps, its syncs, what was forgotten, both chains of the audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from satchel.doctor.check import Check, Mend, failed
from satchel.memory.moments import iso
from satchel.replica import open_replica
from satchel.store import wiping
from satchel_crypto.errors import CryptoError
from satchel_sync import clock
from satchel_sync.stamp import SCRUBBED
from satchel_sync.tables import TABLES

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.replica import Replica

_NEWEST = f"SELECT max(hlc) FROM {{}} WHERE hlc < {SCRUBBED.hlc}"
AHEAD_MS = 5 * 60 * 1000
"""A stamp that is further ahead than this does not move a clock (see docs/SYNC.md)."""


def standing(opened: Replica) -> Iterator[Check]:
    """Each by itself: one that cannot be looked at says so, the others go on."""
    yield _stamps(opened)
    yield _syncs(opened)
    yield _forgotten(opened)
    yield _audit(opened)


def _stamps(opened: Replica) -> Check:
    with opened.store.read() as db:
        newest = max(db.execute(_NEWEST.format(one.name)).get or 0 for one in TABLES)
    if not newest:
        return Check(name="stamps", ok="ok", found="no rows yet")
    at_ms, now_ms = clock.wall_ms(newest), opened.now_ms()
    found = f"newest {iso(at_ms)}, this machine's clock {iso(now_ms)}"
    return Check(name="stamps", ok="warn" if at_ms - now_ms > AHEAD_MS else "ok", found=found)


def _syncs(opened: Replica) -> Check:
    from satchel.syncing.status import status

    told = status(opened.store)
    if told["reconcile_due"]:
        return Check(
            name="sync",
            ok="warn",
            found=f"a reconcile is due: {told['reconcile_due']}",
            why="until then neither side is sure to hold what the other has",
            fix="`satchel sync` does it",
        )
    if told["stuck"]:
        return Check(name="sync", ok="fail", found=told["stuck"])
    last = told["last_sync"]
    return Check(name="sync", ok="ok", found=f"last sync: {last}" if last else "no sync yet")


def _forgotten(opened: Replica) -> Check:
    with opened.store.read() as db:
        owed = wiping.owed(db)
    if not owed:
        return Check(name="forgotten", ok="ok", found="no traces")
    mend = Mend(does="take out the traces", run=lambda: _wipe(opened.settings))
    found = f"{len(owed)} forgotten rows may have left traces in files"
    return Check(name="forgotten", ok="warn", found=found, mends=(mend,))


def _wipe(settings: Settings) -> str:
    """Raises StoreBusy."""
    with open_replica(settings) as opened:
        whole = wiping.wipe(opened.store, compact_bytes_max=wiping.COMPACT_ASKED_BYTES_MAX)
    return "took out all traces" if whole else "took them out; the file is too large to be packed"


def _audit(opened: Replica) -> Check:
    from satchel.audit.health import health

    try:
        verdict, found, fix = health(opened.store, opened.settings)
    except CryptoError as error:
        return failed("audit", error)
    return Check(name="audit", ok=verdict, found=found, fix=fix)
