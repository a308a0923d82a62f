"""Following the database: a file, or memory where there can be none, is brought to its state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import apsw

from satchel.vectors.errors import Damaged, Unwritable
from satchel.vectors.format import FIRST_SOURCE, Header
from satchel.vectors.groups import Groups, owner_of
from satchel.vectors.image import Image, in_memory
from satchel.vectors.place import Opened, Place
from satchel.vectors.source import Source, params_of
from satchel.vectors.writing import Full, Pen, Record, into_file, into_image, into_memory

if TYPE_CHECKING:
    from satchel.ranking.contract import Ranking
    from satchel.vectors.place import Mark

READ_AT_ONCE = 1_000
ROOM_MIN = 1_000
REBUILD_WAIT_S = 60
"""Whoever finds that another process makes the file now waits so long for it."""


class Held(NamedTuple):
    """Vectors at one state of the database: an image, and in a second one what came since.

    The second is there only while the file cannot be written: another process has the lock, or the
    folder is read-only. `masked` are records of the first that count no longer.
    """

    base: Image
    mark: Mark | None
    """Of the file; None for an image in memory."""
    tail: Image | None = None
    masked: frozenset[int] = frozenset()
    later: frozenset[int] = frozenset()
    """Sources that changed behind the snapshot that is read: of these the records say nothing."""

    @property
    def counter(self) -> int:
        """The change of the database up to which everything is here."""
        return (self.tail or self.base).header.counter

    @property
    def records(self) -> int:
        """Records, masked ones included."""
        return sum(image.header.records for image in self.images)

    @property
    def images(self) -> tuple[Image, ...]:
        """One or two images."""
        return (self.base, self.tail) if self.tail else (self.base,)


class Change(NamedTuple):
    """What changed behind a number: sources, and the records that they are now."""

    sources: list[int]
    records: list[Record]


class Follower:
    """The vectors of one kind and model, in one process; one thread at a time."""

    def __init__(self, place: Place, source: Source, model_id: str, ranking: Ranking) -> None:
        """Nothing is read yet."""
        self.place, self.source, self.ranking = place, source, ranking
        self.params = params_of(model_id, place.dims)
        self.notice: str | None = None
        """Why vectors are held in memory; None while they are in the file."""
        self._held: Held | None = None

    def current(self, db: apsw.Connection) -> Held:
        """What `db` sees."""
        newest = self._newest(db)
        held = self._held
        if held and held.counter == newest and held.mark in (None, self.place.mark()):
            return held
        held = self._reopened()
        if held and not self._knows(db, held.counter):
            later = self._later(db, held.counter)
            if later is not None:
                return held._replace(later=later)
            held = None
        return self._moved_on(db, held or self.rebuild(db), newest)

    def _moved_on(self, db: apsw.Connection, held: Held, newest: int) -> Held:
        if held.counter != newest:
            later = None if self._knows(db, held.counter) else self._later(db, held.counter)
            if later is not None:
                return held._replace(later=later)
            held = self._caught_up(db, held, newest)
        self._held = held
        return held

    def is_written(self, held: Held) -> bool:
        """Whether anybody has written since: then records may have been masked under a scan."""
        if held.mark:
            return held.mark != self.place.mark()
        return self._held is None or self._held.counter != held.counter

    def rebuild(self, db: apsw.Connection, bad: Held | None = None, reason: str = "") -> Held:
        """Make everything anew from the database, as a file where that can be.

        A file that another process made meanwhile will do, unless it is the `bad` one.
        """
        if reason:
            self._warn_of(reason)
        self._held = None
        if not _in_write(db):
            try:
                with self.place.locked(REBUILD_WAIT_S) as got:
                    if got:
                        self._held = self._made_meanwhile(db, bad) or self._new_file(db)
                        return self._held
                self._say("another process has been making the file for too long")
            except Unwritable as error:
                self._say(str(error))
        image = in_memory(self._empty(db))
        pen = Pen(into_memory(image.buffer), image.header, image.groups)
        self._held = Held(image.under(self._fill(pen, db)), None)
        return self._held

    def _reopened(self) -> Held | None:
        """What this process has, with what others did to the file since; None for nothing good."""
        held = self._held
        if held and held.mark and held.mark == self.place.mark():
            return held
        try:
            opened = self.place.open(Opened(held.base, held.mark) if held and held.mark else None)
        except Damaged as error:
            if held is None or held.mark:
                self._warn_of(str(error))
            opened = None
        if opened:
            return self._in_file(opened)
        return held if held and held.mark is None else None

    def _in_file(self, opened: Opened) -> Held:
        self.notice = None
        return Held(opened.image, opened.mark)

    def _made_meanwhile(self, db: apsw.Connection, bad: Held | None) -> Held | None:
        try:
            opened = self.place.open()
        except Damaged:
            return None
        if opened is None or (bad and bad.mark and bad.mark.inode == opened.mark.inode):
            return None
        counter = opened.image.header.counter
        known = self._knows(db, counter) or self._later(db, counter) is not None
        return self._in_file(opened) if known else None

    def _new_file(self, db: apsw.Connection) -> Held:
        """With the lock: write a new file and open it."""
        header = self._empty(db)
        with self.place.replacing(header) as file:
            self._fill(Pen(into_file(file), header, Groups()), db)
        opened = self.place.open()
        if opened is None:
            raise Unwritable(f"{self.place.path} was removed while it was made")
        return self._in_file(opened)

    def _empty(self, db: apsw.Connection) -> Header:
        """A header with room for all there is, and a quarter more."""
        count: Any = db.execute(f"SELECT count(*) FROM {self.source.table}").get
        return self._header(count + count // 4 + ROOM_MIN, 0)

    def _header(self, capacity: int, counter: int) -> Header:
        place = self.place
        return Header(
            place.replica_id,
            place.name,
            place.dims,
            capacity,
            records=0,
            masked=0,
            ordered=0,
            counter=counter,
            last_source=FIRST_SOURCE,
            table_bytes=0,
            table_check=0,
            stamp_ns=0,
        )

    def _fill(self, pen: Pen, db: apsw.Connection) -> Header:
        found = iter(db.execute(self.source.all, self.params))
        for records in _batches(found):
            pen.append(self.ranking, records)
        return pen.finish(self._newest(db))

    def _caught_up(self, db: apsw.Connection, held: Held, newest: int) -> Held:
        """With what changed since: in the file where it can be written, else in memory."""
        if held.mark and not _in_write(db):
            try:
                with self.place.locked() as got:
                    if got:
                        return self._in_file_now(db, newest)
            except Unwritable as error:
                self._say(str(error))
        return self._in_memory_now(db, held, newest)

    def _in_file_now(self, db: apsw.Connection, newest: int) -> Held:
        """With the lock: another process may have written just before."""
        held = self._reopened()
        if held is None or held.mark is None or not self._knows(db, held.base.header.counter):
            return self._new_file(db)
        base = held.base
        if base.header.counter == newest:
            return Held(base, held.mark)
        try:
            with self.place.writing() as file:
                header = self._apply(
                    Pen(into_image(file, base), base.header, base.groups),
                    base,
                    self._changes(db, base.header.counter),
                    newest,
                )
        except Full:
            return self._new_file(db)
        self.notice = None
        # What vanished meanwhile still is a file: its map cannot be written to.
        return Held(base.under(header), self.place.mark() or held.mark)

    def _in_memory_now(self, db: apsw.Connection, held: Held, newest: int) -> Held:
        change = self._changes(db, held.counter)
        image, masked = held.base, held.masked
        if held.mark:
            counter = held.base.header.counter
            image = held.tail or in_memory(self._header(ROOM_MIN + len(change.records), counter))
            masked = masked.union(held.base.find(change.sources))
        try:
            pen = Pen(into_memory(image.buffer), image.header, image.groups)
            header = self._apply(pen, image, change, newest)
        except Full:
            return self._roomier(db, held, newest)
        image = image.under(header)
        return Held(held.base, held.mark, image, masked) if held.mark else Held(image, None)

    def _roomier(self, db: apsw.Connection, held: Held, newest: int) -> Held:
        """What is in memory anew, with more room and without what is masked."""
        if held.mark is None:
            return self.rebuild(db)
        change = self._changes(db, held.base.header.counter)
        tail = in_memory(self._header(2 * len(change.records) + ROOM_MIN, held.base.header.counter))
        pen = Pen(into_memory(tail.buffer), tail.header, tail.groups)
        tail = tail.under(self._apply(pen, tail, change, newest))
        return Held(held.base, held.mark, tail, frozenset(held.base.find(change.sources)))

    def _apply(self, pen: Pen, image: Image, change: Change, newest: int) -> Header:
        """Raises Full where there is no room, or too much of it is taken by masked records."""
        gone = image.find(change.sources)
        if image.header.masked + len(gone) > max(ROOM_MIN, image.header.records // 2):
            raise Full
        if image.header.records + len(change.records) > image.header.capacity:
            raise Full
        pen.mask(gone)
        pen.append(self.ranking, change.records)
        return pen.finish(newest)

    def _changes(self, db: apsw.Connection, counter: int) -> Change:
        asked = {**self.params, "counter": counter}
        found: list[Any] = db.execute(self.source.changes, asked).fetchall()
        records = [_record(one) for one in found if one[1] is not None]
        return Change([int(one[0]) for one in found], records)

    def _newest(self, db: apsw.Connection) -> int:
        return cast("int | None", db.execute(self.source.newest).get) or 0

    def _knows(self, db: apsw.Connection, counter: int) -> bool:
        """Whether the database has stood at this number: else it is another one, or an older."""
        return bool(db.execute(self.source.known, (counter,)).get)

    def _later(self, db: apsw.Connection, counter: int) -> frozenset[int] | None:
        """The sources that changed since the snapshot that `db` reads, if that is all there is.

        None where a reader of just now does not know the number of the file either.
        """
        if _in_write(db):
            return None
        fresh = apsw.Connection(db.filename, flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if not self._knows(fresh, counter):
                return None
            found: Any = fresh.execute(self.source.changed, (self._newest(db),))
            return frozenset(source for (source,) in found)
        finally:
            fresh.close()

    def _warn_of(self, reason: str) -> None:
        import logging  # few commands have anything to log

        logging.getLogger(__name__).warning("%s is made anew: %s", self.place.path, reason)

    def _say(self, reason: str) -> None:
        if self.notice is None:
            import logging  # few commands have anything to log

            logging.getLogger(__name__).warning("vectors are held in memory: %s", reason)
        self.notice = f"vectors are held in memory: {reason}"


def _batches(found: Iterator[Any]) -> Iterator[list[Record]]:
    while batch := [_record(one) for one in islice(found, READ_AT_ONCE)]:
        yield batch


def _record(found: Any) -> Record:
    source, row, scope, name, vector = found
    return Record(source, row, owner_of(scope, name), vector)


def _in_write(db: apsw.Connection) -> bool:
    """Whether `db` is inside a write: what it sees may be rolled back."""
    return db.txn_state() == apsw.SQLITE_TXN_WRITE
