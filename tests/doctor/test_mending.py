"""What `--fix` does: each mend by itself, and none to what has come to life since the look."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fix_doctor import Patient, quoted, shell
from fix_memory import TrigramEmbedder, opened

from satchel import config
from satchel.doctor import Check, Mend, examine
from satchel.doctor.mending import mended
from satchel.memory.search import search
from satchel.memory.write import write

POSIX = pytest.mark.skipif(os.name != "posix", reason="files have no mode here")


@POSIX
def test_what_is_not_confirmed_keeps_no_other_mend_from_being_done(patient: Patient) -> None:
    key, draft = patient.home / "keys" / "audit.key", patient.home / "keys" / ".own.json.abcd1234"
    key.chmod(0o644)
    draft.touch(mode=0o600)
    os.utime(draft, (1, 1))
    assert patient.satchel("write", "refused").error["code"] == "key_invalid"
    fixed = patient.checks("--fix")["files"]["fixed"]
    assert fixed.startswith(f"closed {key} to others; not done: remove {draft}: ")
    assert draft.exists()
    patient.written("one more")
    assert patient.checks("--fix", "--yes")["files"]["fixed"] == f"removed {draft}"
    patient.is_well()


def test_a_mend_that_fails_hides_no_other() -> None:
    def fails() -> str:
        raise OSError("the disk is gone")

    mends = (
        Mend(does="close it", run=lambda: "closed it"),
        Mend(does="open it", run=fails),
        Mend(does="move it", run=lambda: "moved it"),
    )
    check = Check(name="files", ok="warn", found="three faults", mends=mends)
    told = "closed it; not done: open it: OSError: the disk is gone; moved it"
    assert mended([check], lambda _: True) == {"files": told}


# ---- what comes to life between the look and the mend -------------------------------------------


def mends(patient: Patient) -> dict[str, Mend]:
    """What `--fix` would do now, by the name of its check."""
    settings = config.load(environ={"SATCHEL_HOME": str(patient.home), "SATCHEL_EMBEDDING": "off"})
    found = examine(lambda: settings, offline=True)
    return {check.name: check.mends[0] for check in found if check.mends}


def test_a_log_that_is_a_new_replicas_by_now(tmp_path: Path) -> None:
    """A server has started in the home meanwhile: its memories are in the log that lies there."""
    patient = Patient(tmp_path / "home")
    patient.home.mkdir(mode=0o700)
    (patient.home / "satchel.db-wal").write_bytes(b"orphan" * 1000)
    (patient.home / "satchel.db-wal").chmod(0o600)
    mend = mends(patient)["files"]
    with opened(patient.home, embedding="off") as server:
        write(server, "acknowledged meanwhile")
        alive = (patient.home / "satchel.db-wal").read_bytes()
        assert "satchel.db is there now, and it is its own" in mend.run()
        assert (patient.home / "satchel.db-wal").read_bytes() == alive
        (kept,) = (patient.home / "backups").iterdir()
        assert kept.read_bytes() == b"orphan" * 1000
    assert patient.found("acknowledged") == ["acknowledged meanwhile"]


WRITES = """
import sys
from pathlib import Path
from satchel.doctor.writer_lock import writer_lock
with writer_lock(Path(sys.argv[1])) as ours:
    print("ours" if ours else "another's", flush=True)
    sys.stdin.read()
"""


def test_a_vector_file_that_is_whole_by_now(tmp_path: Path) -> None:
    patient = Patient(tmp_path)
    with opened(tmp_path, embedder=TrigramEmbedder()) as replica:
        write(replica, "the shed is green")
        search.search(replica, "green shed")
        (path,) = (tmp_path / "vectors").glob("*.memory.vec")
        whole = path.read_bytes()
        path.write_bytes(b"spoiled")
        mend = mends(patient)["vectors"]
        with subprocess.Popen(
            [sys.executable, "-c", WRITES, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ours\n"
            assert "somebody writes it" in mend.run()
            writer.communicate(b"end")
        path.write_bytes(whole)
        assert mend.run().startswith(f"left {path.name}: it was made anew")
        assert path.read_bytes() == whole
        path.write_bytes(b"spoiled")
        assert mend.run() == f"removed {path.name}"


def test_a_folder_among_the_vector_files_is_somebodys(patient: Patient) -> None:
    """It is told, and moved away by hand; what has come since the look is left as well."""
    folder = patient.home / "vectors"
    folder.mkdir(mode=0o700, exist_ok=True)
    notes, spoiled = folder / "mine of.vec" / "notes", folder / "spoiled.vec"
    notes.parent.mkdir()
    notes.write_text("somebody's")
    spoiled.write_bytes(b"spoiled")
    mend = mends(patient)["vectors"]
    fixed = patient.checks("--fix", "--yes")["vectors"]
    assert (fixed["ok"], fixed["fixed"]) == ("warn", "removed spoiled.vec")
    assert not fixed["fixable"]
    assert notes.read_text() == "somebody's"
    spoiled.mkdir()
    assert mend.run().startswith("left spoiled.vec: ")
    assert spoiled.is_dir()
    for _ in range(2):
        shell(quoted(patient.bad()["vectors"]["fix"].removeprefix("move it away: "), "mv "))
    patient.is_well()
    assert (folder / "mine of.vec.old" / "notes").read_text() == "somebody's"


@pytest.mark.parametrize("name", [".satchel-abcd1234.part", ".restoring"])
def test_a_backup_that_is_being_made(patient: Patient, name: str) -> None:
    """Its folder is old and a file in it new; or it was killed, and only the lock tells."""
    staged = patient.home / "backups" / name
    staged.mkdir(parents=True)
    (staged / "satchel.db").write_bytes(b"half of it")
    long_ago = time.time() - 9_999
    os.utime(staged, (long_ago, long_ago))
    assert "files" not in mends(patient), "somebody writes in it"
    os.utime(staged / "satchel.db", (long_ago, long_ago))
    mend = mends(patient)["files"]
    os.utime(staged / "satchel.db")
    assert mend.run() == f"left {staged}: somebody works on it"
    os.utime(staged / "satchel.db", (long_ago, long_ago))
    assert mend.run() == f"removed {staged}"
    assert not staged.exists()


def test_a_draft_that_is_written_to_by_now(patient: Patient) -> None:
    draft = patient.home / "keys" / ".own.json.abcd1234"
    draft.touch(mode=0o600)
    long_ago = time.time() - 9_999
    os.utime(draft, (long_ago, long_ago))
    mend = mends(patient)["files"]
    os.utime(draft)
    assert mend.run() == f"left {draft}: somebody works on it"
    draft.unlink()
    assert mend.run() == "nothing: it is gone"
