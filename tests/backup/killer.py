"""Restores that are killed with -9 at one of their lines: each in a process forked from this one.

`killer.py HOME BACKUP FOLDER STATE EVERY OFFSET`: for each line that a restore runs in
`satchel.backup` for the first time (every so many, from an offset), a copy of HOME in the state is
restored from BACKUP and killed there. Prints JSON: how many lines, what was found afterwards.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import apsw

from satchel import peers as _peers  # noqa: F401 (all is imported before the first fork)
from satchel.audit.checking import told
from satchel.backup import restoring
from satchel.config import Settings
from satchel.replica import DATABASE_FILE, open_store
from satchel.store import seal as _seal  # noqa: F401

PACKAGE = f"{os.sep}satchel{os.sep}backup{os.sep}"
NEVER = 1 << 30


class Killer:
    """A trace that ends this process at the line of that number, of those of the package."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.seen: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if PACKAGE not in frame.f_code.co_filename:
            return None
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
            if len(self.seen) == self.number:
                os.write(2, f"{frame.f_code.co_filename}:{frame.f_lineno}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def settings_of(home: Path) -> Settings:
    return Settings(home=home, user_id="una", embedding="off", durability="process")


def state_of(home: Path, state: str) -> None:
    """Bring a fresh copy into the state."""
    if state == "damaged":
        with (home / DATABASE_FILE).open("r+b") as file:
            file.write(b"\xff" * 100)
    elif state == "gone":
        (home / DATABASE_FILE).unlink()
        (home / "activity.db").unlink()
    else:
        with open_store(settings_of(home)):  # a copy takes a new id, once
            pass


def in_child(work: Callable[[], Any]) -> tuple[int, bytes]:
    """How a forked process ended, and what it said."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(into, json.dumps(work()).encode())
        except Exception as error:  # noqa: BLE001 (the parent tells it)
            os.write(into, json.dumps(f"{type(error).__name__}: {error}").encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as file:
        said = file.read()
    return os.waitpid(pid, 0)[1], said


def restore(home: Path, backup: Path, number: int) -> int:
    """The restore, with the trace on; how many lines it ran."""
    killer = Killer(number)
    sys.settrace(killer)
    restoring.restore(settings_of(home), backup, confirm=lambda question: True, unread=True)
    sys.settrace(None)
    return len(killer.seen)


def found_in(home: Path, backup: Path, damaged: bool) -> Any:
    """The texts after the kill; and after another restore, which must always succeed."""
    first = ["damaged"]
    try:
        first = looked_at(home)
    except Exception as error:
        if not damaged:
            raise
        first = [type(error).__name__]
    restoring.restore(settings_of(home), backup, confirm=lambda question: True, unread=True)
    left = sorted(path.name for path in (home / "backups").iterdir() if path.name[0] == ".")
    return [first, looked_at(home), left]


def looked_at(home: Path) -> list[str]:
    settings = settings_of(home)
    if not (home / DATABASE_FILE).exists():
        return ["gone"]
    with open_store(settings) as store:
        with store.read() as db:
            whole = db.execute("PRAGMA integrity_check").get
            texts = [text for (text,) in db.execute("SELECT content FROM memory ORDER BY content")]
        audit = told(store, settings)
    if whole != "ok" or not audit["ok"]:
        raise AssertionError(f"{whole} {audit}")
    return texts


def main() -> None:
    """See above."""
    home, backup, folder = map(Path, sys.argv[1:4])
    state, every, offset = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
    told_all, number, lines = [], offset, NEVER
    while number < lines:
        copy = folder / f"{state}-{number}"
        shutil.copytree(home, copy)
        state_of(copy, state)
        code, said = in_child(lambda c=copy, n=number: restore(c, backup, n))
        if code != signal.SIGKILL:
            lines = json.loads(said)
            if not isinstance(lines, int):
                raise SystemExit(lines)
        _, found = in_child(lambda c=copy: found_in(c, backup, state == "damaged"))
        told_all.append([number, json.loads(found)])
        shutil.rmtree(copy)
        number += every
    print(json.dumps({"lines": lines, "found": told_all}))


if __name__ == "__main__":
    assert apsw
    main()
