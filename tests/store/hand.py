"""Someone who writes to the file by hand: Python's own SQLite, in a process of its own.

Two SQLite libraries in one process do not see each other's locks, so this must be another process.
Run as a program it answers pickled (statement, parameters) with rows or an error.
"""

from __future__ import annotations

import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast


class Rows(list[tuple[Any, ...]]):
    """The rows of a statement, read as from a cursor."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)

    def fetchone(self) -> tuple[Any, ...]:
        return self[0]


class Hand:
    """A connection in another process; raises the sqlite3 errors of that process."""

    def __init__(self, path: Path, *, recursive_triggers: bool = False) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.execute(f"PRAGMA recursive_triggers = {int(recursive_triggers)}")

    def execute(self, statement: str, parameters: Sequence[Any] = ()) -> Rows:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump((statement, tuple(parameters)), self._process.stdin)
        self._process.stdin.flush()
        answer = pickle.load(self._process.stdout)
        if isinstance(answer, Exception):
            raise answer
        return Rows(cast("list[tuple[Any, ...]]", answer))

    def close(self) -> None:
        self._process.communicate(timeout=10)
        assert self._process.returncode == 0


def serve(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None, timeout=10)) as db:
        while True:
            try:
                statement, parameters = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                answer: object = db.execute(statement, parameters).fetchall()
            except sqlite3.Error as error:
                answer = error
            pickle.dump(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
