"""What readers tell: memories, edges, whole rows and talks, each with its place, and faults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError, describe

if TYPE_CHECKING:
    from satchel.transcripts.turn import Turn


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands: a line (from 1), a file of a folder, a name in the source, or several.

    None where there is no such thing.
    """

    line: int | None = None
    file: str | None = None
    record: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """What is known of it."""
        known = {"file": self.file, "line": self.line, "record": self.record}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Exported:
    """What satchel itself wrote beside a note: the id of the memory, and the hash of its text then.

    By the hash is told who changed it since: the one who edited the file, somebody here, or both.
    """

    id: str
    content_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One memory as the source has it; nothing in it is checked yet.

    `ref` names it within the source: edges point at it, and its id follows from it. `name` is shown
    and kept in place of a `ref` that is of no use to people. Times are ISO-8601 text, seconds or
    milliseconds. `agent` and `user` are whose it was; `replaced`: something took its place there.
    """

    place: Place
    ref: str
    content: object
    name: str | None = None
    title: object = None
    type: object = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: object = None
    confidence: object = None
    pinned: bool = False
    aliases: Sequence[object] = ()
    valid_from: object = None
    valid_to: object = None
    expires_at: object = None
    scope: str | None = None
    agent: object = None
    user: object = None
    replaced: bool = False
    exported: Exported | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge between two notes, by their refs.

    `replaces`: the first took the other's place. `loose`: where an end is missing, nothing is lost.
    """

    place: Place
    start: str
    end: str
    type: object
    replaces: bool = False
    loose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A row as satchel has it: kind, key, and columns by name.

    `refs` are columns that name notes of the source (one, or a list), to be put in by their ids.
    """

    place: Place
    kind: str
    key: object
    columns: Mapping[str, Any]
    refs: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """The turns of one transcript, or of one speaker's in a database; secrets are still in them."""

    place: Place
    turns: Sequence[Turn]
    agent: object = None
    user: object = None


@dataclass(frozen=True, slots=True)
class Fault:
    """A record that could not be read, or was refused, and why."""

    place: Place
    error: SatchelError

    def as_dict(self) -> dict[str, Any]:
        """Where, and the error as the doors show it; what is empty is left out."""
        told = {name: value for name, value in describe(self.error).items() if value}
        return {**self.place.as_dict(), **told}


Record = Note | Edge | Whole | Talk


@dataclass(frozen=True, slots=True)
class Source:
    """An opened source. `total` is how many records it has, where that is known beforehand.

    `left_out` fills with what the format holds and is not taken.
    """

    records: Iterator[Record | Fault]
    total: int | None = None
    left_out: dict[str, int] = field(default_factory=dict)
