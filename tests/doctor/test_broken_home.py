"""Homes that are broken for real: the doctor finds it, and what it says mends it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_doctor import (
    NEEDS_ROOT,
    NOBODY,
    Patient,
    as_nobody,
    is_another,
    mountable,
    mounted,
    quoted,
    shell,
    small_disk,
)

from satchel.store import local_disk

TOP = Path(__file__).parents[1]
FILLER_BYTES = 64 * 1024


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A folder of nobody in particular, on a way that everybody may go: pytest's own is not.

    A shell takes its name for two words, unless it is quoted.
    """
    folder = Path(tempfile.mkdtemp(prefix="satchel_test_"))
    try:
        folder.chmod(0o755)
        made = folder / "their home"
        made.mkdir(mode=0o700)
        os.chown(made, NOBODY, NOBODY)
        yield made
    finally:
        shutil.rmtree(folder)


@NEEDS_ROOT
def test_a_home_that_this_user_may_not_write(theirs: Path) -> None:
    patient = as_nobody(theirs)
    if not is_another(patient):
        os.chown(theirs, 0, 0)
    patient.written("the attic is dry")
    theirs.chmod(0o500)
    for path in theirs.glob("satchel.db-*"):
        path.unlink()
    refused = patient.satchel("write", "the cellar is wet")
    assert refused.error["code"] == "store_unusable"
    assert "`satchel doctor` tells more" in refused.error["hint"]
    home = patient.bad()["home"]
    assert home["ok"] == "fail"
    assert f"this user may not write to {theirs}" in home["found"]
    shell(quoted(home["fix"].removeprefix("as its owner: "), "chmod u+rwx"))
    patient.written("the cellar is wet")
    patient.is_well()


@NEEDS_ROOT
def test_files_of_another_user_as_after_sudo(theirs: Path) -> None:
    patient = as_nobody(theirs)
    if not is_another(patient):
        pytest.skip("this interpreter is out of the reach of other users")
    patient.written("the attic is dry")
    Patient(theirs).written("and as root: the cellar is wet")
    os.chown(theirs / "satchel.db", 0, 0)
    files = patient.bad()["files"]
    assert files["ok"] == "fail"
    assert str(theirs / "satchel.db") in files["found"]
    assert not files["fixable"], "only root can give a file away"
    command = quoted(files["fix"], "sudo chown -R")
    shell(command.removeprefix("sudo ").replace('"$(id -un)"', f"{NOBODY}:{NOBODY}"))
    patient.is_well()
    assert len(patient.found("attic cellar")) == 2


def test_a_file_in_the_place_of_the_home(tmp_path: Path) -> None:
    patient = Patient(tmp_path / "home")
    patient.home.write_text("no folder")
    home = patient.bad()["home"]
    assert "is no folder" in home["found"]
    shell(quoted(home["fix"].removeprefix("move it away: "), "mv "))
    patient.written("the attic is dry")
    patient.is_well()


