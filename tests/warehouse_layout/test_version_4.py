"""A warehouse of version 4 with rows becomes one of today, and its machines go on."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

from fix_command import run
from fix_psql import VERSION_4, Administrator
from fix_servers import NEEDS_POSTGRES
from psycopg import conninfo

from satchel_warehouse import admin

pytestmark = NEEDS_POSTGRES
ANEW = {"satchel.alembic_version", "satchel.digest_part"}
"""Says the revision; a cache."""


def by_migrate(dba: Administrator) -> None:
    admin.migrate(dba.dsn)


def by_psql(dba: Administrator) -> None:
    assert dba.psql("init.sql") == ""


def test_each_way_leaves_every_row_and_makes_what_init_makes(dba: Administrator) -> None:
    dba.anew()
    admin.init(dba.dsn)
    fresh = dba.schema()
    ways: list[Callable[[Administrator], None]] = [by_migrate, by_psql]
    for way in ways:
        dba.anew()
        dba.load_version_4()
        columns = {name: of for name, of in dba.columns().items() if name not in ANEW}
        before = dba.rows(columns)
        assert len(before["satchel.memory"]) == 18
        admin_of_old = dba.columns()["satchel.login"]
        assert admin_of_old == ["role_name", "tenant", "granted_at"], "that was version 4"
        way(dba)
        assert dba.rows(columns) == before, way.__name__
        if way is by_migrate:  # the rights on a restored database are not in its dump
            admin.init(dba.dsn)
        assert dba.schema() == fresh, way.__name__


def test_a_machine_of_version_4_syncs_and_gets_what_it_had_not(
    dba: Administrator, tmp_path: Path
) -> None:
    dba.anew()
    dba.load_version_4()
    admin.init(dba.dsn)
    home = tmp_path / "ada"
    home.mkdir(mode=0o700)
    (home / "satchel.db").write_bytes(gzip.decompress((VERSION_4 / "ada.db.gz").read_bytes()))
    dsn = conninfo.make_conninfo(dba.dsn, user="v4_ada")
    told = {"SATCHEL_HOME": str(home), "SATCHEL_WAREHOUSE_DSN": dsn}
    done = run("sync", **told)
    assert (done.code, done.err) == (0, "")
    report = done.json
    assert (report["digest"], report["conflicts"]) == ("equal", 0)
    assert report["identity"] == ["this file was copied or moved: it took a new replica id"]
    assert sum(kind["applied"] for kind in report["kinds"].values()) > 0
    found = run("search", "Bob knows this", **told)
    assert "Bob knows this, and Ada does not yet" in found.out
    assert "Xylophone" not in found.out
