"""Someone who writes to the file by hand: Python's own SQLite, in a process of its own.

Two SQLite libraries in one process do not see each other's locks, so this must be another process.
Run as a program it answers pickled (statement, parameters) with rows or an error.
"""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import fix_forked


class Rows(list[tuple[Any, ...]]):
    """The rows of a statement, read as from a cursor."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(self)

    def fetchone(self) -> tuple[Any, ...]:
        return self[0]


class Hand:
    """A connection in another process; raises the sqlite3 errors of that process."""

    def __init__(self, path: Path, *, recursive_triggers: bool = False) -> None:
        self._process = _started(path)
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
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._process.stdout:
            self._process.stdin.close()
            assert self._process.wait(timeout=10) == 0


def _started(path: Path) -> subprocess.Popen[bytes] | fix_forked.Child:
    """The process; forked where that can be done, as it costs more to start than to ask."""
    import fix_forked  # not where this is the program

    if fix_forked.fits([str(path)]):
        server = fix_forked.server_of(__file__)
        return server.start([str(path)], dict(os.environ), sys.stderr.fileno())
    return subprocess.Popen(
        [sys.executable, __file__, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def main() -> None:
    """Answer until nobody asks any more."""
    path = sys.argv[1]
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
    main()
