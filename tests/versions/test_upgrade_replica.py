"""A replica's file under a new program: migrated in place, nothing new to send; old ones refuse."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fix_held import DATABASE, replica_holds, text, versions_and_bookkeeping
from fix_mixed import Machine, World, moved
from fix_versions import Failed, Program, Versions

MANY = 100_000


def number_of(home: Path) -> int:
    """The file's schema number."""
    with closing(sqlite3.connect(f"file:{home / DATABASE}?mode=ro", uri=True)) as db:
        found: int = db.execute("PRAGMA user_version").fetchone()[0]
    return found


def latest(program: Program) -> int:
    """The schema number that a program writes."""
    return int(program.prints("from satchel.store import migrate; print(migrate.latest())"))


def by_hand(home: Path, *statements: str) -> None:
    """Write to a file as `sqlite3` would."""
    with closing(sqlite3.connect(home / DATABASE)) as db, db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
def old(mixed: World) -> Machine:
    """An old machine that holds what a new one wrote, and unsent writes of its own."""
    mixed.migrate(mixed.versions.future)
    new, old = mixed.machine(mixed.versions.future), mixed.machine(mixed.versions.present)
    for number in range(30):
        new.put("memory", f"m{number:02}", content=f"{number}", mood=f"mood {number}", scope="org")
    new.put("task", "t1", title="paint", effort=7)
    new.sync()
    old.sync()
    new.put("memory", "m03", content="newer", mood="other")
    old.put("memory", "m03", content="lost")
    new.sync()
    new.put("memory", "m03", content="newest", mood="last")
    new.sync()
    old.put("memory", "m01", content="edited")
    old.process.do("delete", kind="memory", key="m02")
    return old


def test_what_waited_in_extra_moves_into_its_column_without_a_new_version(old: Machine) -> None:
    before, held = versions_and_bookkeeping(old.home), old.holds()
    assert held["memory", "m05"].extra is not None
    old.upgrade(old.world.versions.future)
    assert versions_and_bookkeeping(old.home) == before
    after = old.holds()
    assert {at: one.content for at, one in after.items()} == {
        at: one.content for at, one in held.items()
    }
    assert {one.extra for one in after.values()} == {None}
    assert after["memory", "m05"].content["mood"] == text("mood 5")
    assert old.get("memory", "m05")["mood"] == "mood 5"
    assert old.get("task", "t1")["effort"] == 7
    old.world.settle()
    old.put("memory", "m05", mood="changed here")
    old.world.settle()


def test_an_upgraded_replica_syncs_only_what_it_had_to_send_before(old: Machine) -> None:
    with closing(sqlite3.connect(old.home / DATABASE)) as db:
        waiting = db.execute("SELECT count(*) FROM outbox").fetchone()[0]
    old.upgrade(old.world.versions.future)
    report = old.sync()
    assert moved(report)[0] == waiting > 0
    assert moved(old.sync()) == (0, 0)


def test_an_upgrade_in_the_middle_of_a_conflict_still_tells_the_hub_what_lost(old: Machine) -> None:
    """The journal was written by the old program, whose rows have fewer columns."""
    by_hand(old.home, "UPDATE outbox SET local_seq = local_seq")
    before = len(_journal(old))
    # A page that beats the unsent edit, and no more of the sync: the entry waits here.
    old.process.do("pull_only", dsn=old.dsn)
    with closing(sqlite3.connect(old.home / DATABASE)) as db:
        assert db.execute("SELECT key FROM conflict WHERE sent = 0").fetchall() == [("m03",)]
    old.upgrade(old.world.versions.future)
    old.sync()
    lost = _journal(old)
    assert (len(lost) - before, lost[-1]["content"], lost[-1]["mood"]) == (1, "lost", "mood 3")


def _journal(machine: Machine) -> list[dict[str, Any]]:
    found = machine.world.hub.psql().execute(
        "SELECT content::jsonb FROM satchel.conflict WHERE key = 'm03' ORDER BY at"
    )
    return [content for (content,) in found]


def test_writes_by_hand_that_were_never_sealed_are_sealed_by_the_new_program(old: Machine) -> None:
    by_hand(
        old.home,
        "UPDATE memory SET content = 'by hand' WHERE id = 'm07'",
        "UPDATE memory SET extra = 'no list' WHERE id = 'm08'",
        "INSERT INTO memory(id, content, scope) VALUES('m99', 'made by hand', 'org')",
    )
    old.upgrade(old.world.versions.future)
    report = old.sync()
    assert (report["exit"], report["quarantined"]) == (11, 1)
    assert old.get("memory", "m07")["mood"] == "mood 7"
    assert old.get("memory", "m07")["content"] == "by hand"
    old.put("memory", "m08", mood="mended")
    by_hand(old.home, "UPDATE memory SET extra = NULL WHERE id = 'm08'")
    old.world.settle()
    assert old.get("memory", "m08")["mood"] == "mended"


def test_a_column_of_another_type_stays_in_extra(old: Machine) -> None:
    by_hand(old.home, """UPDATE memory SET extra = '{"mood":"i:0000000000000001"}'""")
    old.process.do("put", kind="memory", key="other", content="x")
    old.upgrade(old.world.versions.future)
    assert old.holds()["memory", "m05"].extra == '{"mood":"i:0000000000000001"}'


# ---- an old program and a newer file ------------------------------------------------------------


