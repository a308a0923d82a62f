"""The auditor of one machine, as a store and the side database of reads are given it by each door.

It loads what records, and the crypto provider, with its first record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

    from satchel.audit.recorder import Recorder
    from satchel.config import Settings
    from satchel.store.activity import Trace
    from satchel.store.touched import Notes, Touched


class MachineAuditor:
    """`store.touched.Auditor` and `store.activity.ReadAuditor` of the home in the settings."""

    def __init__(self, settings: Settings) -> None:
        """Loads nothing yet."""
        self._settings = settings

    @cached_property
    def recorder(self) -> Recorder:
        """What makes the records, with the machine's key."""
        from satchel.audit.recorder import Recorder

        return Recorder(self._settings)

    def append(
        self,
        db: apsw.Connection,
        now_ms: int,
        actor: str | None,
        by_hand: Sequence[Touched],
        notes: Notes,
    ) -> None:
        """See `Auditor`: one record of a transaction, two where rows were written by hand."""
        if by_hand or notes.rows or notes.told or notes.stamps:
            self.recorder.append(db, now_ms, actor, by_hand, notes)

    def prepare(self, db: apsw.Connection) -> None:
        """See `ReadAuditor`."""
        self.recorder.prepare(db)

    def append_read(
        self, db: apsw.Connection, replica_id: bytes, trace: Trace, lost_before: int
    ) -> None:
        """See `ReadAuditor`."""
        self.recorder.append_read(db, replica_id, trace, lost_before)