def test_a_full_disk(tmp_path: Path) -> None:
    """Of a megabyte or two: what was acknowledged is there, and after that the disk grows."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mountable(folder):
        pytest.skip("may not mount a small file system here")
    with small_disk(folder, "2m"):
        patient = Patient(folder / "home")
        patient.written("the attic is dry")
        _fill(folder / "filler")
        refused = patient.satchel("write", "a tale " * 10_000)
        assert refused.error["code"] == "store_unusable", refused.err
        assert "`satchel doctor` tells more" in refused.error["hint"]
        disk = patient.bad()["disk"]
        assert disk["ok"] == "fail"
        assert f"free at {patient.home}" in disk["found"]
        assert "free some space" in disk["fix"]
        mounted(folder, "1g", "remount")
        patient.written("the cellar is wet")
        patient.is_well()
        assert patient.found("attic cellar") == ["the attic is dry", "the cellar is wet"]


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (FILLER_BYTES, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


def test_a_home_on_a_network_file_system(tmp_path: Path) -> None:
    """A real one, of the kernel's FUSE: SQLite alone would go on, and two machines would write."""
    far, near = tmp_path / "far", tmp_path / "near"
    far.mkdir()
    serve = ("unshare", "-m", sys.executable, str(TOP / "fix_fuse.py"), str(far))
    if subprocess.run([*serve, "true"], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a file system of its own here")
    patient = Patient(far, prefix=serve)
    refused = patient.satchel("write", "the attic is dry")
    assert refused.error["code"] == "store_unusable"
    assert "lies on a network file system (fuse.sshfs, mounted at" in refused.error["message"]
    bad = patient.bad()
    assert "network file system (fuse.sshfs" in bad["home"]["found"]
    assert "copy the folder, set SATCHEL_HOME" in bad["home"]["fix"]
    shutil.copytree(far, near)
    Patient(near).written("the attic is dry")
    Patient(near).is_well()


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
31 27 0:55 / /srv/with\\040blank rw - nfs4 far:/export rw,vers=4.2
32 27 0:56 / /media/share rw shared:9 - cifs //far/share rw
broken line
33 27 0:57 / /odd rw shared:1
"""


@pytest.mark.parametrize(
    ("device", "kind", "far"),
    [
        ("254:0", "ext4", False),
        ("0:55", "nfs4", True),
        ("0:56", "cifs", True),
        ("0:57", "", False),
        ("9:9", "", False),
    ],
)
def test_the_type_of_a_mount(device: str, kind: str, far: bool) -> None:
    found, _ = local_disk.of_mounts(MOUNTS, device)
    assert (found, found in local_disk.NETWORKED) == (kind, far)


# ---- locks --------------------------------------------------------------------------------------

HOLD = """
import sys, time
import apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells who holds one")
def test_a_writer_that_does_not_end(tmp_path: Path) -> None:
    """It was stopped in a transaction: the doctor names it, and once it is killed all goes on."""
    patient = Patient(tmp_path / "home")
    patient.written("the attic is dry")
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, patient.home / "satchel.db"], stdout=subprocess.PIPE
    )
    try:
        assert held.stdout is not None
        assert held.stdout.readline() == b"held\n"
        held.send_signal(signal.SIGSTOP)
        locks = patient.bad()["locks"]
        assert locks["ok"] == "fail"
        assert f"process {held.pid} ({sys.executable} -c" in locks["found"]
        assert "rolled back" in locks["fix"]
        shell(quoted(locks["fix"].removeprefix("wait for it, or "), "kill -9").split(":")[0])
        assert held.wait(30) == -signal.SIGKILL
    finally:
        held.kill()
        held.wait()
        if held.stdout is not None:
            held.stdout.close()
    patient.written("the cellar is wet")
    patient.is_well()


SYNC = """
import sys, time
from pathlib import Path
from satchel.peers import one_sync
with one_sync(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_goes_with_who_held_it(tmp_path: Path) -> None:
    """A sync that was killed leaves a lock file, and that is no fault."""
    patient = Patient(tmp_path / "home")
    patient.written("the attic is dry")
    held = subprocess.Popen([sys.executable, "-c", SYNC, patient.home], stdout=subprocess.PIPE)
    assert held.stdout is not None
    assert held.stdout.readline() == b"held\n"
    if sys.platform.startswith("linux"):
        assert f"a sync runs: process {held.pid}" in patient.checks()["locks"]["found"]
    held.kill()
    held.wait()
    held.stdout.close()
    assert (patient.home / "sync.lock").exists()
    assert patient.checks()["locks"]["found"] == "free"
    patient.is_well()


@NEEDS_ROOT
def test_a_lock_file_of_another_user(theirs: Path) -> None:
    patient = as_nobody(theirs)
    if not is_another(patient):
        pytest.skip("this interpreter is out of the reach of other users")
    patient.written("the attic is dry")
    (theirs / "sync.lock").touch(mode=0o600)
    os.chown(theirs / "sync.lock", 0, 0)
    locks = patient.bad()["locks"]
    assert (locks["ok"], locks["fixable"]) == ("fail", True)
    assert str(theirs / "sync.lock") in locks["found"]
    fixed = patient.checks("--fix", "--yes")
    assert fixed["locks"]["fixed"] == f"removed {theirs / 'sync.lock'}"
    assert not (theirs / "sync.lock").exists()
    assert all(one["ok"] == "ok" for one in fixed.values())
