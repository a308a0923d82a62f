"""A write-ahead log stays with its own file, also where somebody copies files by hand."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest
from place import Place

from satchel.replica import DATABASE_FILE
from satchel.store.connection import Store


def with_log(place: Place, folder: Path) -> Path:
    """A copy of the home's file with a log that is not in the file yet, as a crash leaves it."""
    folder.mkdir()
    place.write("in the log " * 50)
    for tail in ("", "-wal"):
        shutil.copy(f"{place.path}{tail}", folder / f"{DATABASE_FILE}{tail}")
    assert (folder / f"{DATABASE_FILE}-wal").stat().st_size > 0
    return folder / f"{DATABASE_FILE}-wal"


@pytest.mark.parametrize("by", ["hand", "restore"])
def test_a_log_of_another_file_is_not_replayed(place: Place, tmp_path: Path, by: str) -> None:
    """A backup copied over the file, whose log is left: SQLite alone would damage the backup."""
    place.busy(3)
    backup = place.backup()
    for number in range(60):
        place.write(f"more {number} " * 40)
    log = with_log(place, tmp_path / "crashed")
    place.close()
    expected = pairs_of(backup / DATABASE_FILE)
    if by == "hand":
        shutil.copy(backup / DATABASE_FILE, place.path)
        shutil.copy(log, place.folder)
    else:
        place.path.unlink()
        shutil.copy(log, place.folder)
        place.restore(backup)
    place.open()
    assert place.texts() == expected
    with place.replica.store.read() as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
    (kept,) = (place.folder / "backups").glob("*.stray")
    assert kept.read_bytes() == log.read_bytes()


def test_what_the_last_one_shows_is_true_without_the_guard(place: Place, tmp_path: Path) -> None:
    """SQLite does replay it: were that to change, the guard could go."""
    place.busy(3)
    backup = place.backup()
    for number in range(60):
        place.write(f"more {number} " * 40)
    log = with_log(place, tmp_path / "crashed")
    shutil.copy(backup / DATABASE_FILE, tmp_path / DATABASE_FILE)
    shutil.copy(log, tmp_path)
    with apsw.Connection(str(tmp_path / DATABASE_FILE)) as db:
        try:
            found = db.execute("SELECT count(*) FROM memory").get
        except apsw.Error:
            found = None
    assert found != len(pairs_of(backup / DATABASE_FILE))


def pairs_of(path: Path) -> dict[str, str]:
    with apsw.Connection(str(path)) as db:
        query = "SELECT id, content FROM memory WHERE content IS NOT NULL"
        return {str(key): str(text) for key, text in db.execute(query)}


def test_its_own_log_is_its_own(place: Place, tmp_path: Path) -> None:
    place.busy(2)
    log = with_log(place, tmp_path / "crashed")
    with Store.open(log.with_name(DATABASE_FILE)) as store, store.read() as db:
        assert db.execute("SELECT count(*) FROM memory").get == 3
    assert not (tmp_path / "crashed/backups").exists()
