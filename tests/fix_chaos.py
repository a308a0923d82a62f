"""Every acknowledged write of a wild history, and whether it won, was built on, or is in a journal.

Two versions of one key whose contents are equal count as one: the merge takes them so. Texts of
these tests are unique.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import apsw
import psycopg
from fix_machines import Fleet

from satchel.store import outbox, seal
from satchel_sync.stamp import SCRUBBED, Stamp, lineage_of
from satchel_sync.tables import BY_NAME, KINDS, Table

Place = tuple[str, str]
"""(kind, key)."""
Ask = Callable[[str], Iterable[Any]]
"""Runs a statement at an end of the fleet and gives its rows."""


@dataclass(frozen=True, slots=True)
class Note:
    """One write: the version that it made, what that was built on (newest first), and its text."""

    kind: str
    key: str
    version: str
    base: tuple[str, ...]
    text: str | None = None

    @property
    def place(self) -> Place:
        """(kind, key)."""
        return (self.kind, self.key)

    @property
    def stamp(self) -> Stamp:
        """The version."""
        return Stamp.parse(self.version)

    def line(self) -> str:
        """The note as a line of a log."""
        return json.dumps([self.kind, self.key, self.version, self.base, self.text])

    @staticmethod
    def parse(line: str) -> Note:
        """Inverse of `line`."""
        kind, key, version, base, text = json.loads(line)
        return Note(kind, key, version, tuple(base), text)


def noted(
    db: apsw.Connection, table: Table, key: str, write: Callable[[], object], text: str | None
) -> Note | None:
    """Do a write inside a transaction; the note of it, or None where it changed nothing."""
    before = outbox.row(db, table, key)
    write()
    seal.seal(db, 0)
    after = outbox.row(db, table, key)
    if after is None or (before is not None and before.stamp == after.stamp):
        return None
    base = () if before is None else (before.stamp.hex(), *lineage_of(before.lineage))
    return Note(table.name, key, after.stamp.hex(), base, text)


@dataclass(frozen=True, slots=True)
class Held:
    """A version that an end holds, as a row or in its journal, and what it builds on."""

    kind: str
    key: str
    version: str
    lineage: str
    journal: bool

    @property
    def place(self) -> Place:
        """(kind, key)."""
        return (self.kind, self.key)


def held_by(ask: Ask, schema: str) -> Iterator[Held]:
    """All versions of one end: of a file with the schema `main`, of the hub with `satchel`."""
    for kind in KINDS:
        table = BY_NAME[kind]
        stamp = f"{table.key}, life, hlc, origin, digest, lineage"
        for key, life, hlc, origin, digest, lineage in ask(f"SELECT {stamp} FROM {schema}.{kind}"):
            version = Stamp(life, hlc, bytes(origin), bytes(digest or bytes(8))).hex()
            yield Held(kind, key, version, lineage or "", False)
    for entry in ask(f"SELECT kind, key, version, lineage FROM {schema}.conflict"):
        yield Held(*entry, True)


@dataclass(slots=True)
class Ledger:
    """Notes of writes, and which of them were acknowledged and must not be lost."""

    notes: dict[tuple[Place, str], Note] = field(default_factory=dict)
    owed: dict[tuple[Place, str], Note] = field(default_factory=dict)

    def tried(self, note: Note) -> None:
        """Somebody is about to commit this; it may become what others build on."""
        self.notes.setdefault((note.place, note.version), note)

    def acknowledged(self, note: Note) -> None:
        """The commit returned."""
        self.tried(note)
        self.owed[note.place, note.version] = note

    def carried(self, held: Iterable[Held]) -> set[tuple[Place, str]]:
        """Every version that is held, or that a held one was built on."""
        todo = [(h.place, entry) for h in held for entry in (h.version, *lineage_of(h.lineage))]
        return self._with_bases(todo)

    def _with_bases(self, todo: list[tuple[Place, str]]) -> set[tuple[Place, str]]:
        found: set[tuple[Place, str]] = set()
        while todo:
            if (at := todo.pop()) in found:
                continue
            found.add(at)
            if note := self.notes.get(at):
                todo.extend((note.place, entry) for entry in note.base)
        return found

    def forgive(self, held: Iterable[Held]) -> None:
        """Something was destroyed: what nobody left holds any trace of is owed no more."""
        carried = self.carried(held)
        self.owed = {at: note for at, note in self.owed.items() if at in carried}

    def missing(self, held: Iterable[Held]) -> list[Note]:
        """Acknowledged writes that are neither held, nor built on, nor in a journal.

        A scrubbed row has swallowed all others of its key. A tombstone that lost says nothing, and
        what it was written over was deleted by one who had seen it.
        """
        held = list(held)
        deleted = self._with_bases([at for at, note in self.owed.items() if note.stamp.dead])
        carried = self.carried(held) | deleted
        scrubbed = {item.place for item in held if item.version == SCRUBBED.hex()}
        digests = {(place, version[-16:]) for place, version in carried}
        return [
            note
            for at, note in self.owed.items()
            if at not in carried
            and note.place not in scrubbed
            and not note.stamp.dead
            and (note.place, note.version[-16:]) not in digests
        ]

    def outlived(self, held: Iterable[Held]) -> list[Note]:
        """Acknowledged writes whose life is above the one that their row ended with."""
        lives = {h.place: Stamp.parse(h.version).life for h in held if not h.journal}
        return [n for n in self.owed.values() if n.stamp.life > lives.get(n.place, 0)]

    def forgotten(self) -> set[Place]:
        """Places whose forgetting was acknowledged, and not undone by a restore."""
        return {note.place for note in self.owed.values() if note.version == SCRUBBED.hex()}

    def texts(self, places: set[Place]) -> set[str]:
        """All that was ever written there, by anybody."""
        return {note.text for note in self.notes.values() if note.place in places and note.text}


def everything(fleet: Fleet, psql: psycopg.Connection[Any]) -> list[Held]:
    """What the hub and all files hold, rows and journals."""
    found = list(held_by(lambda query: psql.execute(query.encode()).fetchall(), "satchel"))
    for machine in fleet.machines.values():
        found += held_by(machine.sql, "main")
    return found


def words(fleet: Fleet, psql: psycopg.Connection[Any]) -> Iterator[tuple[str, str]]:
    """(where, all that stands there): the hub's tables, the machines' tables and their files."""
    tables = psql.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'satchel'").fetchall()
    for (table,) in tables:
        found = psql.execute(f"SELECT t::text FROM satchel.{table} AS t".encode()).fetchall()
        yield f"hub {table}", "\n".join(row for (row,) in found)
    for name, machine in fleet.machines.items():
        for (table,) in machine.sql("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            yield f"{name} {table}", repr(machine.sql(f'SELECT * FROM "{table}"'))
        for path in machine.store.home.glob(f"{machine.store.path.name}*"):
            yield f"{name} {path.name}", path.read_bytes().decode("latin-1")


class Tap:
    """An endpoint whose calls are counted, often together with those of another.

    `strike` is called with the number of each call, its name and whether it was done; what it does,
    the call suffers.
    """

    def __init__(
        self, target: object, calls: Iterator[int], strike: Callable[[int, str, bool], None]
    ) -> None:
        self._target, self._calls, self._strike = target, calls, strike

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._target, name)

        def call(*given: Any, **named: Any) -> Any:
            number = next(self._calls)
            self._strike(number, name, False)
            answer = method(*given, **named)
            self._strike(number, name, True)
            return answer

        return call
