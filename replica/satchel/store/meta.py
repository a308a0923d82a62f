"""The table `meta`: single values that the file keeps by name."""

from __future__ import annotations

from typing import Any

import apsw


def meta(db: apsw.Connection, name: str) -> Any:
    """A value of the table `meta`, or None."""
    return db.execute("SELECT value FROM meta WHERE name = ?", (name,)).get


def set_meta(db: apsw.Connection, name: str, value: str | int | bytes | None) -> None:
    """Keep a value in the table `meta`; None removes it."""
    db.execute("DELETE FROM meta WHERE name = ?", (name,))
    if value is not None:
        db.execute("INSERT INTO meta(name, value) VALUES(?, ?)", (name, value))
