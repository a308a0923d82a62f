"""An export from its beginning to its answer: whole under its name, or not there at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from satchel.errors import ConfirmationNeeded, OutputFailed
from satchel.exporting import jsonl
from satchel.exporting.report import Report
from satchel.memory import audit
from satchel.whole_file import whole_file
from satchel_crypto.file_system import HERE
from satchel_sync.tables import KINDS

if TYPE_CHECKING:
    from satchel.replica import Replica
    from satchel_sync.progress import Progress

STDOUT = "-"
DOCUMENT_SUFFIXES = (".md", ".markdown")
FORMATS = ("jsonl", "markdown")


def export(
    replica: Replica,
    format: str,  # noqa: A002
    path: str,
    progress: Progress,
    *,
    overwrite: bool,
    vectors: bool = True,
) -> tuple[dict[str, Any], int]:
    """Write what the caller sees, in one of `FORMATS`.

    Answers with the exit code: 1 where a row could not be told. Markdown goes into a new folder, or
    into one document where `path` ends in .md or is stdout.

    Raises ConfirmationNeeded, OutputFailed.
    """
    replica.store.seal()  # what was written by hand has no history row yet
    report = Report()
    if format == "jsonl":
        kinds = [kind for kind in KINDS if vectors or kind != "embedding"]
        with _file(path, overwrite) as out:
            jsonl.write(replica, out, kinds, progress, report)
    else:
        _markdown(replica, path, progress, report, overwrite=overwrite)
    audit.record(replica, "export", report.rows)
    return {"format": format, "path": path, **report.as_dict()}, report.exit_code


def _markdown(
    replica: Replica, path: str, progress: Progress, report: Report, *, overwrite: bool
) -> None:
    from satchel.exporting import markdown  # with YAML, which the other format does not need

    if path == STDOUT or path.lower().endswith(DOCUMENT_SUFFIXES):
        with _file(path, overwrite) as out:
            for part in markdown.document(replica, progress, report):
                out.write(part.encode())
    else:
        with _folder(Path(path).expanduser()) as put:
            markdown.write_files(replica, put, progress, report)


@contextmanager
def _file(path: str, overwrite: bool) -> Iterator[BinaryIO]:
    """The file, or stdout, which is flushed at the end."""
    try:
        if path == STDOUT:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        with whole_file(Path(path).expanduser(), overwrite=overwrite) as out:
            yield out
    except FileExistsError as error:
        raise _there_already(path) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def _folder(path: Path) -> Iterator[Callable[[str, str], None]]:
    """What writes a file into a folder that takes its name when the body has ended."""
    try:
        if path.is_symlink() or (path.exists() and not (path.is_dir() and not any(path.iterdir()))):
            raise _there_already(str(path))
        part = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent))
        try:
            yield lambda name, text: _put(part / name, text)
            _settle(part)
            if path.exists():
                path.rmdir()
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        HERE.settle(path.parent)
    except OSError as error:
        raise _unwritable(str(path), error) from error


def _put(path: Path, text: str) -> None:
    """A new file that only its owner reads."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
        file.flush()
        HERE.flush(file.fileno())


def _settle(part: Path) -> None:
    """The names in it on the disk, before it takes its own."""
    for folder in (*(one for one in part.iterdir() if one.is_dir()), part):
        HERE.settle(folder)


def _there_already(path: str) -> ConfirmationNeeded:
    return ConfirmationNeeded(
        f"{path} is there already",
        hint="give another name; `--yes` writes over a file (never over a folder)",
        field="path",
    )


def _unwritable(path: str, error: OSError) -> OutputFailed:
    where = "stdout" if path == STDOUT else path
    return OutputFailed(f"{where} cannot be written: {error.strerror or error}", field="path")
