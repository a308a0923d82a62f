"""Makes a small home with the program of some version, for `kept/`: what later ones must read.

`python tests/versions/keep.py` makes that of the present schema. Run it once, in the commit before
the one that adds a migration; what is there is never made anew. It uses nothing but the commands of
the program that PYTHONPATH leads to.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

KEPT = Path(__file__).parent / "kept"
FORGOTTEN = "the launch code is zebra-umbrella-42"
FILES = ("satchel.db", "activity.db", "activity.db-wal", "keys/audit.key")
"""No other key: nothing that signs belongs into a source tree."""


def main() -> None:
    """Make the file and say its name."""
    with tempfile.TemporaryDirectory(prefix="satchel-keep-") as folder:
        home = Path(folder)
        fill(home)
        number = schema_of(home / "satchel.db")
        target = KEPT / f"schema-{number:04}.tar.xz"
        KEPT.mkdir(exist_ok=True)
        with tarfile.open(target, "w:xz", preset=9) as tar:
            for name in FILES:
                add(tar, home, name)
    print(target)


def fill(home: Path) -> None:
    """Rows of most kinds: changed, superseded, deleted, forgotten, local, read."""
    first = satchel(home, "write", "the attic is dry: «è» e\u0301, 🎈", "--title", "attic")["id"]
    newer = satchel(home, "memory", "supersede", first, "the attic is damp")["id"]
    satchel(home, "memory", "update", newer, "--text", "the attic is wet")
    satchel(home, "write", "for this machine only", "--local")
    gone = satchel(home, "write", "to be deleted")["id"]
    satchel(home, "memory", "delete", gone, "--yes")
    secret = satchel(home, "write", FORGOTTEN)["id"]
    satchel(home, "memory", "forget", secret, "--yes")
    satchel(home, "memory", "link", first, newer, "near")
    satchel(home, "task", "create", "paint the attic", "--owner", "ada")
    satchel(home, "agent", "register", "ada")
    satchel(home, "agent", "register", "bob")
    satchel(home, "--agent", "ada", "message", "send", "bob", "come and see")
    satchel(home, "chatlog", "write", "c1", "is the attic dry?", "--role", "user")
    satchel(home, "memory", "get", newer)
    satchel(home, "search", "attic")


def satchel(home: Path, *words: str) -> Any:
    """What a command answers."""
    done = subprocess.run(
        [sys.executable, "-m", "satchel", *words],
        env={**os.environ, "SATCHEL_HOME": str(home), "SATCHEL_EMBEDDING": "off"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"satchel {' '.join(words)}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def schema_of(path: Path) -> int:
    """`user_version`, in the header at 60 (https://sqlite.org/fileformat2.html)."""
    return int.from_bytes(path.read_bytes()[60:64], "big")


def add(tar: tarfile.TarFile, home: Path, name: str) -> None:
    """A file without who made it and when."""
    if (home / name).exists():
        data = (home / name).read_bytes()
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o600
        tar.addfile(info, io.BytesIO(data))


if __name__ == "__main__":
    main()
