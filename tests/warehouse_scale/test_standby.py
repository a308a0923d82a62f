"""Reports and their login on a hot standby of the system's Postgres: the primary has no load."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from fix_command import Run, run
from fix_servers import NEEDS_POSTGRES, Postgres, postgres

from satchel_warehouse import admin, roles
from satchel_warehouse.seeding.seed import seed
from satchel_warehouse.views.refresh import refresh

pytestmark = NEEDS_POSTGRES
REPLAY_S = 30
READER = "satchel_test_standby_reader"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Postgres, Postgres]]:
    """A primary with a made-up organisation, and a standby that follows it."""
    with postgres() as primary:
        primary.start()
        admin.init(primary.admin)
        seed(primary.admin, rows=600, machines=3)
        refresh(primary.admin)
        roles.grant(primary.admin, READER, kind="reporter", tenant="seeded", password="a b c d")
        with postgres(primary) as standby:
            # Without feedback an open report stops replay for 30 s as soon as the primary vacuums.
            standby.start(hot_standby_feedback="on")
            fed_back(primary)
            yield primary, standby


def fed_back(primary: Postgres) -> None:
    """Wait until the primary keeps what a snapshot of the standby may still need."""
    until = monotonic() + REPLAY_S
    with psycopg.connect(primary.admin, autocommit=True) as db:
        while not asked(db, "SELECT count(backend_xmin) FROM pg_stat_replication"):
            assert monotonic() < until, primary.log()[-2_000:]
            sleep(0.05)


def caught_up(primary: Postgres, standby: Postgres) -> None:
    """Wait until the standby shows what the primary has committed."""
    with psycopg.connect(primary.admin, autocommit=True) as db:
        here = asked(db, "SELECT pg_current_wal_lsn()")
    until = monotonic() + REPLAY_S
    with psycopg.connect(standby.admin, autocommit=True) as db:
        while not asked(db, "SELECT pg_last_wal_replay_lsn() >= %s", here):
            assert monotonic() < until, standby.log()[-2_000:]
            sleep(0.05)


def asked(db: psycopg.Connection[Any], query: str, *given: object) -> Any:
    row = db.execute(query.encode(), given or None).fetchone()
    assert row is not None
    return row[0]


def reader_of(server: Postgres) -> str:
    """The reader's DSN: by TCP, where its password is asked for."""
    return f"host=127.0.0.1 port={server.port} user={READER} password='a b c d' dbname=postgres"


def report(server: Postgres, home: Path) -> dict[str, Any]:
    """Section -> rows of the overview as the reader's command gives it; lags grow meanwhile."""
    done = satchel(server, home, "report", "run", "overview", "--format", "json")
    assert done.code == 0, done.err
    sections = {one["name"]: one["rows"] for one in json.loads(done.out)["sections"]}
    assert sections.pop("standing") != []
    return sections


def satchel(server: Postgres, home: Path, *words: str) -> Run:
    return run(*words, SATCHEL_HOME=str(home), SATCHEL_WAREHOUSE_REPORT_DSN=reader_of(server))


def test_a_report_on_the_standby_says_the_same(
    servers: tuple[Postgres, Postgres], tmp_path: Path
) -> None:
    primary, standby = servers
    caught_up(primary, standby)
    with psycopg.connect(standby.admin, autocommit=True) as db:
        assert asked(db, "SELECT pg_is_in_recovery()")
    here, there = report(primary, tmp_path), report(standby, tmp_path)
    assert here["writes_by_day"] == there["writes_by_day"] != []
    assert here == there


def test_it_follows_the_primary(servers: tuple[Postgres, Postgres]) -> None:
    primary, standby = servers
    newest = "SELECT max(refreshed_at) FROM report.freshness"
    with psycopg.connect(reader_of(standby), autocommit=True) as db:
        before = asked(db, newest)
        # A report that is open meanwhile keeps its snapshot, and holds nobody up: not even
        # when the primary vacuums what only this snapshot still sees.
        with psycopg.connect(reader_of(standby)) as open_report:
            open_report.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            assert asked(open_report, newest) == before
            refresh(primary.admin)
            with psycopg.connect(primary.admin, autocommit=True) as owner:
                owner.execute("VACUUM")
            caught_up(primary, standby)
            assert asked(db, newest) > before
            assert asked(open_report, newest) == before


def test_who_reads_the_standby_sees_its_tenant_only(servers: tuple[Postgres, Postgres]) -> None:
    _, standby = servers
    with psycopg.connect(reader_of(standby), autocommit=True) as db:
        assert asked(db, "SELECT string_agg(DISTINCT tenant, ' ') FROM report.totals") == "seeded"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("SELECT * FROM satchel.memory")


@pytest.mark.parametrize(
    "words",
    [("refresh",), ("seed", "--rows", "100", "--tenant", "seeded-2"), ("search", "gateway")],
)
def test_what_writes_says_that_it_cannot(
    servers: tuple[Postgres, Postgres], words: tuple[str, ...], tmp_path: Path
) -> None:
    _, standby = servers
    told = {"SATCHEL_HOME": str(tmp_path), "SATCHEL_WAREHOUSE_ADMIN_DSN": standby.admin}
    done = run("warehouse", *words, **told)
    assert (done.code, done.error["code"]) == (10, "hub_read_only"), done.err
