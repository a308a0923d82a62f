"""Homes that older programs made: migrated without a loss, restored from, and gone back to."""

from __future__ import annotations

import re
import shlex
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest
from fix_held import DATABASE, replica_holds, versions_and_bookkeeping
from fix_versions import Versions

from satchel.audit.checking import told
from satchel.backup.restoring import restore
from satchel.config import Settings
from satchel.replica import open_store
from satchel.store import migrate

KEPT = Path(__file__).parent / "kept"
SCHEMAS = sorted(int(path.name[7:11]) for path in KEPT.glob("schema-*.tar.xz"))
TRACE = b"zebra-umbrella"
"""Of what `keep.py` forgets."""


def kept(schema: int, home: Path) -> Settings:
    """The home that a program of that schema made."""
    home.mkdir()
    with tarfile.open(KEPT / f"schema-{schema:04}.tar.xz") as tar:
        tar.extractall(home, filter="data")
    return Settings(home=home, embedding="off", user_id="una", durability="process")


def number_of(path: Path) -> int:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def migrated(settings: Settings) -> None:
    """Open it with this program, and look at everything."""
    with open_store(settings) as store:
        with store.read() as db:
            assert db.execute("PRAGMA integrity_check").get == "ok"
        assert told(store, settings)["ok"]
    assert number_of(settings.home / DATABASE) == migrate.latest()


def traces(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file() and TRACE in path.read_bytes()]


def test_there_is_one_of_this_schema() -> None:
    """A later program has to read it: `python tests/versions/keep.py`, before it is migrated."""
    assert list(range(SCHEMAS[0], migrate.latest() + 1)) == SCHEMAS


@pytest.mark.parametrize("schema", SCHEMAS)
def test_it_is_migrated_without_a_loss(schema: int, tmp_path: Path) -> None:
    settings = kept(schema, tmp_path / "home")
    rows, before = replica_holds(settings.home), versions_and_bookkeeping(settings.home)
    assert len(rows) > 15
    migrated(settings)
    assert replica_holds(settings.home) == rows
    assert versions_and_bookkeeping(settings.home) == before
    backups = settings.home / "backups"
    expected = [f"satchel-schema-{number:04}.db" for number in range(schema, migrate.latest())]
    assert sorted(path.name for path in backups.glob("*")) == expected
    assert traces(settings.home) == []


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_log_that_a_crash_left_is_read_first(schema: int, tmp_path: Path) -> None:
    settings = kept(schema, tmp_path / "crashed")
    with closing(sqlite3.connect(settings.home / DATABASE)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("UPDATE memory SET title = 'of the last moment' WHERE content LIKE '%wet%'")
        db.commit()
        (tmp_path / "home").mkdir()
        for name in (DATABASE, f"{DATABASE}-wal"):
            (tmp_path / "home" / name).write_bytes((settings.home / name).read_bytes())
    assert (tmp_path / "home" / f"{DATABASE}-wal").stat().st_size > 0
    settings = Settings(home=tmp_path / "home", embedding="off")
    with open_store(settings) as store, store.read() as db:
        query = "SELECT title FROM memory WHERE content LIKE '%wet%'"
        assert db.execute(query).fetchall() == [("of the last moment",)]
    assert number_of(tmp_path / "home" / DATABASE) == migrate.latest()


@pytest.mark.parametrize("schema", SCHEMAS[:-1])
def test_what_its_migration_kept_is_restored_and_migrated_again(
    schema: int, tmp_path: Path
) -> None:
    settings = kept(schema, tmp_path / "home")
    rows = replica_holds(settings.home)
    migrated(settings)
    with open_store(settings) as store, store.write() as db:
        db.execute("INSERT INTO memory(id, content, scope) VALUES('later', 'later', 'org')")
    backup = settings.home / "backups" / f"satchel-schema-{schema:04}.db"
    answer = restore(settings, backup, confirm=lambda question: True)
    assert answer["forgotten"] == 0
    assert replica_holds(settings.home) == rows
    migrated(settings)
    # The staging folder's own migration kept nothing here, and took nothing that was kept.
    names = {path.name for path in (settings.home / "backups").iterdir()}
    assert names == {backup.name, Path(answer["kept"]).name}


def test_to_the_next_version_and_back(versions: Versions, tmp_path: Path) -> None:
    """N, N+1, and N again by the words that N itself says; then N+1 once more."""
    present, future, home = versions.present, versions.future, {"SATCHEL_HOME": str(tmp_path)}
    number = number_of_program(versions)

    def run(program: object, *words: str, code: int = 0) -> str:
        done = program.satchel(*words, SATCHEL_EMBEDDING="off", **home)  # type: ignore[attr-defined]
        assert done.returncode == code, done.stderr
        return str(done.stdout if code == 0 else done.stderr)

    old = versions.start(present, tmp_path)
    old.do("put", kind="memory", key="m1", content="of N", scope="org")
    old.do("put", kind="memory", key="m2", content="a secret of N", scope="org")
    old.close()
    new = versions.start(future, tmp_path)
    new.do("put", kind="memory", key="m3", content="of N+1", scope="org", mood="glad")
    new.close()
    run(future, "memory", "forget", "m2", "--yes")
    # The old program leaves the file alone, and says how to come back.
    refused = run(present, "memory", "list", code=13)
    assert f"its schema is {number + 1}" in refused
    (said,) = re.findall("satchel (--home .* --yes)", refused)
    words = shlex.split(said)
    assert words[-2:] == [str(tmp_path / "backups" / f"satchel-schema-{number:04}.db"), "--yes"]
    run(present, *words)
    listed = run(present, "memory", "list")
    assert ('"m1"' in listed, '"m3"' in listed) == (True, False)
    assert '"m2"' not in listed, "forgotten by the program that was left"
    # And forward: what N+1 had lies in the backup that the way back made.
    (kept,) = (tmp_path / "backups").glob("satchel-2*")
    run(future, "restore", kept.name, "--yes")
    assert '"glad"' in run(future, "memory", "get", "m3")
    assert b"a secret" not in (tmp_path / DATABASE).read_bytes()


def number_of_program(versions: Versions) -> int:
    return int(
        versions.present.prints("from satchel.store import migrate; print(migrate.latest())")
    )
