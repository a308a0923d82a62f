"""A backup is whole, private and of one moment, whoever writes meanwhile; or it is not there."""

from __future__ import annotations

import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

import apsw
import pytest
from fix_memory import opened
from fix_processes import workers
from place import Place, damage

from satchel.backup import listing, making, manifest
from satchel.config import Settings
from satchel.errors import BackupUnusable, NotFound, StoreBusy, StoreUnusable
from satchel.replica import DATABASE_FILE, Replica
from satchel.store import backups, copying, rows
from satchel_sync.tables import Memory

WRITERS = 16
THREADS = 8


def test_a_backup_has_everything_and_nobody_else_reads_it(place: Place) -> None:
    place.busy(3)
    (place.folder / "config.toml").write_text('[user]\nid = "una"\n')
    folder = place.backup()
    found = manifest.read(folder)
    manifest.require_whole(folder, found)
    assert [one.name for one in found.files] == ["satchel.db", "activity.db", "config.toml"]
    assert (found.replica_id, found.rows["memory"], found.damaged) == (place.id, 3, "")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    with apsw.Connection(str(folder / DATABASE_FILE)) as db:
        assert db.execute("PRAGMA journal_mode").get == "delete"
    assert place.backups() == [folder.name]


def test_keys_are_in_it_only_if_asked_for(place: Place) -> None:
    place.busy(1)
    assert not list(place.backup().glob("keys"))
    folder = place.backup(with_keys=True)
    assert (folder / "keys/audit.key").read_bytes() == (
        place.folder / "keys/audit.key"
    ).read_bytes()
    assert stat.S_IMODE((folder / "keys").stat().st_mode) == 0o700


def test_what_else_lies_beside_the_keys_is_left_out_and_told(place: Place) -> None:
    place.busy(1)
    for name in ("Notes.txt", "vault.json~", "audit.key.old", "Large.json"):
        (place.folder / "keys" / name).write_text("mine")
    with (place.folder / "keys/large.json").open("wb") as file:
        file.truncate(making.KEY_BYTES_MAX + 1)
    answer = making.make(place.settings, with_keys=True)
    folder = Path(answer["backup"])
    assert [path.name for path in (folder / "keys").iterdir()] == ["audit.key"]
    assert len(answer["notices"]) == 5
    place.restored(folder)


def test_another_folder_and_the_list(place: Place, tmp_path: Path) -> None:
    place.write("one")
    here, there = place.backup(), place.backup(out=tmp_path / "disk/of mine")
    assert there.parent == tmp_path / "disk/of mine"
    (item,) = listing.list_(place.settings)["items"]
    assert (item["backup"], item["memories"], item["problem"]) == (str(here), 1, None)
    (here / "manifest.json").write_text("{")
    (item,) = listing.list_(place.settings)["items"]
    assert "manifest.json is not what satchel writes" in item["problem"]
    assert len({place.backup().name for _ in range(3)}) == 3


def write_pairs(home: Path, process: int, stop: Path) -> None:
    """Writers of one process, a thread each."""
    numbers = range(process * THREADS, (process + 1) * THREADS)
    with opened(home) as replica, ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(partial(keep_writing, replica, stop), numbers))


def keep_writing(replica: Replica, stop: Path, number: int) -> None:
    """Two memories with every transaction: no moment has one without the other."""
    count = 0
    while not stop.exists():
        with replica.store.write() as db:
            for half in "ab":
                key = f"{number:02}-{count:05}-{half}"
                rows.insert(db, Memory(id=key, content=key * 9, scope="org"))
        count += 1


