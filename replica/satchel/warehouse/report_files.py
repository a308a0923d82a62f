"""Where a report goes: stdout, a file, or a folder with a file for each of its sections."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, InvalidInput, OutputFailed
from satchel.warehouse import reports
from satchel.whole_file import whole_file

if TYPE_CHECKING:
    from satchel_warehouse.reports.report import Part, Read

BINARY = ("html", "parquet")
"""Not for a terminal."""


def to_stdout(found: Read, format: str) -> None:  # noqa: A002
    """The whole report, or its one section. Raises InvalidInput, BrokenPipeError, OutputFailed."""
    part = None
    if format in reports.BY_SECTION:
        part = _only(found, format)
    try:
        reports.write(found, format, sys.stdout.buffer, part)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable("stdout", error) from error


def to_path(found: Read, format: str, path: Path, *, overwrite: bool) -> list[str]:  # noqa: A002
    """The files that were written: `path`, or in a folder of that name one for each section.

    Each is whole under its name or not there. Raises ConfirmationNeeded, OutputFailed.
    """
    if format not in reports.BY_SECTION or len(found.parts) == 1:
        _put(found, format, path, found.parts[0], overwrite=overwrite)
        return [str(path)]
    try:
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise _unwritable(str(path), error) from error
    files = [(path / f"{part.section.name}.{format}", part) for part in found.parts]
    for file, _ in files:
        if file.exists() and not overwrite:
            raise _there_already(file)
    for file, part in files:
        _put(found, format, file, part, overwrite=overwrite)
    return [str(file) for file, _ in files]


def _put(found: Read, format: str, path: Path, part: Part, *, overwrite: bool) -> None:  # noqa: A002
    whole = io.BytesIO()
    reports.write(found, format, whole, part)
    try:
        with whole_file(path, overwrite=overwrite) as out:
            out.write(whole.getbuffer())
    except FileExistsError as error:
        raise _there_already(path) from error
    except OSError as error:
        raise _unwritable(str(path), error) from error


def _only(found: Read, format: str) -> Part:  # noqa: A002
    if len(found.parts) == 1:
        return found.parts[0]
    names = ", ".join(part.section.name for part in found.parts)
    raise InvalidInput(
        f"{format} holds one table, and the report {found.report.name} has {len(found.parts)}",
        hint=f"`--section NAME`, or `--out FOLDER` for a file of each; sections: {names}",
        field="section",
    )


def answer(found: Read, format: str, files: list[str]) -> dict[str, Any]:  # noqa: A002
    """What a command says of the files that it wrote."""
    return {
        "report": found.report.name,
        "format": format,
        "files": files,
        "since": found.scope.since.isoformat(),
        "until": found.scope.until.isoformat(),
        "sections": len(found.parts),
        "rows": sum(len(part.rows) for part in found.parts),
    }


def _there_already(path: Path) -> ConfirmationNeeded:
    return ConfirmationNeeded(
        f"{path} is there already",
        hint="give another name, or `--yes` to write over it",
        field="out",
    )


def _unwritable(where: str, error: OSError) -> OutputFailed:
    return OutputFailed(f"{where} cannot be written: {error.strerror or error}", field="out")
