"""What the doctor says of a home, asked as a user asks it, and homes to break."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, TIMEOUT_S, Run, environment, run

from satchel import config
from satchel.doctor import examine
from satchel.doctor.examining import answer

NOBODY = 65534
"""The user and group that owns nothing."""
NEEDS_ROOT = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only root may become another user"
)


@dataclass(frozen=True)
class Patient:
    """A home, and the variables of everybody who works on it."""

    home: Path
    variables: tuple[tuple[str, str], ...] = ()
    prefix: tuple[str, ...] = ()
    """Words before each command, as of one who becomes another user first."""

    def satchel(self, *words: str, **variables: str) -> Run:
        """A command on this home."""
        said = {"SATCHEL_HOME": str(self.home), **dict(self.variables), **variables}
        if not self.prefix:
            return run(*words, **said)
        done = subprocess.run(
            [*self.prefix, *COMMAND, *words],
            env=environment(**said), stdin=subprocess.DEVNULL, capture_output=True,
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
        return Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    def written(self, *texts: str) -> None:
        """Memories, acknowledged."""
        for text in texts:
            done = self.satchel("write", text)
            assert done.code == 0, done.err

    def found(self, query: str) -> list[str]:
        """The texts that a search finds."""
        done = self.satchel("search", query)
        assert done.code == 0, done.err
        return sorted(hit["snippet"] for hit in done.json["hits"])

    def checks(self, *words: str, **variables: str) -> dict[str, dict[str, Any]]:
        """What the doctor says, by name; its exit code fits, and nothing bad is without a way.

        Asked in this process where that makes no difference: it takes a tenth of the time.
        """
        said = {"SATCHEL_HOME": str(self.home), **dict(self.variables), **variables}
        if words or self.prefix or any(not name.startswith("SATCHEL_") for name in said):
            done = self.satchel("doctor", *words, **variables)
            told, code = done.json, done.code
        else:
            told = answer(examine(lambda: config.load(environ=environment(**said))))
            code = 0 if told["ok"] else 1
        checks: dict[str, dict[str, Any]] = {one["name"]: one for one in told["checks"]}
        assert len(checks) == len(told["checks"]), "no name twice"
        failed = [one for one in checks.values() if one["ok"] == "fail"]
        assert (code, told["ok"]) == ((1, False) if failed else (0, True))
        for one in checks.values():
            assert one["what"]
            assert one["found"]
            assert bool(one["why"]) == bool(one["fix"]) == (one["ok"] != "ok"), one
        return checks

    def bad(self, *words: str, **variables: str) -> dict[str, dict[str, Any]]:
        """The checks that are not well."""
        checks = self.checks(*words, **variables)
        return {name: one for name, one in checks.items() if one["ok"] != "ok"}

    def is_well(self, *words: str, **variables: str) -> None:
        """Nothing fails, and nothing warns."""
        bad = self.bad(*words, **variables)
        assert not bad, bad


def quoted(fix: str, start: str) -> str:
    """The command in the doctor's words that begins so, without its quotes."""
    found = re.search(rf"`?({re.escape(start)}[^`;]*)", fix)
    assert found, f"no `{start}` in: {fix}"
    return found[1].strip().removesuffix(":")


def shell(command: str) -> None:
    """Do what the doctor said, as somebody types it."""
    subprocess.run(["bash", "-euc", command], check=True, capture_output=True, timeout=TIMEOUT_S)


def database(home: Path, name: str = "satchel.db") -> Path:
    """A database with all that was written in the file itself, and no log beside it."""
    import apsw

    path = home / name
    db = apsw.Connection(str(path))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.close()
    for tail in ("-wal", "-shm"):
        Path(f"{path}{tail}").unlink(missing_ok=True)
    return path


def scratched(path: Path, table: str) -> None:
    """Bytes of nobody's over the first page of a table."""
    import apsw

    db = apsw.Connection(str(path))
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    size = db.execute("PRAGMA page_size").get
    db.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(bytes(range(251)) * (size // 251))


def as_nobody(home: Path) -> Patient:
    """The same home for a user that is not root; this interpreter must be in his reach."""
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    tried = [*prefix, sys.executable, "-c", "import satchel, apsw"]
    done = subprocess.run(tried, capture_output=True, text=True, check=False)
    if done.returncode:
        prefix = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")  # root without its powers
    return Patient(home, prefix=prefix)


def is_another(patient: Patient) -> bool:
    """Whether it works as a user of another number, and not as a root without powers."""
    return f"--reuid={NOBODY}" in patient.prefix


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own, as small as it is said."""
    mounted(folder, size)
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True, capture_output=True)


def mounted(folder: Path, size: str, *options: str) -> None:
    """Mount or, with the option `remount`, change its size."""
    chosen = ",".join((f"size={size}", *options))
    command: list[str | Path] = ["mount", "-t", "tmpfs", "-o", chosen, "none", folder]
    subprocess.run(command, check=True, capture_output=True)


def mountable(folder: Path) -> bool:
    """Whether this process may mount a file system of its own."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    try:
        with small_disk(folder, "64k"):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
