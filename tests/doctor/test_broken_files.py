"""Files that are damaged, left over or open to others: found, and mended as the doctor says."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import apsw
import pytest
from fix_doctor import Patient, database, quoted, scratched, shell

POSIX = pytest.mark.skipif(os.name != "posix", reason="files have no mode here")
TOP = Path(__file__).parents[1]
SECTION = 'docs/OPERATIONS.md, "The file is damaged"'
ATTIC, CELLAR = "the attic is dry", "the cellar is wet"


# ---- satchel.db ---------------------------------------------------------------------------------


def _a_page(path: Path) -> None:
    scratched(path, "memory")


def _the_beginning(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database at all" * 400)


def _cut_short(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(100_000)


class Damage(NamedTuple):
    """What does it, the check that finds it, its words; what a restore does with such a file."""

    harm: Callable[[Path], None]
    check: str
    told: str
    kept: str
    """The problem of the backup that is kept of it."""


DAMAGES = {
    "a page": Damage(_a_page, "integrity", "damaged: memory", "btreeInitPage()"),
    "the beginning": Damage(
        _the_beginning, "replica", "is not a SQLite database", "file is not a database"
    ),
    "cut short": Damage(_cut_short, "replica", "malformed", "is malformed"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_database_comes_back_from_a_backup(patient: Patient, damage: str) -> None:
    """The damaged file is kept, and told as what may hold what never synced: no word deletes it."""
    harm, name, told, kept = DAMAGES[damage]
    assert patient.satchel("backup").code == 0
    harm(database(patient.home))
    bad = patient.bad()
    assert bad[name]["ok"] == "fail"
    assert told in bad[name]["found"]
    words = quoted(bad[name]["fix"], "satchel restore").split()[1:]
    assert "--forgotten-unread" in bad[name]["fix"]
    restored = patient.satchel(*words)
    assert (restored.code, "--forgotten-unread" in restored.error["hint"]) == (4, True)
    restored = patient.satchel(*words, "--forgotten-unread")
    assert restored.code == 0, restored.err
    patient.is_well()
    found = patient.checks()["backups"]["found"]
    assert f"maybe with what never synced: {restored.json['kept']} (" in found
    assert kept in found
    assert SECTION in found
    assert "rm -r" not in found
    assert patient.found("attic cellar") == [ATTIC, CELLAR]


@pytest.mark.parametrize(
    ("change", "told", "fix"),
    [
        ('"satchel-backup-1"', "is not what satchel writes", SECTION),
        ('{"format": "satchel-backup-2"}', "made by a newer satchel", "upgrade satchel"),
    ],
)
def test_a_backup_that_cannot_be_read_is_not_called_rubbish(
    patient: Patient, change: str, told: str, fix: str
) -> None:
    made = Path(patient.satchel("backup").json["backup"])
    whole = (made / "manifest.json").read_text("utf-8")
    (made / "manifest.json").write_text(change)
    backups = patient.bad()["backups"]
    assert backups["ok"] == "warn"
    assert f"{made}: " in backups["found"]
    assert told in backups["found"]
    assert "the only copy of what never synced" in backups["why"]
    assert fix in backups["fix"]
    assert "`satchel backup` makes a whole one" in backups["fix"]
    assert not re.search(r"\brm\b|delete|remove", backups["fix"])
    (made / "manifest.json").write_text(whole, "utf-8")
    patient.is_well()


def test_the_words_of_the_doctor_lead_to_a_section_of_the_page() -> None:
    page = (TOP.parent / "docs" / "OPERATIONS.md").read_text("utf-8")
    _, _, section = page.partition("\n## The file is damaged\n")
    assert "`sqlite3 FILE .recover`" in section.partition("\n## ")[0]


def test_the_way_back_is_not_what_a_restore_put_aside(patient: Patient) -> None:
    """The newest backup is of the state that was left on purpose."""
    asked = patient.satchel("backup").json["backup"]
    patient.written("one too many")
    kept = patient.satchel("restore", asked, "--yes").json["kept"]
    scratched(database(patient.home), "memory")
    assert f"`satchel restore {asked} --yes`, with" in patient.bad()["integrity"]["fix"]
    shutil.rmtree(asked)
    fix = patient.bad()["integrity"]["fix"]
    assert f"`satchel restore {kept} --yes` (what was here before a restore)" in fix


def test_a_damaged_database_without_a_backup_is_put_aside(patient: Patient) -> None:
    path = database(patient.home)
    scratched(path, "memory")
    fix = patient.bad()["integrity"]["fix"]
    assert f"move {path} with its -wal and -shm away" in fix
    shell(f"mkdir {patient.home}/aside; mv {path}* {patient.home}/aside")
    patient.written("begun anew")
    told = patient.bad()
    assert set(told) <= {"audit"}, "the chain of reads names a replica that is gone"


def test_a_text_index_that_lacks_rows(patient: Patient) -> None:
    """As after somebody wrote past the triggers."""
    db = apsw.Connection(str(patient.home / "satchel.db"))
    db.execute("INSERT INTO memory_fts(memory_fts) VALUES ('delete-all')")
    db.close()
    index = patient.bad()["index"]
    assert (index["ok"], index["fixable"]) == ("warn", True)
    assert "memory: 2 rows, 0 in the index" in index["found"]
    assert patient.found("attic") == []
    assert patient.checks("--fix")["index"]["fixed"] == "made the text index anew"
    patient.is_well()
    assert patient.found("attic") == [ATTIC]


def test_an_older_file_is_looked_at_and_not_migrated(tmp_path: Path) -> None:
    with tarfile.open(TOP / "versions" / "kept" / "schema-0005.tar.xz") as kept:
        kept.extractall(tmp_path, filter="data")
    (path,) = tmp_path.rglob("satchel.db")
    patient = Patient(path.parent)
    checks = patient.checks()
    assert "schema 5: the next command brings it to " in checks["replica"]["found"]
    assert checks["integrity"]["ok"] == "ok"
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA user_version").get == 5
    db.close()
    assert patient.satchel("search", "attic").code == 0
    assert f"{path}, schema " in patient.checks()["replica"]["found"]
    assert list((path.parent / "backups").iterdir())
    scratched(database(patient.home), "memory")
    assert "damaged: memory" in patient.bad()["integrity"]["found"]


# ---- beside it ----------------------------------------------------------------------------------


def test_a_damaged_activity_file(patient: Patient) -> None:
    path = database(patient.home, "activity.db")
    path.write_bytes(b"no traces of reads" * 999)
    assert patient.found("cellar") == [CELLAR], "no read fails for want of its trace"
    bad = patient.bad()
    assert (bad["activity"]["ok"], bad["audit"]["ok"]) == ("fail", "fail")
    shell(quoted(bad["activity"]["fix"], f"mv {path}"))
    for tail in ("-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    assert patient.found("cellar") == [CELLAR]
    patient.is_well()


def test_an_activity_file_of_a_newer_satchel(patient: Patient) -> None:
    db = apsw.Connection(str(patient.home / "activity.db"))
    number = db.execute("PRAGMA user_version").get
    db.execute(f"PRAGMA user_version = {number + 1}")
    activity = patient.bad()["activity"]
    assert (activity["ok"], activity["fix"]) == ("warn", "upgrade satchel on this machine")
    assert "was written by a newer satchel" in activity["found"]
    db.execute(f"PRAGMA user_version = {number}")
    db.close()
    patient.is_well()


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ('[ranking]\nengin = "pure"\n', "unknown setting 'ranking.engin'"),
        ("[ranking\n", "config.toml"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_a_damaged_config(patient: Patient, written: str, told: str) -> None:
    path = patient.home / "config.toml"
    path.write_bytes(written.encode("utf-8", "surrogateescape"))
    refused = patient.satchel("search", "attic")
    assert refused.error["code"] == "config_invalid"
    assert "`satchel doctor` tells more" in refused.error["hint"]
    bad = patient.bad()
    assert list(bad) == ["config"]
    assert str(path) in bad["config"]["found"]
    assert told in bad["config"]["found"]
    path.write_text('[ranking]\nengine = "pure"\n', "utf-8")
    path.chmod(0o600)
    patient.is_well()


def test_a_damaged_key(patient: Patient) -> None:
    assert patient.satchel("backup", "--with-keys").code == 0
    key = patient.home / "keys" / "audit.key"
    kept = key.read_bytes()
    key.write_bytes(b"x")
    refused = patient.satchel("write", "one more")
    assert (refused.code, refused.error["code"]) == (1, "key_invalid")
    bad = patient.bad()
    assert bad["keys"]["ok"] == "fail"
    assert f"the key {key} is damaged" in bad["keys"]["found"]
    (trusted := key.with_name("trusted.json")).write_text("x")
    both = patient.bad()["keys"]["found"]
    assert f"the key {key} is damaged" in both
    assert str(trusted) in both, "one fault hides no other"
    trusted.unlink()
    assert "from a backup" in bad["keys"]["fix"]
    (backup,) = (patient.home / "backups").iterdir()
    (saved,) = backup.rglob("audit.key")
    shutil.copy(saved, key)
    assert key.read_bytes() == kept
    patient.is_well()
    patient.written("one more")


@POSIX
def test_files_that_others_may_read(patient: Patient) -> None:
    wide = [patient.home / name for name in ("satchel.db", "activity.db", "keys/audit.key")]
    for path in wide:
        path.chmod(0o644)
    bad = patient.bad()
    assert bad["files"]["fixable"]
    assert all(f"{path} (mode 644)" in bad["files"]["found"] for path in wide[1:])
    assert f"{wide[2]} is open to others" in bad["keys"]["found"]
    wide[1].chmod(0o600)
    stranger = patient.home.with_name("stranger")
    stranger.touch()
    stranger.chmod(0o644)
    (patient.home / "backups").mkdir(mode=0o700)
    (patient.home / "backups" / "link").symlink_to(stranger)
    fixed = patient.checks("--fix")
    assert str(wide[2]) in fixed["files"]["fixed"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in wide} == {0o600}
    assert stat.S_IMODE(stranger.stat().st_mode) == 0o644, "a link leads out of the home"
    patient.is_well()


def test_a_config_that_others_may_write(patient: Patient) -> None:
    path = patient.home / "config.toml"
    path.write_text('[ranking]\nengine = "pure"\n')
    path.chmod(0o644)
    patient.is_well()
    path.chmod(0o666)
    files = patient.bad()["files"]
    assert f"{path} (mode 666)" in files["found"]
    shell(quoted(files["fix"], "chmod go-rwx"))
    patient.is_well()


# ---- left over ----------------------------------------------------------------------------------


def test_drafts_of_processes_that_are_gone(patient: Patient) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    home = patient.home
    (home / "vectors").mkdir(mode=0o700)
    (home / "backups").mkdir(mode=0o700)
    left = [
        home / "vectors" / f"model.memory.vec.{ended.pid}.draft",
        home / "backups" / f"satchel-schema-0005.db.{ended.pid}.draft",
        home / "keys" / ".own.json.abcd1234",
        home / ".config.toml.abcd1234.part",
    ]
    at_work = [
        home / "vectors" / f"model.memory.vec.{os.getpid()}.draft",
        home / "keys" / ".own.json.wxyz5678",
    ]
    others = [home / ".config.settings", home / "keys" / "mine.json"]
    others += [home / "backups" / f"notes.{ended.pid}.draft", home / "backups" / ".mine.part"]
    for path in (*left, *at_work, *others):
        path.touch(mode=0o600)
    long_ago = time.time() - 9_999
    for path in (*left, at_work[0], *others):
        os.utime(path, (long_ago, long_ago))
    files = patient.bad()["files"]
    assert files["ok"] == "warn"
    assert all(str(path) in files["found"] for path in left)
    assert not any(str(path) in files["found"] for path in at_work)
    asked = patient.checks("--fix")["files"]
    assert asked["fixed"].startswith("not done: remove ")
    assert all(path.exists() for path in left), "nobody confirmed it"
    assert patient.checks("--fix", "--yes")["files"]["fixed"].startswith("removed ")
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in (*at_work, *others)), "somebody's, or at work"
    patient.is_well()


def test_a_log_whose_database_was_moved_away(patient: Patient, tmp_path: Path) -> None:
    """Its rows are nowhere else: SQLite would delete it with the next write."""
    home, moved = patient.home, tmp_path / "moved.db"
    reader = apsw.Connection(str(home / "satchel.db"))  # so that the log is not folded in
    reader.execute("BEGIN; SELECT 1 FROM meta").fetchall()
    patient.written("only in the log")
    (home / "satchel.db").rename(moved)
    log = (home / "satchel.db-wal").read_bytes()
    assert log
    files = patient.bad()["files"]
    assert files["ok"] == "fail"
    assert "the last writes of a file that was moved away" in files["found"]
    for name, mend in (("mended", ("doctor", "--fix")), ("written", ("write", "begun anew"))):
        other = Patient(Path(shutil.copytree(home, tmp_path / name)))
        other.satchel(*mend)
        assert "files" not in other.bad()
        (kept,) = (other.home / "backups").iterdir()
        assert kept.read_bytes() == log
    moved.rename(home / "satchel.db")
    reader.close()
    assert patient.found("only") == ["only in the log"]
    assert "files" not in patient.bad()
