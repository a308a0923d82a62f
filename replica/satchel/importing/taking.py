"""Records go in, in batches: what is checked outside of a transaction, what is stored inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from satchel.errors import Refused, SatchelError
from satchel.importing import edges, exact, talks
from satchel.importing.notes import Notes
from satchel.importing.records import Edge, Fault, Note, Record, Talk, Whole
from satchel.importing.report import Report

BATCH_RECORDS = 250
"""Another process that writes waits for one batch at most: about 0.1 s."""
BATCH_CHARS = 4 * 1024 * 1024
"""Large texts make smaller batches."""
T = TypeVar("T")


class Taking:
    """One import on its way. What names other records waits until all of them are in."""

    def __init__(self, notes: Notes, report: Report, *, exact_rows: bool) -> None:
        """`exact_rows`: rows as they are may be taken, which is the operator's to ask for."""
        self._notes = notes
        self._report = report
        self._exact_rows = exact_rows
        self._edges: list[Edge] = []
        self._later: list[Whole] = []

    def take(self, records: Iterable[Record | Fault], moved: Callable[[], None]) -> None:
        """Store all of them; `moved` is called after each batch."""
        for batch in _batches(records):
            self._report.records += len(batch)
            self._take(batch)
            moved()
        for later in _parts(self._later, BATCH_RECORDS):
            self._store([], later)
        for part in _parts(self._edges, BATCH_RECORDS):
            with self._notes.replica.store.write(self._notes.replica.actor) as db:
                caller = self._notes.replica.caller
                edges.store(db, caller, part, self._notes.ids, self._report)

    def _take(self, batch: Sequence[Record | Fault]) -> None:
        notes, wholes = list[Note](), list[Whole]()
        for record in batch:
            match record:
                case Fault():
                    self._report.fail(record)
                case Note():
                    notes.append(record)
                case Edge():
                    self._edges.append(record)
                case Whole():
                    (self._later if record.refs else wholes).append(record)
                case Talk():
                    talks.store(self._notes.replica, record, self._notes.target, self._report)
        self._store(notes, wholes)

    def _store(self, notes: Sequence[Note], wholes: Sequence[Whole]) -> None:
        pairs = self._notes.drafts(notes)
        ready = list(self._ready(wholes))
        if not pairs and not ready:
            return
        with self._notes.replica.store.write(self._notes.replica.actor) as db:
            self._notes.store(db, pairs)
            exact.store(db, ready, self._report)

    def _ready(self, wholes: Iterable[Whole]) -> Iterator[exact.Ready]:
        for row in wholes:
            try:
                if not self._exact_rows:
                    raise Refused(
                        f"a {row.kind} as it is in the source is taken in by the operator only",
                        hint="run it without --agent and SATCHEL_AGENT",
                        field="kind",
                    )
                yield exact.ready(self._notes.replica.settings, row, self._notes.ids)
            except SatchelError as error:
                self._report.fail(Fault(row.place, error))


def _batches(records: Iterable[Record | Fault]) -> Iterator[list[Record | Fault]]:
    """Batches of so many records, or of so much text."""
    batch, chars = list[Record | Fault](), 0
    for record in records:
        batch.append(record)
        chars += _chars(record)
        if len(batch) >= BATCH_RECORDS or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _chars(record: Record | Fault) -> int:
    match record:
        case Note(content=str() as content):
            return len(content)
        case Whole(columns=columns):
            return sum(len(value) for value in columns.values() if isinstance(value, str))
        case _:
            return 0


def _parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
