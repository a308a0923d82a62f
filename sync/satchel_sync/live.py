"""A sync that goes on: one attempt is kept open for as long as something moves.

A whole sync looks at all there is. A turn asks the hub for its bounds, one round trip, and moves
what moved since: no hello, no digest, no report. Those come with the end of the attempt, when it
has been quiet for a while. So an hour of turns costs the hub as much as some syncs do, and leaves
as few reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel_sync.changes import Access, AuditHeld
from satchel_sync.errors import SyncError
from satchel_sync.phases.finish import final, finish, stop
from satchel_sync.phases.handshake import handshake
from satchel_sync.ports import Clock, Hub, Replica
from satchel_sync.progress import Progress, silent
from satchel_sync.session import compare, move, settled, timed
from satchel_sync.tables import TABLES
from satchel_sync.tally import Tally

QUIET_S = 30.0
"""An attempt ends when nothing has moved for so long: what it did is reported and compared."""
OPEN_S_MAX = 300.0
"""And after so long at the latest, so that a digest and the audit's records come now and then."""
REST_S_MAX = 900.0
"""A machine on which nothing moves has a whole sync all the same: what no cursor finds, it does."""
ALL_SEQS = 2**63 - 1


@dataclass(slots=True)
class Attempt:
    """An attempt that is open: how it began, what it did so far, when something last moved."""

    link: str
    opened_s: float
    moved_s: float
    audit: Mapping[str, AuditHeld] | None = None
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class Rest:
    """Since when no attempt is open, and what the last one left aside."""

    since_s: float
    tally: Tally


class Live:
    """A replica and a hub that are kept equal turn by turn, on a connection that stays open.

    Seconds are a steady clock's. Others may sync the same file between two turns.
    """

    def __init__(self, replica: Replica, hub: Hub, clock: Clock) -> None:
        self._replica = replica
        self._hub = hub
        self._clock = clock
        self._attempt: Attempt | None = None
        self._rest: Rest | None = None
        self.began = self.moved = False
        """Whether the last turn opened an attempt; whether it found something to move."""

    def turn(self, now_s: float, progress: Progress = silent) -> dict[str, Any] | None:
        """Move what there is to move; the report of an attempt that ended with this turn.

        Raises SyncError's family: the attempt is over, its report is kept as that of any sync, and
        the next turn begins another.
        """
        self.began = self.moved = False
        try:
            self._leave_superseded()
            if self._attempt is not None:
                self._go_on(self._attempt, now_s, progress)
            elif not self._rests(now_s):
                self._begin(now_s, progress)
            return self.end(now_s) if self._is_over(now_s) else None
        except SyncError as error:
            self._stopped(error)
            raise

    def end(self, now_s: float) -> dict[str, Any] | None:
        """Compare both sides and close the attempt with its report; None where none is open."""
        attempt = self._attempt
        if attempt is None:
            return None
        try:
            compare(self._replica, self._hub, self._clock, attempt.tally)
            report = finish(self._replica, self._hub, attempt.tally, attempt.audit)
        except SyncError as error:
            self._stopped(error)
            raise
        self._attempt, self._rest = None, Rest(now_s, attempt.tally)
        return report

    # ---- below: one turn -------------------------------------------------------------------------

    def _begin(self, now_s: float, progress: Progress) -> None:
        """Say hello, reconcile if that is due, move what waits: all of a sync but its end."""
        self._rest, self.began = None, True
        self._attempt = attempt = Attempt("", now_s, now_s)
        tally, replica, hub, clock = attempt.tally, self._replica, self._hub, self._clock
        with timed(tally, clock, "handshake"):
            welcome = handshake(replica, hub, clock, tally)
        attempt.link, attempt.audit = replica.link(), welcome.audit
        seqs = settled(replica, hub, clock, welcome, tally, progress)
        self._move(attempt, seqs, progress)

    def _go_on(self, attempt: Attempt, now_s: float, progress: Progress) -> None:
        seqs = self._hub.bound()
        if self._set_back(seqs):
            # Only a hello can tell what became of the hub.
            self._close_there(attempt)
            self._begin(now_s, progress)
        elif self._waits(seqs, attempt.tally):
            self._move(attempt, seqs, progress)
            attempt.moved_s = now_s

    def _move(self, attempt: Attempt, seqs: Mapping[str, int], progress: Progress) -> None:
        self.moved = True
        attempt.tally.begun = self._replica.outbox_end()
        move(self._replica, self._hub, self._clock, seqs, attempt.tally, progress)

    def _rests(self, now_s: float) -> bool:
        """Whether no attempt is open and none is needed. A closed one still may ask for bounds."""
        rest = self._rest
        if rest is None or now_s - rest.since_s >= REST_S_MAX:
            return False
        seqs = self._hub.bound()
        return not (self._set_back(seqs) or self._waits(seqs, rest.tally))

    def _waits(self, seqs: Mapping[str, int], tally: Tally) -> bool:
        """Whether anything waits on either side, kinds that cannot travel left aside."""
        able = [table for table in TABLES if table.name not in tally.failed]
        if any(seqs.get(table.name, 0) > self._replica.cursor(table) for table in able):
            return True
        unsent = self._replica.unsent(ALL_SEQS) if tally.access == Access.OK else {}
        return any(table.name in unsent for table in able)

    def _set_back(self, seqs: Mapping[str, int]) -> bool:
        """Whether the hub has less than it gave us: it was restored from a backup."""
        held = [(table, seqs[table.name]) for table in TABLES if table.name in seqs]
        return any(seq < self._replica.cursor(table) for table, seq in held)

    def _is_over(self, now_s: float) -> bool:
        attempt = self._attempt
        if attempt is None:
            return False
        quiet, old = now_s - attempt.moved_s >= QUIET_S, now_s - attempt.opened_s >= OPEN_S_MAX
        return quiet or old or bool(self._replica.due())

    # ---- below: how an attempt ends before its time ----------------------------------------------

    def _leave_superseded(self) -> None:
        """Another process synced meanwhile: its attempt is the file's last link now."""
        attempt = self._attempt
        if attempt is not None and attempt.link != self._replica.link():
            self._close_there(attempt)

    def _close_there(self, attempt: Attempt) -> None:
        """Leave the hub the report of an attempt that is not the file's last any more."""
        self._attempt = None
        self._hub.bye(final(self._replica, attempt.tally))

    def _stopped(self, error: SyncError) -> None:
        attempt, self._attempt, self._rest = self._attempt, None, None
        if attempt is not None:
            stop(self._replica, attempt.tally, error)
