"""deploy/hub/bin: which files of a folder of backups the scripts make, take and let go.

The scripts as they are, with stand-ins for what they start; with PostgreSQL they run in test_guide.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from fix_kit import shipped

HUB = Path(__file__).parents[2] / "deploy/hub"
PROGRAM = "/opt/satchel/bin/satchel"
DAY_S = 86_400
DUMPING = """#!/bin/sh
for word; do case $word in --file=*) echo part > "${word#--file=}";; esac; done
case "$0 ${SLOW-}" in *pg_dump\\ 1) sleep 60;; esac
"""


class Folder:
    """A folder of backups, and scripts that work on it."""

    def __init__(self, place: Path) -> None:
        self.backups, self.programs = place / "b", place / "bin"
        self.backups.mkdir()
        self.programs.mkdir()
        for name in ("pg_dump", "pg_dumpall"):
            self._program(name, DUMPING)
        self._program("satchel", '#!/bin/sh\necho "$@"\n')
        for script in (HUB / "bin").iterdir():
            text = script.read_text("utf-8").replace(PROGRAM, str(self.programs / "satchel"))
            self._program(script.name, text)

    def _program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def put(self, *names: str, days: float) -> None:
        """Files that are so old."""
        for name in names:
            (self.backups / name).touch()
            os.utime(self.backups / name, times=(time.time() - days * DAY_S,) * 2)

    def names(self) -> set[str]:
        return {one.name for one in self.backups.iterdir()}

    def start(self, script: str, **more: str) -> subprocess.Popen[str]:
        given = {
            "HUB_BACKUPS": self.backups,
            "HUB_DATABASE": "memory",
            "HUB_KEEP_DAYS": "14",
            "HUB_SCRATCH": "/scratch",
            "PATH": f"{self.programs}:{os.environ['PATH']}",
        }
        return subprocess.Popen(
            ["sh", self.programs / script], env={**given, **more}, text=True,
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def run(self, script: str) -> str:
        with self.start(script) as process:
            said = process.communicate(timeout=30)[0]
        assert process.returncode == 0, said
        return said


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


OURS, NEWEST = "20260101T000000Z", "20260102T000000Z"
OTHERS = (
    "memory-archive-20260103T000000Z.dump",
    "memory-copy.dump",
    "xmemory-20260104T000000Z.dump",
)


def test_dumps_of_other_databases_are_not_taken_for_ours(folder: Folder) -> None:
    folder.put(*OTHERS, "roles-20260103T000000Z.sql", days=30)
    folder.put(f"memory-{OURS}.dump", f"roles-{OURS}.sql", days=20)
    folder.put(f"memory-{NEWEST}.dump", f"roles-{NEWEST}.sql", days=1)
    assert f"/memory-{NEWEST}.dump " in folder.run("satchel-hub-prove")
    assert "backup-check --days 14" in folder.run("satchel-hub-prune")
    assert folder.names() == {
        *OTHERS, "roles-20260103T000000Z.sql", f"memory-{NEWEST}.dump", f"roles-{NEWEST}.sql",
    }  # fmt: skip


def test_the_newest_dump_keeps_its_roles_however_old(folder: Folder) -> None:
    folder.put(f"memory-{OURS}.dump", f"roles-{OURS}.sql", "roles-20251231T000000Z.sql", days=30)
    folder.put(f"memory-{NEWEST}.dump", f"roles-{NEWEST}.sql", days=20)
    folder.put("roles-20260105T000000Z.sql", days=1)
    folder.run("satchel-hub-prune")
    young = "roles-20260105T000000Z.sql"
    assert folder.names() == {f"memory-{NEWEST}.dump", f"roles-{NEWEST}.sql", young}


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_what_a_backup_began_is_gone_with_it_or_with_the_next(
    folder: Folder, ending: signal.Signals
) -> None:
    folder.put(".memory-archive-20260103T000000Z.dump", ".memory-x.dump", days=0)
    kept = folder.names()
    with folder.start("satchel-hub-backup", SLOW="1") as process:
        deadline = time.monotonic() + 30
        while not any(name.startswith(".memory-2") for name in folder.names()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, ending)
        process.communicate(timeout=30)
    assert process.returncode != 0
    if ending is signal.SIGKILL:
        assert len(folder.names() - kept) == 2
    else:
        assert folder.names() == kept
    dump = Path(folder.run("satchel-hub-backup").strip()).name
    roles = dump.replace("memory-", "roles-").replace(".dump", ".sql")
    assert folder.names() - kept == {dump, roles}
    assert folder.names() >= kept


def test_two_backups_at_once_do_not_take_each_others_files(folder: Folder) -> None:
    made = [folder.start("satchel-hub-backup") for _ in range(3)]
    for one in made:
        said = one.communicate(timeout=30)[0]
        assert one.returncode == 0
        assert Path(said.strip()).exists()


def test_programs_lie_where_a_kit_puts_them() -> None:
    """What units, scripts, containers and the guide start is in a kit's folder, or in a venv."""
    install = shipped("install")
    target, program = Path(PROGRAM).parents[1], Path(PROGRAM).name
    assert Path(PROGRAM) == target / install.BIN / program
    assert install.program(target, program) == target / install.VENV / "bin" / program
    dockerfile = (HUB / "Dockerfile").read_text("utf-8")
    assert f"install.py --target {target}\n" in dockerfile
    assert f"COPY --from=kit {target} {target}\n" in dockerfile
    # A venv has its path in it, and the Python below it has to be the same one.
    assert len(set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE))) == 1
    page = (HUB.parents[1] / "docs/DEPLOY.md").read_text("utf-8")
    texts = [page, *(one.read_text("utf-8") for one in HUB.rglob("*") if one.is_file())]
    started = {word for text in texts for word in re.findall(rf"{target}/[\w./-]+", text)}
    assert started == {f"{target}/bin/{name}" for name in ("satchel", "python", "pip")}
    services = yaml.safe_load((HUB / "compose.yaml").read_text("utf-8"))["services"]
    assert services["metrics"]["entrypoint"][0] == PROGRAM
