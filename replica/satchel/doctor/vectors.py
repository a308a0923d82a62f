"""The files of vectors: each is read whole; none is the truth, so a bad one is a warning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.doctor.check import Check, Mend
from satchel.doctor.fault import words
from satchel.doctor.writer_lock import writer_lock

if TYPE_CHECKING:
    from satchel.config import Settings


def vectors(settings: Settings, replica_id: bytes) -> Check:
    """Every file in its folder, and what keeps a file from being used."""
    from satchel.vectors.place import FOLDER

    folder = settings.home / FOLDER
    if not os.path.lexists(folder):
        found = f"no {folder} yet: the first search by meaning makes it"
        return Check(name="vectors", ok="ok", found=found)
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Check(
            name="vectors",
            ok="warn",
            found=f"{folder} is no folder that this user can write to",
            why="every process makes the vectors anew, in its memory",
            fix=f"let this user write to that folder, or remove it: rm -r {words(folder)}",
        )
    told = {path: _told(path, settings.home, replica_id) for path in sorted(folder.glob("*.vec"))}
    found = "; ".join(said for said, _ in told.values()) or f"{folder} is empty"
    bad = [path for path, (_, usable) in told.items() if not usable]
    if not bad:
        return Check(name="vectors", ok="ok", found=found)
    fix = ""
    mends: tuple[Mend, ...] = ()
    if folders := [path for path in bad if _is_folder(path)]:
        fix = "; ".join(f"move it away: mv {words(path, f'{path}.old')}" for path in folders)
    if files := [path for path in bad if path not in folders]:
        fix = f"`satchel doctor --fix`; {fix}" if fix else ""
        mends = (_removal(files, settings.home, replica_id),)
    return Check(name="vectors", ok="warn", found=found, fix=fix, mends=mends)


def _is_folder(path: Path) -> bool:
    """None of ours: what is in it was put there by somebody."""
    return path.is_dir() and not path.is_symlink()


def _removal(files: list[Path], home: Path, replica_id: bytes) -> Mend:
    return Mend(
        does=f"remove {_named(files)}",
        removes=True,
        run=lambda: _remove(files, home, replica_id),
    )


def _remove(paths: list[Path], home: Path, replica_id: bytes) -> str:
    """Each that is still bad, once nobody writes it: another may have made it anew meanwhile."""
    done = [path for path in paths if _removed(path, home, replica_id)]
    left = [path for path in paths if path not in done]
    said = [f"removed {_named(done)}"] if done else []
    said += [f"left {_named(left)}: it was made anew, or somebody writes it"] if left else []
    return "; ".join(said)


def _removed(path: Path, home: Path, replica_id: bytes) -> bool:
    with writer_lock(path) as ours:
        if not ours or (os.path.lexists(path) and _told(path, home, replica_id)[1]):
            return False
        if _is_folder(path):  # it has come since the look
            return False
        path.unlink(missing_ok=True)
    return True


def _named(paths: list[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _told(path: Path, home: Path, replica_id: bytes) -> tuple[str, bool]:
    """What there is to say of a file, and whether every record of it can be used."""
    from satchel.vectors.errors import Damaged
    from satchel.vectors.format import HEADER_BYTES, read_header
    from satchel.vectors.place import Place

    try:
        with path.open("rb") as file:
            header = read_header(file.read(HEADER_BYTES))
        kind, _, model_id = header.name.partition(" ")
        place = Place(home, replica_id, kind, model_id, header.dims)
        opened = place.open()
        if opened is None or place.path != path:
            raise Damaged(f"a file of {header.name!r} has another name")
        opened.image.verify()
    except (Damaged, OSError, ValueError) as error:
        return f"{path.name} cannot be used: {error}", False
    rows, size = header.records - header.masked, path.stat().st_size / 1e6
    return f"{header.name}: {rows} rows, {header.dims} dims, {size:.1f} MB", True