def test_an_old_program_refuses_a_newer_file_and_leaves_every_byte(
    versions: Versions, tmp_path: Path
) -> None:
    new = versions.start(versions.future, tmp_path)
    new.do("put", kind="memory", key="m1", content="x", mood="glad")
    new.close()
    before = _bytes(tmp_path)
    old = versions.start(versions.present, tmp_path)
    for _ in range(2):
        with pytest.raises(Failed) as refused:
            old.do("put", kind="memory", key="m1", content="old")
        assert (refused.value.type, refused.value.exit_code) == ("StoreNewer", 13)
        assert "upgrade satchel" in refused.value.hint
    said = versions.present.satchel("memory", "list", SATCHEL_HOME=str(tmp_path))
    assert (said.returncode, "schema is" in said.stderr) == (13, True)
    assert _bytes(tmp_path) == before


def _bytes(home: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(home.iterdir())
        if file.name.startswith(DATABASE)
    }


def test_a_running_old_program_stops_writing_when_a_new_one_migrates_its_file(
    mixed: World,
) -> None:
    old = mixed.machine(mixed.versions.present)
    old.put("memory", "m1", content="before", scope="org")
    old.sync()
    mixed.versions.start(mixed.versions.future, old.home).do(
        "put", kind="memory", key="m1", mood="glad"
    )
    held = old.holds()
    for command, given in (
        ("put", {"kind": "memory", "key": "m1", "content": "old"}),
        ("put", {"kind": "memory", "key": "m2", "content": "old"}),
        ("delete", {"kind": "memory", "key": "m1"}),
        ("sync", {"dsn": old.dsn}),
    ):
        with pytest.raises(Failed) as refused:
            old.process.do(command, **given)
        assert (refused.value.type, refused.value.exit_code) == ("StoreNewer", 13)
        assert "while this program had it open" in str(refused.value)
    assert old.holds() == held
    assert old.get("memory", "m1")["content"] == "before"
    old.upgrade(mixed.versions.future)
    mixed.settle()
    assert old.get("memory", "m1")["mood"] == "glad"


# ---- the migration itself -----------------------------------------------------------------------


def test_each_replica_migration_is_backed_up_with_what_waited_in_extra(old: Machine) -> None:
    number, before, held = number_of(old.home), versions_and_bookkeeping(old.home), old.holds()
    old.upgrade(old.world.versions.future)
    (backup,) = (old.home / "backups").iterdir()
    assert (backup.name, backup.stat().st_mode & 0o777) == (f"satchel-schema-{number:04}.db", 0o600)
    restored = old.home.parent / "restored"
    restored.mkdir()
    backup.rename(restored / DATABASE)
    assert number_of(restored) == number
    assert replica_holds(restored) == held
    assert versions_and_bookkeeping(restored) == before


def fill(home: Path, rows: int) -> None:
    """Many sealed rows with something in `extra`, as pulls would have left them."""
    by_hand(
        home,
        "UPDATE control SET applying = 1",
        f"""WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
            INSERT INTO memory(id, content, scope, extra, life, hlc, origin, digest, lineage)
            SELECT printf('m%06d', i), 'text', 'org', '{{"mood":"t:676c6164","stays":"t:"}}',
                   65536, i, zeroblob(16), randomblob(8), '' FROM n""",
        "INSERT INTO sync_base SELECT 'memory', id, printf('%080d', row) FROM memory",
        "INSERT INTO outbox SELECT 'memory', id, row FROM memory WHERE row % 10 = 0",
        "UPDATE control SET applying = 0",
    )


def test_a_migration_of_many_rows_touches_no_version_and_no_bookkeeping(
    versions: Versions, tmp_path: Path
) -> None:
    versions.start(versions.present, tmp_path).do("open")
    fill(tmp_path, MANY)
    before = versions_and_bookkeeping(tmp_path)
    versions.start(versions.future, tmp_path).do("open")
    assert number_of(tmp_path) == latest(versions.future)
    assert versions_and_bookkeeping(tmp_path) == before
    with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
        found = db.execute("SELECT mood, extra, count(*) FROM memory GROUP BY 1, 2").fetchall()
        assert found == [("glad", '{"stays":"t:"}', MANY)]
        assert db.execute("SELECT count(*) FROM history_pending").fetchone() == (0,)


def test_a_migration_that_is_killed_goes_on_at_the_next_open(
    versions: Versions, tmp_path: Path
) -> None:
    versions.start(versions.present, tmp_path).do("open")
    fill(tmp_path, MANY // 2)
    number, before = number_of(tmp_path), versions_and_bookkeeping(tmp_path)
    for grown_bytes in (1, 1 << 20, 4 << 20):
        process = versions.start(versions.future, tmp_path)
        process.tell("open")
        _until_written(tmp_path, grown_bytes)
        process.kill()
        assert number_of(tmp_path) == number
        assert versions_and_bookkeeping(tmp_path) == before
    versions.start(versions.future, tmp_path).do("open")
    assert versions_and_bookkeeping(tmp_path) == before
    with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
        assert db.execute("SELECT DISTINCT mood FROM memory").fetchall() == [("glad",)]
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _until_written(home: Path, grown_bytes: int) -> None:
    """Wait until a migration has the write lock and has spilt so much into the log."""
    log, deadline = home / f"{DATABASE}-wal", time.monotonic() + 60
    while time.monotonic() < deadline:
        size = log.stat().st_size if log.exists() else 0
        if size > grown_bytes:
            return
        time.sleep(0.002)
    raise AssertionError("the migration has written nothing")
