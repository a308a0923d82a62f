"""A SQLite file of another program, to be read: it is not written to, and nothing in it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import apsw

from satchel.errors import InvalidInput
from satchel.importing.files import opened

MAGIC = b"SQLite format 3\0"
BUSY_TIMEOUT_MS = 5_000
Row = Mapping[str, Any]


class Tables(Protocol):
    """Tables of another program, however they are stored."""

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a table of that name with these columns."""
        ...

    def count(self, table: str) -> int:
        """Rows of a table; 0 for one that is not there."""
        ...

    def rows(self, table: str, *needed: str) -> Iterator[Row]:
        """The rows of a table; none where it lacks one of the columns that are needed."""
        ...

    def close(self) -> None:
        """Let go of what they are stored in."""
        ...


def unreadable(path: Path, error: apsw.Error) -> InvalidInput:
    """That a file is no database that can be read, and why."""
    return InvalidInput(f"{path} cannot be read: {error}", field="path")


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as a database does. Raises InvalidInput where it cannot be read."""
    with opened(path) as file:
        return file.read(len(MAGIC)) == MAGIC


class SqliteFile:
    """A stranger's SQLite file, to read: its triggers never run, its views are not looked at."""

    def __init__(self, path: Path) -> None:
        """Raises InvalidInput where it cannot be read."""
        try:
            self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        except apsw.Error as error:
            raise unreadable(path, error) from error
        try:
            self._tables = self._opened()
        except apsw.Error as error:
            self.close()
            raise unreadable(path, error) from error

    def _opened(self) -> dict[str, tuple[str, ...]]:
        """One snapshot from here on."""
        self._db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        self._db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self._db.set_busy_timeout(BUSY_TIMEOUT_MS)
        self._db.execute("BEGIN")
        found = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr"
        self._without_rowid = frozenset(str(name) for (name,) in self._db.execute(found))
        return self._columns()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def has(self, table: str, *columns: str) -> bool:
        """Whether there is a plain table of that name with these columns."""
        return set(columns) <= set(self._tables.get(table, ())) and table in self._tables

    def count(self, table: str) -> int:
        """Rows of a table; 0 for one that is not there. Raises apsw.Error."""
        if table not in self._tables:
            return 0
        return int(self._db.execute(f'SELECT count(*) FROM "{table}"').get)

    def rows(self, table: str, *needed: str) -> Iterator[Row]:
        """The rows of a table as {column: value}, in the order in which they were written.

        A table WITHOUT ROWID keeps no such order: by `created_at` where it has one. None of a table
        that lacks one of the columns that are needed. Raises apsw.Error.
        """
        if not self.has(table, *needed):
            return
        columns = self._tables[table]
        # Text that is no UTF-8 must not end the reading: it is taken as bytes and told as a fault.
        listed = ", ".join(f'CAST("{one}" AS BLOB), typeof("{one}")' for one in columns)
        for values in self._db.execute(f'SELECT {listed} FROM "{table}" {self._order(table)}'):
            pairs = zip(columns, values[::2], values[1::2], strict=True)
            yield {name: _value(raw, kind) for name, raw, kind in pairs}

    def _order(self, table: str) -> str:
        if table not in self._without_rowid:
            return "ORDER BY rowid"
        return "ORDER BY created_at" if "created_at" in self._tables[table] else ""

    def _columns(self) -> dict[str, tuple[str, ...]]:
        """Table -> its columns, of those that are plain tables."""
        tables = self._db.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'"
        ).fetchall()
        return {
            str(name): tuple(
                str(column)
                for (column,) in self._db.execute(
                    "SELECT name FROM pragma_table_info(?) WHERE name NOT LIKE '%\"%'", (name,)
                )
            )
            for (name,) in tables
        }


def _value(raw: Any, kind: Any) -> Any:
    """A value by its own type; a blob stays bytes, and so does text that is none."""
    if raw is None or kind == "blob":
        return raw
    try:
        said = bytes(raw).decode()
    except UnicodeDecodeError:
        return bytes(raw)
    if kind == "integer":
        return int(said)
    return float(said) if kind == "real" else said