def test_of_one_moment_while_sixteen_writers_write(place: Place, tmp_path: Path) -> None:
    place.busy(2)
    context, stop = workers(), tmp_path / "stop"
    processes = [
        context.Process(target=write_pairs, args=(place.folder, number, stop))
        for number in range(WRITERS // THREADS)
    ]
    for one in processes:
        one.start()
    begun = "SELECT count(DISTINCT substr(id, 1, 2)) FROM memory WHERE id LIKE '%-a'"
    while place.by_hand("writes", begun) != [(WRITERS,)]:
        time.sleep(0.05)
    folders = [place.backup() for _ in range(3)]
    stop.touch()
    for one in processes:
        one.join(60)
        assert one.exitcode == 0
    counts = [pairs(folder / DATABASE_FILE) for folder in folders]
    assert counts == sorted(set(counts)), "nobody wrote meanwhile"
    # The newest of them goes in, and its audit and that of all those writers fit together.
    place.restored(folders[-1])
    assert len(place.texts()) == 2 * counts[-1] + 2
    place.busy(1)
    assert place.breaks() == []


def pairs(path: Path) -> int:
    """How many pairs are in a whole file; none of them is a half."""
    with apsw.Connection(str(path)) as db:
        assert db.execute("PRAGMA integrity_check").get == "ok"
        halves = "SELECT count(*) FROM memory WHERE id LIKE '%-{}'"
        a, b = (int(db.execute(halves.format(half)).get) for half in "ab")
        assert a == b
        return a


def test_of_a_damaged_replica_there_is_none(place: Place) -> None:
    place.busy(40)
    place.close()
    with apsw.Connection(str(place.path)) as db:
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memory'").get
    damage(place.path, at=(page - 1) * 4096)
    place.open()
    with pytest.raises(BackupUnusable, match="damaged") as refused:
        place.backup()
    assert "satchel restore" in refused.value.hint
    assert place.backups() == []


def test_reads_that_cannot_be_read_keep_no_memory_from_it(place: Place) -> None:
    place.busy(2)
    place.close()
    (place.folder / "activity.db-wal").unlink()
    damage(place.folder / "activity.db", at=0)
    answer = making.make(place.settings)
    assert answer["files"] == ["satchel.db"]
    assert "activity.db is left out" in answer["notices"][0]
    damage(place.folder / "activity.db", at=0, bytes_=b"SQLite format 3\0")
    place.open()


def held(path: Path) -> apsw.Connection:
    """Another program's connection, which lets nobody else read."""
    db = apsw.Connection(str(path))
    db.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()
    db.execute("BEGIN EXCLUSIVE")
    return db


def test_reads_that_another_program_holds_keep_no_memory_from_it(place: Place) -> None:
    place.busy(2)
    place.close()
    with closing(held(place.folder / "activity.db")):
        answer = making.make(place.settings)
    assert answer["files"] == ["satchel.db"]
    assert "activity.db is left out, it cannot be read: " in answer["notices"][0]
    assert making.make(place.settings)["files"] == ["satchel.db", "activity.db"]
    place.open()


def test_a_replica_that_another_program_holds(place: Place, tmp_path: Path) -> None:
    place.write("one")
    place.close()
    with (
        closing(apsw.Connection(str(place.path))) as db,
        closing(held(place.path)),
        pytest.raises(StoreBusy, match=r"writing to .*satchel\.db") as refused,
    ):
        making.write(place.folder, db, tmp_path / "disk", reason=making.ASKED)
    assert "try again" in refused.value.hint
    assert list((tmp_path / "disk").iterdir()) == []
    place.open()


def test_the_way_back_is_the_latest_and_what_a_restore_put_aside_the_last(place: Place) -> None:
    """Whoever names it; by what the manifests say, as a copy has a time of its own."""
    assert backups.latest(place.folder, 6) is None
    place.write("one")
    older = place.backup()
    newer = place.backup()
    said = json.loads((older / "manifest.json").read_text())
    (older / "manifest.json").write_text(
        json.dumps(said | {"made_at": "2001-01-01T00:00:00.000+00:00"})
    )
    kept = Path(place.restored(older)["kept"])
    for path in (newer, older, kept):
        assert f"restore {path} --yes" in backups.way_back(place.folder, 6)
        found = backups.latest(place.folder, 6)
        assert found
        assert (found.path, found.is_before) == (path, path == kept)
        manifest_path = path / "manifest.json"
        text = manifest_path.read_text()
        manifest_path.write_text(text.replace("satchel-backup-1", "satchel-backup-2"))
    assert backups.way_back(place.folder, 6) == ""


def test_what_is_refused(place: Place, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        making.make(Settings(home=tmp_path / "empty"))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable, match="no backup could be made"):
        place.backup(out=tmp_path / "file")


def test_what_a_killed_one_left_goes_with_the_next_and_nothing_else(
    place: Place, tmp_path: Path
) -> None:
    place.write("one")
    backups = place.folder / "backups"
    for name in (".satchel-abcd_123.part", ".restoring", ".mine.part"):
        (backups / name).mkdir(parents=True)
        (backups / name / DATABASE_FILE).write_text("half")
    (backups / ".report.jsonl.abcdefgh.part").write_text("an export that was killed")
    (tmp_path / "elsewhere").mkdir()
    (backups / ".satchel-abcd_124.part").symlink_to(tmp_path / "elsewhere")
    others = sorted([".mine.part", ".report.jsonl.abcdefgh.part", ".satchel-abcd_124.part"])
    folder = place.backup()
    assert place.backups() == [*others, folder.name]
    place.restored(folder)
    assert (backups / ".mine.part" / DATABASE_FILE).read_text() == "half"


def test_the_manifest_is_a_document_that_others_can_read(place: Place) -> None:
    place.write("one")
    document = json.loads((place.backup() / "manifest.json").read_text())
    assert document["format"] == "satchel-backup-1"
    names = "format satchel made_at reason schema replica_id files rows damaged"
    assert set(document) == set(names.split())


def test_a_long_copy_is_seen_at_work(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its folder's time `satchel doctor` tells a draft from what a killed one left."""
    seen: list[float] = []
    step = copying.os.utime

    def touched(path: Path, *given: float, **named: float) -> None:
        step(path, *given, **named)
        seen.append(Path(path).stat().st_mtime)

    monkeypatch.setattr(copying, "STEP_PAGES", 20)
    monkeypatch.setattr(copying.os, "utime", touched)
    place.write("one")
    place.backup()
    assert len(seen) >= 5
    assert seen == sorted(seen)
