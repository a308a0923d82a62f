"""A disk that runs full, at every stage: the home is as it was, and afterwards all goes on."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from place import Place, damage, everything

from satchel.config import Settings
from satchel.errors import StoreUnusable
from satchel.replica import DATABASE_FILE, open_store
from satchel.store import migrate

DISK_KIB = 6 * 1024
KEPT = Path(__file__).parents[1] / "versions/kept"


@pytest.fixture
def disk() -> Iterator[Path]:
    """A file system of 6 MB."""
    with tempfile.TemporaryDirectory(prefix="satchel-full-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "none", folder]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("may not mount a small file system here")
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def leave(disk: Path, kib: int) -> None:
    """Fill the disk up to so much."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    found = subprocess.run(["df", "-k", "--output=avail", disk], capture_output=True, check=True)
    free = int(found.stdout.split()[-1])
    with filler.open("wb") as file:
        for _ in range(free - kib):
            file.write(bytes(1024))


def test_a_backup(disk: Path, tmp_path: Path) -> None:
    with Place(disk / "home") as place:
        place.busy(2)
        for kib in (0, 100, 300):
            leave(disk, kib)
            full = "no backup could be made in .*(disk is full|No space left on device)"
            with pytest.raises(StoreUnusable, match=full):
                place.backup()
            assert place.backups() == []
        assert place.backup(out=tmp_path).parent == tmp_path
        leave(disk, 3000)
        made = place.backup()
        assert place.backups() == [made.name]


def test_a_restore(disk: Path, tmp_path: Path) -> None:
    """It needs room for three copies; the draft, what is kept, and the log of the exchange."""
    with Place(disk / "home") as place:
        place.write("of the backup")
        backup = place.backup(out=tmp_path)
        place.write("later")
        ended = set()
        for kib in (0, 300, 700, 1000, 1300, 1700, 2000, 3500):
            leave(disk, kib)
            place.close()
            before = everything(disk / "home")
            ended.add(how_ended(place, backup))
            if ended == {"full"}:
                after = everything(disk / "home")
                assert sorted(after) == sorted(before), kib
            (disk / "filler").unlink()
            place.open()
            with place.replica.store.read() as db:
                assert db.execute("PRAGMA integrity_check").get == "ok"
            texts = sorted(place.texts().values())
            if "restored" in ended:
                assert texts == ["of the backup"]
                break
            assert texts == ["later", "of the backup"]
            assert place.breaks() == []
        assert ended == {"full", "restored"}
        place.busy(1)
        assert place.breaks() == []


def test_a_restore_in_place_of_a_damaged_file(disk: Path, tmp_path: Path) -> None:
    with Place(disk / "home") as place:
        place.write("of the backup")
        backup = place.backup(out=tmp_path)
        place.close()
        damage(place.path, at=0)
        before, ended = everything(disk / "home"), set()
        for kib in (100, 700, 1200, 1500, 1800, 3500):
            leave(disk, kib)
            ended.add(how_ended(place, backup, unread=True))
            if ended == {"full"}:
                assert everything(disk / "home") == before, kib
        assert ended == {"full", "restored"}
        place.open()
        assert list(place.texts().values()) == ["of the backup"]


def how_ended(place: Place, backup: Path, **given: Any) -> str:
    try:
        place.restore(backup, **given)
    except StoreUnusable:
        return "full"
    return "restored"


def test_a_migration(disk: Path) -> None:
    home = disk / "home"
    with tarfile.open(KEPT / f"schema-{migrate.latest() - 1:04}.tar.xz") as tar:
        tar.extractall(home, filter="data")
    settings = Settings(home=home, embedding="off")
    before = (home / DATABASE_FILE).read_bytes()
    for kib in (0, 100, 400):
        leave(disk, kib)
        with pytest.raises(StoreUnusable):
            open_store(settings)
        assert [path.name for path in home.glob("backups/*")] == []
        assert schema_in((home / DATABASE_FILE).read_bytes()) == migrate.latest() - 1
        assert len((home / DATABASE_FILE).read_bytes()) == len(before)
    (disk / "filler").unlink()
    with open_store(settings) as store, store.read() as db:
        assert db.execute("PRAGMA user_version").get == migrate.latest()
        assert db.execute("PRAGMA integrity_check").get == "ok"


def schema_in(data: bytes) -> int:
    """`PRAGMA user_version` without opening the file, for which there is no space."""
    return int.from_bytes(data[60:64], "big")
