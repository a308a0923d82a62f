"""deploy/sql, run by psql, makes and upgrades a warehouse to just what the commands make of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fix_psql import Administrator
from fix_servers import NEEDS_POSTGRES

from satchel_warehouse import admin, deploy

DEPLOY = Path(__file__).parents[2] / "deploy" / "sql"
VERSIONS = {
    "satchel.hub": ["protocol", "schema"],
    "satchel.alembic_version": ["version_num"],
    "satchel.tenant": ["number", "name"],
}


def all_of(dba: Administrator) -> dict[str, object]:
    """Roles, objects, versions."""
    return {"roles": dba.roles(), "schema": dba.schema(), "versions": dba.rows(VERSIONS)}


def test_the_files_are_what_the_sources_make() -> None:
    found = {path.name: path.read_text("utf-8") for path in DEPLOY.glob("*.sql")}
    made = deploy.files()
    assert found.keys() == made.keys()
    stale = [name for name in made if found[name] != made[name]]
    assert stale == [], "make docs"


@NEEDS_POSTGRES
@pytest.mark.parametrize("parts", [0, 3])
def test_psql_makes_what_init_makes(dba: Administrator, parts: int) -> None:
    given = {"partitions": parts} if parts else {}
    dba.anew()
    assert dba.psql("init.sql", **given) == ""
    by_hand = all_of(dba)
    dba.anew()
    admin.init(dba.dsn, partitions=parts)
    assert all_of(dba) == by_hand


def test_writing_them_leaves_files_of_others(tmp_path: Path) -> None:
    made = deploy.files()
    (tmp_path / "mine.sql").write_text("SELECT 1;")
    (tmp_path / "05_gone.sql").write_text(made["grant.sql"])
    deploy.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*made, "mine.sql"}
