"""Storing notes: new ones as memories, those that changed in their source as updates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError
from satchel.importing import returned
from satchel.importing.drafts import Draft, Origin, digest_of, draft_of
from satchel.importing.records import Exported, Fault, Note
from satchel.importing.report import Report
from satchel.importing.target import Target
from satchel.memory import ownership
from satchel.memory.interval import Moment, answers
from satchel.memory.lookup import can_see, require_change
from satchel.memory.ownership import Owner
from satchel.store import many, rows
from satchel_sync.tables import MEMORY, Memory

if TYPE_CHECKING:
    from apsw import Connection

    from satchel.replica import Replica

UPDATED = (
    *("content", "title", "type", "metadata", "aliases", "source", "importance", "confidence"),
    *("valid_from", "valid_to", "retired_at", "expires_at", "content_hash"),
)
"""Columns that a source which changed sets, where it says something."""
_OWNED = ("scope", "agent_id", "user_id", "session_id", "space", "local")
_AT = {name: place for place, name in enumerate(MEMORY.names)}

Pair = tuple[Note, Draft]


@dataclass
class Notes:
    """The notes of one import. `ids` is the memory of each ref; None where it was deleted here."""

    replica: Replica
    origin: Origin
    target: Target
    report: Report
    ids: dict[str, str | None] = field(default_factory=dict)

    def drafts(self, notes: Iterable[Note]) -> list[Pair]:
        """Notes that can be written; the others are faults. Outside of a transaction."""
        found = []
        for note in notes:
            try:
                found.append((note, draft_of(self.replica, note, self.origin, self.target)))
            except SatchelError as error:
                self.report.fail(Fault(note.place, error))
        return found

    def store(self, db: Connection, pairs: Sequence[Pair]) -> None:
        """Inside the write: insert what is new, update what changed, leave the rest."""
        pairs = self._settled(db, pairs)
        held = many.held(db, MEMORY, [draft.memory.id for _, draft in pairs])
        twins = self._twins(db, [draft.memory for _, draft in pairs])
        own = returned.held(db, self.replica.caller, [note for note, _ in pairs])
        gone = returned.deleted(db, [note for note, _ in pairs])
        new: dict[str, Memory] = {}
        for note, draft in pairs:
            memory = draft.memory
            twin = twins.get(_same(memory))
            if note.exported is not None and note.exported.id in own:
                self._return(db, note, draft, note.exported, own[note.exported.id])
            elif note.exported is not None and note.exported.id in gone:
                self._meet(db, note, draft, None)
            elif memory.id in new:
                self._note(note, memory.id, "exists")
            elif memory.id in held:
                self._meet(db, note, draft, held[memory.id])
            elif twin is not None and memory.valid_to is None:
                self._note(note, twin, "exists")
            else:
                new[memory.id] = memory
                twins[_same(memory)] = memory.id
                self._note(note, memory.id, "created")
                self.report.warn(note.place, draft.warnings)
        many.insert(db, MEMORY, [_whole(memory) for memory in new.values()])

    def _settled(self, db: Connection, pairs: Sequence[Pair]) -> list[Pair]:
        """Those whose owner may write where they go; an unknown space is made."""
        seen: dict[Owner, SatchelError | None] = {}
        found = []
        for note, draft in pairs:
            if draft.owner not in seen:
                seen[draft.owner] = self._settle(db, draft.owner)
            error = seen[draft.owner]
            if error is None:
                found.append((note, draft))
            else:
                self.report.fail(Fault(note.place, error))
        return found

    def _settle(self, db: Connection, owner: Owner) -> SatchelError | None:
        try:
            ownership.settle(db, self.replica.caller, owner, local=self.target.local)
        except SatchelError as error:
            return error
        return None

    def _meet(self, db: Connection, note: Note, draft: Draft, held: Sequence[Any] | None) -> None:
        """A memory of this source is here already."""
        if held is None:
            self.ids[note.ref] = None
            self.report.count("memory", "deleted")
            return
        if digest_of(held[_AT["metadata"]]) == draft.digest or self._is_over(held, draft):
            self._note(note, draft.memory.id, "exists")
            return
        try:
            require_change(db, self.replica.caller, "memory", draft.memory.id)
        except SatchelError as error:
            self.report.fail(Fault(note.place, error))
            return
        given = {name: getattr(draft.memory, name) for name in UPDATED}
        given = {name: value for name, value in given.items() if value is not None}
        rows.update(db, MEMORY, draft.memory.id, **given)
        self._note(note, draft.memory.id, "updated")
        self.report.warn(note.place, draft.warnings)

    def _return(
        self, db: Connection, note: Note, draft: Draft, exported: Exported, held: returned.Held
    ) -> None:
        """A memory of ours that was exported, and may have been edited in the file."""
        try:
            outcome = returned.meet(db, self.replica.caller, draft, exported, held)
        except SatchelError as error:
            self.report.fail(Fault(note.place, error))
            return
        self._note(note, exported.id, outcome)
        if outcome == "kept":
            told = f"memory {exported.id} was changed here too, and stays as it is"
            self.report.warn(note.place, [told])
        elif outcome == "updated":
            self.report.warn(note.place, draft.warnings)

    @staticmethod
    def _is_over(held: Sequence[Any], draft: Draft) -> bool:
        """Superseded here, and the source does not know: what it says now changes nothing."""
        return held[_AT["retired_at"]] is not None and draft.memory.retired_at is None

    def _note(self, note: Note, key: str, outcome: Any) -> None:
        self.ids[note.ref] = key
        self.report.count("memory", outcome)

    def _twins(self, db: Connection, memories: Sequence[Memory]) -> dict[tuple[Any, ...], str]:
        """Current memories with the text and the owner of one of these, as `write` finds them."""
        caller = self.replica.caller
        listed = ", ".join(f"t.{name}" for name in _OWNED)
        found: Any = db.execute(
            f"SELECT t.content_hash, {listed}, min(t.id) FROM json_each(:hashes) AS wanted"
            " CROSS JOIN memory AS t ON t.content_hash = wanted.value"
            f" WHERE {can_see(caller, 'memory')} AND {answers('t')}"
            f" GROUP BY t.content_hash, {listed}",
            {
                **caller.params,
                **Moment(now=self.replica.now_ms()).params,
                "hashes": json.dumps([memory.content_hash for memory in memories]),
            },
        )
        return {tuple(same): str(key) for *same, key in found}


def _same(memory: Memory) -> tuple[Any, ...]:
    return (memory.content_hash, *(getattr(memory, name) for name in _OWNED))


def _whole(memory: Memory) -> many.Whole:
    return memory.id, (*(getattr(memory, name) for name in MEMORY.names), None)
