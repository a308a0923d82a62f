"""Both replicas as the audit meets them: in memory, and the real one with its auditor's chains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
from fix_sync import FakeClock

from satchel.audit import chain, reads
from satchel.audit.outbox import AuditOutbox
from satchel.audit.rotation import SENT
from satchel.audit.scribe import Draft, Scribe
from satchel.config import Settings
from satchel.protection import device_secrets, provider_of
from satchel.store.connection import Store
from satchel.store.endpoint import SqliteReplica
from satchel.store.meta import meta
from satchel_sync import limits
from satchel_sync.in_memory.replica import MemoryReplica
from satchel_sync.ports import Replica


@dataclass
class AuditSide:
    """A replica, how its chains grow and are pruned, and what it keeps of what was sent."""

    replica: Replica
    note: Callable[[str, int], None]
    prune: Callable[[str, int], None]
    sent: Callable[[], dict[str, int]]
    forge: Callable[[str, int], None]
    lose: Callable[[str], None]
    replica_id: Callable[[], bytes]


def memory_side() -> AuditSide:
    held = MemoryReplica(b"\x01" * 16, FakeClock())

    def note(name: str, count: int) -> None:
        for _ in range(count):
            held.note(name, "write")

    def forge(name: str, seq: int) -> None:
        kept = held.file.audit[name]
        held.file.audit[name] = kept[: seq - kept[0].seq]
        held.note(name, "forged")

    return AuditSide(
        held,
        note,
        held.prune,
        lambda: held.file.audit_sent,
        forge,
        lambda name: held.file.audit[name].clear(),
        lambda: held.replica_id,
    )


class SqliteAudit:
    """The real one; records are appended as the auditor does it."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self.scribe = Scribe(lambda: provider_of(settings), device_secrets(settings.home))

    def note(self, name: str, count: int) -> None:
        self._append(name, lambda _: [Draft(action="write")] * count)

    def prune(self, name: str, upto: int) -> None:
        def cut(db: apsw.Connection) -> list[Draft]:
            (found,) = chain.records(db, self.store.replica_id, after=upto - 1, limit=1)
            db.execute("DELETE FROM audit WHERE seq <= ?", (upto,))
            return [Draft(action="rotated", detail={"seq": upto, "link": found.link.hex()})]

        self._append(name, cut)

    def forge(self, name: str, seq: int) -> None:
        def forged(db: apsw.Connection) -> list[Draft]:
            db.execute("DELETE FROM audit WHERE seq >= ?", (seq,))
            db.execute("DELETE FROM audit_head")
            return [Draft(action="forged")]

        self._append(name, forged)

    def lose(self, name: str) -> None:
        assert name == "reads"
        (self.settings.home / "activity.db").unlink()

    def _append(self, name: str, drafts: Callable[[apsw.Connection], list[Draft]]) -> None:
        with ExitStack() as stack:
            if name == "writes":
                db = stack.enter_context(self.store.write())
            else:
                db = stack.enter_context(reads.connected(self.settings.home))
                db.execute("BEGIN IMMEDIATE")
            replica_id, made = self.store.replica_id, drafts(db)
            self.scribe.append(db, name, replica_id, 5, made, chain.kept(db, replica_id))
            if name == "reads":
                db.execute("COMMIT")


@pytest.fixture(name="side", params=["memory", "sqlite"])
def audit_side(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuditSide]:
    """A fresh replica whose chains are empty."""
    if request.param == "memory":
        yield memory_side()
        return
    settings = Settings(home=tmp_path, durability="process")
    with Store.open(tmp_path / "satchel.db", durability="process", clock=FakeClock()) as store:
        replica = SqliteReplica(store, audit=AuditOutbox(store, settings))
        made = SqliteAudit(store, settings)

        def sent() -> dict[str, int]:
            replica.record({"exit": 0})
            with store.read() as db:
                return dict(json.loads(meta(db, SENT) or "{}"))

        yield AuditSide(
            replica,
            made.note,
            made.prune,
            sent,
            made.forge,
            made.lose,
            lambda: store.replica_id,
        )


@pytest.fixture(name="small")
def small_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of four records."""
    monkeypatch.setattr(limits, "AUDIT_ROWS_MAX", 4)
