"""Session logs of hosts (Claude Code, Codex, Gemini CLI): a file, or every one in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from satchel.errors import InvalidInput, SatchelError
from satchel.importing.files import unreadable
from satchel.importing.records import Fault, Place, Source, Talk
from satchel.transcripts.reading import read
from satchel.transcripts.turn import MENDED

SUFFIXES = (".jsonl", ".json")


def open_source(host: str, path: Path | None) -> Source:
    """The transcripts, each one record. Raises InvalidInput."""
    if path is None:
        raise InvalidInput("sessions are read from a file or folder, not stdin", field="path")
    left_out: dict[str, int] = {}
    if not path.is_dir():
        return Source(_talks(host, path.parent, [path.name], left_out), 1, left_out)
    names = sorted(_names(path))
    return Source(_talks(host, path, names, left_out), len(names), left_out)


def _names(root: Path) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise unreadable(root, error) from error

    for folder, _, files in os.walk(root, onerror=fail):
        for name in files:
            if Path(name).suffix in SUFFIXES:
                yield Path(folder, name).relative_to(root).as_posix()


def _talks(
    host: str, root: Path, names: list[str], left_out: dict[str, int]
) -> Iterator[Talk | Fault]:
    for name in names:
        try:
            found = read(root / name, host)
        except SatchelError as error:
            yield Fault(Place(file=name), error)
            continue
        for fault in found.faults:
            if fault.code in MENDED:
                left_out["unreadable characters"] = left_out.get("unreadable characters", 0) + 1
                continue
            yield Fault(Place(line=fault.line, file=name), InvalidInput(fault.message))
        if found.turns:
            yield Talk(place=Place(file=name), turns=found.turns)
        else:
            left_out["files without turns"] = left_out.get("files without turns", 0) + 1
