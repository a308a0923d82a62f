"""Writing a file that somebody named: whole and durable under its name, or not there at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from satchel_crypto.private_file import settle


@contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file to write and read, mode 0600, that takes its name when the body has ended.

    Until then it lies beside it under another one. Raises OSError; FileExistsError where `path` is
    there already and is not to be written over.
    """
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{path} is there already")
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if overwrite:
            part.replace(path)
        else:
            os.link(part, path)  # unlike a rename it fails where the name was taken meanwhile
    finally:
        part.unlink(missing_ok=True)
    settle(path.parent)
