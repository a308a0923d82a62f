"""Opening, reading, writing: what is refused and what is promised."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hand import Hand

from satchel.errors import SatchelError, StoreBusy, StoreNewer, StoreUnusable
from satchel.store import current, migrate, rows, triggers
from satchel.store.connection import Store
from satchel_sync.tables import MEMORY, Memory


def test_a_new_file_is_private_and_in_wal(path: Path) -> None:
    with Store.open(path) as store:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        with store.read() as db:
            assert db.execute("PRAGMA journal_mode").get == "wal"
            assert db.execute("PRAGMA synchronous").get == 2
            assert db.execute("PRAGMA user_version").get == migrate.latest()
        assert len(store.replica_id) == 16
        first = store.replica_id
        wal = path.with_name("satchel.db-wal")
        assert stat.S_IMODE(wal.stat().st_mode) == 0o600
    with Store.open(path, durability="process") as store:
        assert store.replica_id == first
        with store.read() as db:
            assert db.execute("PRAGMA synchronous").get == 1
    assert not (path.parent / "backups").exists()


def test_two_replicas_have_different_ids(tmp_path: Path) -> None:
    with Store.open(tmp_path / "a" / "s.db") as one, Store.open(tmp_path / "b" / "s.db") as two:
        assert one.replica_id != two.replica_id


def no_database(path: Path) -> None:
    path.write_bytes(b"this is no database, but it is long enough to look like one " * 100)


def another_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE notes(id)")


def another_versioned_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE notes(id)")
        db.execute("PRAGMA user_version = 1")


def newer_replica(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 99")


def a_folder(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (no_database, StoreUnusable, "not a SQLite database"),
        (another_database, StoreUnusable, "not a satchel replica"),
        (another_versioned_database, StoreUnusable, "not a satchel replica"),
        (newer_replica, StoreNewer, "schema is 99"),
        (a_folder, StoreUnusable, "cannot be made or opened"),
    ],
)
def test_a_file_that_is_not_ours_is_refused_and_left_alone(
    make: object, error: type[SatchelError], said: str, path: Path
) -> None:
    path.parent.mkdir()
    make(path)  # type: ignore[operator]
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(error, match=said) as caught:
        Store.open(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreUnusable, match="cannot be made"):
        Store.open(tmp_path / "file" / "home" / "satchel.db")


def test_a_file_system_without_shared_memory_is_refused(path: Path) -> None:
    """SQLite's own file layer for file systems without shared memory, in a process of its own."""
    program = (
        "import apsw, sys; from pathlib import Path; from satchel.store.connection import Store\n"
        "from satchel.errors import StoreUnusable\n"
        "apsw.set_default_vfs('unix-dotfile')\n"
        "try: Store.open(Path(sys.argv[1]))\n"
        "except StoreUnusable as error: print(error, error.hint)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True, text=True, env=env, check=True,
    )  # fmt: skip
    assert "cannot use write-ahead logging" in done.stdout
    assert "local disk" in done.stdout
    assert path.read_bytes() == b""


def test_a_damaged_file_is_reported(path: Path) -> None:
    with Store.open(path) as store, store.write() as db:
        for at in range(200):
            rows.insert(db, Memory(id=f"m{at}", content="words " * 100))
    data = bytearray(path.read_bytes())
    for at in range(4096, len(data), 4096):
        data[at : at + 100] = b"\xff" * 100
    path.write_bytes(data)
    with pytest.raises(StoreUnusable, match="cannot be used"):  # noqa: SIM117
        with Store.open(path) as store, store.read() as db:
            db.execute("SELECT count(*) FROM memory WHERE content <> ''").fetchall()


def test_an_error_rolls_the_write_back(store: Store) -> None:
    with pytest.raises(ValueError, match="stop"), store.write() as db:  # noqa: PT012
        rows.insert(db, Memory(id="m1"))
        raise ValueError("stop")
    with store.read() as db:
        assert rows.get(db, MEMORY, "m1") is None
        assert db.execute("SELECT last, seq FROM clock").fetchone() == (0, 0)


def test_a_write_that_touches_nothing_is_not_committed(store: Store) -> None:
    def size() -> int:
        return store.path.with_name("satchel.db-wal").stat().st_size

    with store.write() as db:
        rows.insert(db, Memory(id="m1", content="x"))
    before = size()
    for _ in range(3):
        with store.write() as db:
            assert not rows.update(db, MEMORY, "m1", content="x")
            assert not rows.delete(db, MEMORY, "m2")
    assert size() == before
    with store.write() as db:
        assert rows.update(db, MEMORY, "m1", content="y")
    assert size() > before


def test_a_write_inside_a_transaction_is_a_mistake(store: Store) -> None:
    with store.write(), pytest.raises(RuntimeError), store.write():
        pass
    with store.read(), pytest.raises(RuntimeError), store.write():
        pass


