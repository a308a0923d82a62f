"""What makes the records: of what a transaction touched, of what a reader was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.audit import chain, covering
from satchel.audit.scribe import Draft, Scribe
from satchel.protection import device_secrets, provider_of
from satchel.store import identity
from satchel.store.touched import TOOL, Notes, Touched
from satchel_crypto.audit_record import READ, READS, SEEN_LINK, SEEN_SEQ, WRITES, named, some
from satchel_crypto.file_system import flush_file

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.store.activity import Trace

ANCHOR_EACH_MS = 60 * 60 * 1000
"""How often a write names where the other chain stands, and removes what is too old."""
ANCHOR_AT_SYNC_MS = 60 * 1000
"""The same for a write that ends a sync."""
BY_HAND = "by hand"
"""Action of a record about rows that others than the program wrote."""
CHANGED = "changed"
"""Action of a record about rows that different things became of; `detail` counts them."""


class Recorder:
    """Appends to both chains of the home in the settings."""

    def __init__(self, settings: Settings) -> None:
        """The provider is loaded with the first record, and the key is made if there is none."""
        self._settings = settings
        secrets = device_secrets(settings.home)
        self._scribe = Scribe(lambda: provider_of(settings), secrets)
        self._seen: tuple[int, bytes] | None = None

    def append(
        self,
        db: apsw.Connection,
        now_ms: int,
        actor: str | None,
        by_hand: Sequence[Touched],
        notes: Notes,
    ) -> None:
        """Append what this transaction did to the chain of writes."""
        replica_id = identity.load(db)
        held = chain.kept(db, replica_id)
        each_ms = ANCHOR_AT_SYNC_MS if notes.told else ANCHOR_EACH_MS
        drafts = _drafts(actor, by_hand, notes)
        if held is not None and abs(now_ms - held.anchored_at) >= each_ms:
            drafts = [*self._tended(db, replica_id, held, now_ms), *drafts]
        self._scribe.append(db, WRITES, replica_id, now_ms, drafts, held)

    @staticmethod
    def prepare(db: apsw.Connection) -> None:
        """Make the tables of the chain of reads where they are not there yet."""
        chain.prepare(db)

    def append_read(
        self, db: apsw.Connection, replica_id: bytes, trace: Trace, lost_before: int
    ) -> None:
        """Append one read to the chain of reads, inside a write transaction of activity.db."""
        rows, more = some(trace.rows)
        detail: dict[str, str | int] = {"lost_before": lost_before} if lost_before else {}
        if trace.writes is not None and trace.writes != self._seen:
            seq, link = trace.writes
            detail |= {SEEN_SEQ: seq, SEEN_LINK: link.hex()}
        draft = Draft(
            action=READ,
            actor=_named(trace.actor),
            tool=trace.tool,
            rows=rows,
            more=more,
            detail=detail,
        )
        held = chain.kept(db, replica_id)
        self._scribe.append(db, READS, replica_id, trace.at, [draft], held)
        self._seen = trace.writes

    def _tended(
        self, db: apsw.Connection, replica_id: bytes, held: chain.Kept, now_ms: int
    ) -> list[Draft]:
        """Anchor both chains in each other and remove what is too old; the records about that.

        `held` is committed: it may be named in the other file. Where the log of this one is not
        waited for, it is brought to the disk first, or a power cut would leave a false alarm.
        """
        from satchel.audit import anchoring, rotation  # once an hour

        store = Path(str(db.filename))
        if self._settings.durability != "full":
            # SQLite holds no lock on its log that closing it here would drop.
            with suppress(OSError):
                flush_file(store.with_name(store.name + "-wal"))
        limits = rotation.limits(db, now_ms, self._settings.audit_keep_days)
        drafts = rotation.rotated(db, replica_id, WRITES, limits)
        return [*drafts, *anchoring.anchored(self._scribe, store.parent, held, now_ms, limits)]


def _drafts(actor: str | None, by_hand: Sequence[Touched], notes: Notes) -> list[Draft]:
    found = []
    if by_hand:
        found.append(_draft(BY_HAND, None, None, by_hand))
    if notes.rows:
        actions = {one.action for one in notes.rows}
        action = actions.pop() if len(actions) == 1 else CHANGED
        found.append(_draft(action, _named(actor), TOOL.get(), notes.rows))
    if notes.told:
        made, told = notes.told
        found.append(Draft(action=made, actor=_named(actor), detail=dict(told)))
    if notes.stamps is not None:
        found = found or [Draft(action=CHANGED, actor=_named(actor))]
        last, span = found[-1], covering.named(notes.stamps)
        found[-1] = Draft(
            last.action, last.actor, last.tool, last.rows, last.more, {**last.detail, **span}
        )
    return found


def _draft(action: str, actor: str | None, tool: str | None, rows: Sequence[Touched]) -> Draft:
    shown, more = some([(one.kind, one.key) for one in rows])
    counted = action in (BY_HAND, CHANGED)
    counts = Counter(one.action for one in rows) if counted else {}
    return Draft(action=action, actor=actor, tool=tool, rows=shown, more=more, detail=counts)


def _named(actor: str | None) -> str | None:
    return None if actor is None else named(actor)
