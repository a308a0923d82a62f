"""satchel's own export: a row a line, `{"kind", the key, every column}`; nothing in it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from satchel.errors import InvalidInput, SatchelError
from satchel.importing.documents import load
from satchel.importing.files import lines, opened
from satchel.importing.records import Fault, Place, Source, Whole
from satchel_sync.tables import BY_NAME, KINDS


def open_source(path: Path | None) -> Source:
    """The rows of a file; it is read line by line, however large it is."""
    return Source(_records(path), total=None if path is None else _count(path))


def _count(path: Path) -> int:
    with opened(path) as file:
        return sum(1 for _ in lines(file))


def _records(path: Path | None) -> Iterator[Whole | Fault]:
    with opened(path) as file:
        for line in lines(file):
            if isinstance(line, Fault):
                yield line
                continue
            try:
                yield _row(*line)
            except SatchelError as error:
                yield Fault(line[0], error)


def _row(place: Place, raw: bytes) -> Whole:
    columns = load(raw)
    if not isinstance(columns, dict):
        raise InvalidInput("the line is no JSON object")
    kind = columns.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(KINDS)
        raise InvalidInput(f"`kind` is {str(kind)[:60]!r}, must be one of: {known}", field="kind")
    if BY_NAME[kind].column("kind") is not None:  # told beside the row's: `message_kind`
        columns["kind"] = columns.pop(f"{kind}_kind", None)
    key = columns.pop(BY_NAME[kind].key, None)
    return Whole(
        place=Place(line=place.line, record=f"{kind} {str(key)[:80]}"),
        kind=kind,
        key=key,
        columns=columns,
    )
