"""What is no whole backup, or not this machine's, is refused, and the home stays as it is."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from place import Place, damage, everything

from satchel.errors import BackupUnusable, NotFound, Refused, StoreNewer, StoreUnusable
from satchel.protection import key_store
from satchel.replica import DATABASE_FILE


def flip(backup: Path) -> None:
    damage(backup / DATABASE_FILE, at=9000, bytes_=b"!")


def flip_reads(backup: Path) -> None:
    damage(backup / "activity.db", at=5000, bytes_=b"!")


def cut(backup: Path) -> None:
    with (backup / DATABASE_FILE).open("r+b") as file:
        file.truncate(4096)


def without(backup: Path) -> None:
    (backup / DATABASE_FILE).unlink()


def unsaid(backup: Path) -> None:
    (backup / "manifest.json").unlink()


def led_elsewhere(backup: Path) -> None:
    (backup / DATABASE_FILE).rename(backup.parent / "elsewhere.db")
    (backup / DATABASE_FILE).symlink_to(backup.parent / "elsewhere.db")


def piped(backup: Path) -> None:
    (backup / "activity.db").unlink()
    os.mkfifo(backup / "activity.db")


def folder_led_elsewhere(backup: Path) -> None:
    (backup / "keys").rename(backup.parent / "keys elsewhere")
    (backup / "keys").symlink_to(backup.parent / "keys elsewhere")


def said(backup: Path, old: str, new: str) -> None:
    path = backup / "manifest.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


NO_BACKUPS = {
    "flipped": (flip, BackupUnusable, "SHA-256"),
    "flipped reads": (flip_reads, BackupUnusable, "SHA-256"),
    "cut": (cut, BackupUnusable, "4096 bytes and had"),
    "without a file": (without, BackupUnusable, "cannot be read"),
    "without a manifest": (unsaid, BackupUnusable, "is no backup"),
    "a symbolic link": (led_elsewhere, BackupUnusable, "symbolic link"),
    "a pipe": (piped, BackupUnusable, "no file"),
    "a folder behind a link": (folder_led_elsewhere, BackupUnusable, "symbolic link"),
    "a terminal's control": (
        lambda b: said(b, "asked for", "\\u001b[2Jasked for"),
        BackupUnusable,
        "no satchel writes",
    ),
    "no time": (
        lambda b: said(b, '"made_at": "2', '"made_at": "x'),
        BackupUnusable,
        "no satchel writes",
    ),
    "an escape": (
        lambda b: said(b, '"name": "satchel.db"', '"name": "../satchel.db"'),
        BackupUnusable,
        "no satchel writes",
    ),
    "another name": (
        lambda b: said(b, '"name": "activity.db"', '"name": "keys/../config.toml"'),
        BackupUnusable,
        "no satchel writes",
    ),
    "another format": (
        lambda b: said(b, "satchel-backup-1", "tarball-1"),
        BackupUnusable,
        "another format",
    ),
    "no number": (lambda b: said(b, '"schema": 6', '"schema": "6"'), BackupUnusable, "no satchel"),
    "a newer format": (
        lambda b: said(b, "satchel-backup-1", "satchel-backup-2"),
        StoreNewer,
        "newer",
    ),
    "a newer schema": (lambda b: said(b, '"schema": 6', '"schema": 7'), StoreNewer, "newer"),
}  # fmt: skip


def test_what_is_no_whole_backup_is_refused_and_changes_nothing(
    place: Place, tmp_path: Path
) -> None:
    key = place.write("one")
    place.read(key)
    whole = place.backup(out=tmp_path / "backups", with_keys=True)
    place.close()
    before = everything(place.folder)
    for name, (spoil, error, words) in NO_BACKUPS.items():
        backup = tmp_path / name
        shutil.copytree(whole, backup)
        spoil(backup)
        with pytest.raises(error, match=words):
            place.restore(backup)
        assert everything(place.folder) == before, name
    for given in (tmp_path / "nothing", Path("nothing")):
        with pytest.raises(NotFound, match="there is no backup"):
            place.restore(given)
    for data in (b"", b"text", b"SQLite format 3\0" + bytes(4080)):
        (tmp_path / "file.db").write_bytes(data)
        with pytest.raises(BackupUnusable):
            place.restore(tmp_path / "file.db")
    assert everything(place.folder) == before
    place.open()


def test_a_file_whose_newest_rows_lie_in_its_log(place: Place, tmp_path: Path) -> None:
    """Copied while in use, or after a kill: the file alone is not what was acknowledged."""
    place.busy(3)
    for tail in ("", "-wal"):
        shutil.copy(f"{place.path}{tail}", tmp_path / f"copy.db{tail}")
    with pytest.raises(BackupUnusable, match=r"lies in copy.db-wal") as refused:
        place.restore(tmp_path / "copy.db")
    assert "backup of that" in refused.value.hint
    (tmp_path / "own").mkdir()
    for tail in ("", "-wal"):
        shutil.copy(tmp_path / f"copy.db{tail}", tmp_path / "own" / f"{DATABASE_FILE}{tail}")
    with Place(tmp_path / "own") as own:
        backup = own.backup()
    expected = place.texts()
    place.write("later")
    place.restored(backup)
    assert place.texts() == expected
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(BackupUnusable, match="no file"):
        place.restore(tmp_path / "pipe.db")


def test_a_restore_that_fails_takes_back_what_it_put(place: Place, tmp_path: Path) -> None:
    place.write("one")
    (place.folder / "config.toml").write_text('[user]\nid = "una"\n')
    backup = place.backup(out=tmp_path / "disk", with_keys=True)
    place.close()
    for path in (place.folder / "config.toml", *(place.folder / "keys").iterdir()):
        path.unlink()
    os.link(place.path, tmp_path / "second name")
    before = everything(place.folder)
    with pytest.raises(StoreUnusable, match="hard link"):
        place.restore(backup)
    assert everything(place.folder) == before
    (tmp_path / "second name").unlink()
    put = place.restored(backup)["put"]
    assert {"config.toml", "keys/audit.key"} < set(put)
    place.write("two")
    assert place.breaks() == []


def test_keys_that_stay_in_the_backup_are_told(place: Place, tmp_path: Path) -> None:
    """One command makes an audit key: that is no reason to leave the others out."""
    place.write("one")
    key_store(place.settings).make()
    backup = place.backup(out=tmp_path / "disk", with_keys=True)
    assert place.restored(backup)["notices"] == [], "they are the same"
    with Place(tmp_path / "new") as new:
        new.write("another replica")
        audit = (new.folder / "keys/audit.key").read_bytes()
        answer = new.restored(backup, other=True)
        assert any(name.startswith("keys/sign") for name in answer["put"])
        (notice,) = answer["notices"]
        assert notice.endswith(": keys/audit.key")
        assert (new.folder / "keys/audit.key").read_bytes() == audit
        new.busy(1)
        assert new.breaks() == []
        (new.folder / "keys/own.json").write_text('{"name": "new"}')
        answer = new.restored(backup, other=True)
        assert answer["put"] == [DATABASE_FILE]


def test_a_trigger_of_somebody_elses_does_not_come_with_it(place: Place, tmp_path: Path) -> None:
    place.write("one")
    place.close()
    shutil.copy(place.path, tmp_path / "evil.db")
    with closing(apsw.Connection(str(tmp_path / "evil.db"))) as db:
        db.execute("PRAGMA journal_mode = DELETE").fetchall()
        db.execute("CREATE VIEW memories AS SELECT content FROM memory")
        db.execute('CREATE TRIGGER "e v" AFTER INSERT ON memory BEGIN DELETE FROM task; END')
        db.execute("DROP TRIGGER memory_insert")
        does = "AFTER INSERT ON memory BEGIN DELETE FROM outbox; END"
        db.execute(f"CREATE TRIGGER memory_insert {does}")
    query = "SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2"
    place.open()
    expected = place.by_hand("writes", query)
    answer = place.restored(tmp_path / "evil.db")
    assert answer["notices"] == ["left out, as satchel did not make it: e v, memories"]
    assert place.by_hand("writes", query) == expected
    place.write("two")
    assert place.waiting() >= 2
    assert place.breaks() == []


def test_a_strangers_backup_is_refused(place: Place, tmp_path: Path) -> None:
    place.write("mine")
    with Place(tmp_path / "other") as other:
        other.write("theirs")
        backup = other.backup()
    with pytest.raises(Refused, match="another machine's"):
        place.restore(backup)
    assert list(place.texts().values()) == ["mine"]
    place.restored(backup, other=True)
    assert list(place.texts().values()) == ["theirs"]
    assert place.breaks() == []


def test_a_database_of_another_program_is_left_alone(place: Place, tmp_path: Path) -> None:
    backup = place.backup(out=tmp_path)
    home = tmp_path / "browser"
    home.mkdir()
    with apsw.Connection(str(home / DATABASE_FILE)) as db:
        db.execute("CREATE TABLE history(url)")
    settings = place.settings.__class__(home=home, embedding="off")
    with pytest.raises(StoreUnusable, match="not a satchel replica"):
        restore_into(settings, backup)


def restore_into(settings: Any, backup: Path, **given: Any) -> dict[str, Any]:
    from satchel.backup.restoring import restore

    return restore(settings, backup, confirm=lambda question: True, **given)