def test_a_read_inside_a_write_sees_it(store: Store) -> None:
    with store.write() as db:
        rows.insert(db, Memory(id="m1"))
        with store.read() as same:
            assert rows.get(same, MEMORY, "m1") is not None


def test_a_read_is_one_snapshot_and_writes_nothing(store: Store) -> None:
    with store.read() as db:
        assert db.execute("SELECT count(*) FROM memory").get == 0

        def other() -> None:
            with store.write() as mine:
                rows.insert(mine, Memory(id="m1"))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert db.execute("SELECT count(*) FROM memory").get == 0
    with pytest.raises(RuntimeError, match="nothing of it is kept"), store.read() as db:
        db.execute("INSERT INTO memory(id) VALUES('m2')")
    with store.read() as db:
        assert db.execute("SELECT id FROM memory").fetchall() == [("m1",)]


def test_a_writer_that_never_ends_makes_the_others_say_so(path: Path) -> None:
    with Store.open(path) as store, closing(Hand(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Store.open(path, busy_timeout_ms=150) as waiting:
            with pytest.raises(StoreBusy), waiting.write():
                pass
            other.execute("COMMIT")
            with waiting.write() as db:
                rows.insert(db, Memory(id="m1"))
        with store.read() as db:
            assert rows.get(db, MEMORY, "m1") is not None


def test_threads_share_a_store(store: Store) -> None:
    def work(name: str) -> None:
        for at in range(10):
            with store.write(actor=name) as db:
                rows.insert(db, Memory(id=f"{name}{at}"))
            with store.read() as db:
                assert rows.get(db, MEMORY, f"{name}{at}") is not None

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with store.read() as db:
        assert db.execute("SELECT count(*) FROM memory").get == 40


def test_the_stores_clock_rules_the_stamps(path: Path) -> None:
    class Stopped:
        def now_ms(self) -> int:
            return 1_000

    with Store.open(path, clock=Stopped()) as store:
        with store.write() as db:
            rows.insert(db, Memory(id="m1"))
            rows.insert(db, Memory(id="m2"))
        with store.read() as db:
            stamps = db.execute("SELECT hlc FROM memory ORDER BY id").fetchall()
    assert stamps == [(1_000 << 16,), ((1_000 << 16) + 1,)]


def add_migration(patch: pytest.MonkeyPatch, script: str) -> None:
    """This program as the next one will be, with one migration more."""
    first = migrate.latest()
    added = (*migrate.scripts(), (first + 1, script))
    patch.setattr(migrate, "scripts", lambda: added)
    patch.setattr(current, "SCHEMA", first + 1)


def test_a_migration_is_backed_up_and_its_triggers_are_renewed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(path) as store, store.write() as db:
        rows.insert(db, Memory(id="m1", content="kept"))
    first = migrate.latest()
    add_migration(monkeypatch, "CREATE TABLE later(id);")
    with Store.open(path) as store, store.read() as db:
        assert db.execute("PRAGMA user_version").get == first + 1
        assert db.execute("SELECT count(*) FROM later").get == 0
    backup = path.parent / "backups" / f"satchel-schema-{first:04}.db"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [file.name for file in backup.parent.iterdir()] == [backup.name]
    with closing(sqlite3.connect(backup)) as copy:
        assert copy.execute("PRAGMA user_version").fetchone() == (first,)
        assert copy.execute("SELECT content FROM memory").fetchall() == [("kept",)]


def test_a_migration_that_fails_changes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(path).close()
    first = migrate.latest()
    with monkeypatch.context() as patch:
        add_migration(patch, "CREATE TABLE later(id); SELECT * FROM nowhere;")
        with pytest.raises(apsw.SQLError, match="nowhere"):
            Store.open(path)
    with Store.open(path) as store, store.read() as db:
        assert db.execute("PRAGMA user_version").get == first
        assert not db.table_exists(None, "later")


def test_a_backup_that_cannot_be_made_stops_the_migration(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store.open(path).close()
    (path.parent / "backups").write_text("in the way")
    add_migration(monkeypatch, "CREATE TABLE later(id);")
    with pytest.raises(StoreUnusable, match="was not migrated"):
        Store.open(path)


def test_missing_triggers_of_an_older_program_are_renewed(path: Path) -> None:
    Store.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DROP TRIGGER memory_insert")
        db.execute("UPDATE meta SET value = 1 WHERE name = 'triggers'")
        db.commit()
    with Store.open(path) as store, store.read() as again:
        found = again.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").get
    assert found == sum("CREATE TRIGGER" in text for text in triggers.statements())


def test_a_home_is_private_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "too" / "home" / "satchel.db"
    before = os.umask(0)
    try:
        Store.open(path).close()
        path.chmod(0o644)
        Store.open(path).close()
    finally:
        os.umask(before)
    folders = [path.parent, path.parent.parent, path.parent.parent.parent]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
