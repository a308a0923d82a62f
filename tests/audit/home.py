"""One home under audit: write, read, tamper, and see what verify says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from fix_memory import StillClock
from hand import Hand, Rows

from satchel.audit import chain, reads
from satchel.audit.checking import Checked, check
from satchel.config import Settings
from satchel.memory import read
from satchel.memory.search import search
from satchel.memory.write import write
from satchel.replica import DATABASE_FILE, Replica, caller_of, open_store
from satchel_crypto.audit_record import READS, WRITES, Entry, Record

FILES = {WRITES: DATABASE_FILE, READS: "activity.db"}
HOUR_MS = 60 * 60 * 1000
DAY_MS = 24 * HOUR_MS


class Home:
    """A home; closed and opened again where a file is to be changed as a whole."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        told = {"user_id": "una", "embedding": "off", "durability": "process", **settings}
        self.settings = Settings(home=folder, **told)
        self.folder = folder
        self.clock = StillClock()
        self._hands: dict[str, Hand] = {}
        self.open()

    def open(self) -> None:
        """As every door does, but for the clock."""
        store = open_store(self.settings)
        store._clock = self.clock
        self.replica = Replica(store, self.settings, caller_of(self.settings))

    def close(self) -> None:
        self.replica.close()
        for hand in self._hands.values():
            hand.close()
        self._hands.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def write(self, text: str) -> str:
        """Remember something; its id."""
        self.clock.at_ms += 1
        return write(self.replica, text).id

    def read(self, *ids: str) -> None:
        self.clock.at_ms += 1
        read.get(self.replica, ids)
        self.replica.activity.wait()

    def search(self, query: str) -> None:
        search.search(self.replica, query)
        self.replica.activity.wait()

    def busy(self, times: int = 6) -> list[str]:
        """Some writes and reads; the ids written."""
        ids = [self.write(f"thing {self.clock.at_ms + n} of the workshop") for n in range(times)]
        for one in ids:
            self.read(one)
        return ids

    def later(self, ms: int = HOUR_MS) -> str:
        """A write so much later, which anchors both chains in each other."""
        self.clock.at_ms += ms
        return self.write(f"much later, at {self.clock.at_ms}")

    def records(self, name: str = WRITES) -> list[Record]:
        """The chain of the present replica id."""
        replica_id = self.replica.store.replica_id
        if name == WRITES:
            with self.replica.store.read() as db:
                return list(chain.records(db, replica_id))
        with reads.opened(self.folder) as there:
            return [] if there is None else list(chain.records(there, replica_id))

    def said(self, name: str = WRITES) -> list[Entry]:
        return [Entry.parse(record.body) for record in self.records(name)]

    def check(self) -> list[Checked]:
        return check(self.replica.store, self.settings)

    def breaks(self) -> list[tuple[str, int, str]]:
        """(chain, record, fault) of every break that verify names."""
        broken = [one.verdict.broken for one in self.check()]
        return [(one.chain, one.seq, one.fault.value) for one in broken if one is not None]

    def by_hand(self, name: str, statement: str, values: Sequence[Any] = ()) -> Rows:
        """A statement on the file of a chain, by a SQLite that knows nothing of satchel."""
        if name not in self._hands:
            self._hands[name] = Hand(self.folder / FILES[name])
        return self._hands[name].execute(statement, values)
