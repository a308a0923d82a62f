"""The files of a timer: written whole or not at all, readable by their user only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from satchel.errors import StoreUnusable
from satchel.whole_file import whole_file


def write_all(files: Mapping[Path, bytes]) -> bool:
    """Bring the files to that content; whether any had another. Raises StoreUnusable."""
    stale = {path: content for path, content in files.items() if read(path) != content}
    for path, content in stale.items():
        _replace(path, content)
    return bool(stale)


def read(path: Path) -> bytes | None:
    """A file's content; None when there is none. Raises StoreUnusable."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(path, error) from error


def delete_all(paths: Iterable[Path]) -> None:
    """Delete what is there. Raises StoreUnusable."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _unusable(path, error) from error


def _replace(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(path, overwrite=True) as file:
            file.write(content)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> StoreUnusable:
    return StoreUnusable(
        f"{path}: {error.strerror or error}", hint="this user must be able to read and write it"
    )
