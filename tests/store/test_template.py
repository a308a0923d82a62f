"""The copies that other tests begin with are what a migration makes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
from fix_template import Template, copying

from satchel.store.connection import Store

PRAGMAS = ("application_id", "user_version", "journal_mode", "page_size", "encoding", "auto_vacuum")


def opened(path: Path) -> tuple[bytes, dict[str, Any]]:
    """A fresh replica's id, and all else that is in its file once it was opened and closed."""
    with Store.open(path) as store:
        replica_id = store.replica_id
    with closing(apsw.Connection(str(path))) as db:
        found: dict[str, Any] = {name: db.execute(f"PRAGMA {name}").get for name in PRAGMAS}
        found["schema"] = db.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
        assert db.execute("PRAGMA integrity_check").get == "ok"
        assert db.execute("SELECT replica_id FROM control").get == replica_id
        assert db.execute("SELECT value FROM meta WHERE name = 'fingerprint'").get
        db.execute("UPDATE control SET replica_id = NULL")
        db.execute("DELETE FROM meta WHERE name = 'fingerprint'")
        tables = [name for kind, name, _ in found["schema"] if kind == "table"]
        found |= {
            name: db.execute(f'SELECT * FROM "{name}" ORDER BY 1').fetchall() for name in tables
        }
    return replica_id, found


def test_a_copy_is_what_a_migration_makes(tmp_path: Path, template: Template) -> None:
    an_id, migrated = opened(tmp_path / "migrated" / "satchel.db")
    with copying(template):
        another_id, copied = opened(tmp_path / "copied" / "satchel.db")
        third_id, _ = opened(tmp_path / "copied" / "another.db")
    assert copied == migrated
    assert len({an_id, another_id, third_id, template.replica_id}) == 4
    for name in ("migrated", "copied"):
        folder = tmp_path / name
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert {file.name for file in (tmp_path / "copied").iterdir()} == {"satchel.db", "another.db"}
