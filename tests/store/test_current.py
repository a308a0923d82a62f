"""A file that is current is known by constants; they are what the program would install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from satchel.store import current, migrate, triggers
from satchel.store.connection import Store


def test_the_constants_are_what_the_program_installs() -> None:
    """When this fails, put the new numbers into `store/current.py`."""
    assert migrate.latest() == current.SCHEMA
    assert triggers.mark() == current.TRIGGERS
    assert current.APPLICATION_ID == migrate.APPLICATION_ID


@pytest.mark.parametrize(
    "damage",
    [
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 7",
        "UPDATE meta SET value = 7 WHERE name = 'triggers'",
        "DELETE FROM meta WHERE name = 'triggers'",
    ],
)
def test_a_file_that_differs_is_not_current(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "satchel.db"
    Store.open(path).close()
    db = apsw.Connection(str(path))
    assert current.is_current(db)

    db.execute(damage)

    assert not current.is_current(db)
    db.close()


def test_an_empty_file_is_not_current(tmp_path: Path) -> None:
    assert not current.is_current(apsw.Connection(str(tmp_path / "empty.db")))


def test_a_current_file_is_opened_without_the_migrations(tmp_path: Path) -> None:
    path = tmp_path / "satchel.db"
    program = (
        "import pathlib, sys\nfrom satchel.store.connection import Store\n"
        f"Store.open(pathlib.Path({str(path)!r})).close()\n"
        "print('satchel.store.migrate' in sys.modules, 'satchel.store.triggers' in sys.modules)"
    )
    found = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]

    assert [run.stdout.split() for run in found] == [["True", "True"], ["False", "False"]]
