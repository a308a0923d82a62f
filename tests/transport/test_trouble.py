"""The hub fails in the middle of a push: nothing is lost, and the next sync is whole."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
from fix_hub import HubWorld
from fix_machines import Fleet, Machine
from fix_routes import fleet_of, routed, stopped, whole
from fix_servers import NEEDS_POSTGRES, Postgres, owned_folder, postgres
from psycopg import conninfo, sql

from satchel_sync.errors import SyncError
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseError

WAITING = "SELECT FROM pg_stat_activity WHERE usename LIKE 'satchel_test_%' AND wait_event_type = "


@pytest.fixture
def fleet(world: HubWorld, tmp_path: Path) -> Iterator[Fleet]:
    """Two new machines of the module's hub, of which `a` has something to send."""
    with fleet_of(world, tmp_path) as fleet:
        fleet.machine("b").sync()
        filled(fleet)
        yield fleet


def rows_of(fleet: Fleet) -> dict[str, str]:
    """What machine `a` sends: rows of this test only."""
    return {f"{fleet.folder.name} {number}": f"memory {number}" for number in range(40)}


def filled(fleet: Fleet) -> None:
    a, _ = fleet.pair()
    for key, text in rows_of(fleet).items():
        a.put(key, text)


def in_mid_push(machine: Machine, admin_dsn: str, meanwhile: Callable[[], None]) -> SyncError:
    """What stops a sync when `meanwhile` is called while its push waits for a table's lock."""
    watcher = psycopg.connect(admin_dsn, autocommit=True)
    with ThreadPoolExecutor(1) as pool, closing(psycopg.connect(admin_dsn)) as holder:
        try:
            holder.execute("LOCK TABLE satchel.memory IN SHARE ROW EXCLUSIVE MODE")
            syncing = pool.submit(stopped, machine)
            deadline = monotonic() + 20
            while not watcher.execute(WAITING + "'Lock'").fetchall():
                assert monotonic() < deadline, "the push never came"
                sleep(0.01)
            meanwhile()
            return syncing.result()
        finally:
            watcher.close()


def now_whole(fleet: Fleet) -> None:
    """The next sync sends all rows, once each."""
    report = fleet.machine("a").sync()
    assert (report["exit"], report["conflicts"]) == (0, 0)
    expected = rows_of(fleet)
    whole(fleet, expected)
    found = fleet.world.psql().execute(
        "SELECT count(*), count(DISTINCT change_seq) FROM satchel.memory WHERE id = ANY (%s)",
        (list(expected),),
    )
    assert found.fetchall() == [(len(expected), len(expected))]


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [
        ("53100", 10),  # disk full
        ("53200", 10),  # out of memory
        ("57014", 10),  # query cancelled
        ("57P01", 10),  # admin shutdown
        ("58030", 10),  # i/o error
        ("55P03", 10),  # lock not available, in all five tries
        ("40001", 10),  # serialization failure, in all five tries
        ("25P03", 10),  # idle in transaction too long
        ("25006", 10),  # read-only transaction
        ("42501", 4),  # no right
        ("XX001", 1),  # data corrupted: this is no passing trouble
    ],
)
def test_whatever_the_server_says(fleet: Fleet, state: str, exit_code: int) -> None:
    """A trigger of the administrator says it after the rows were written, before the commit."""
    psql = fleet.world.psql()
    body = f"BEGIN RAISE EXCEPTION 'the trouble' USING ERRCODE = '{state}'; END"
    psql.execute(
        sql.SQL("CREATE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS {}").format(body)
    )
    psql.execute(
        "CREATE TRIGGER zz_trouble AFTER INSERT ON satchel.memory EXECUTE FUNCTION trouble()"
    )
    with pytest.raises(WarehouseError, match="the trouble") as caught:
        fleet.machine("a").sync()
    assert (caught.value.exit_code, "\n" in str(caught.value)) == (exit_code, False)
    psql.execute("DROP FUNCTION trouble CASCADE")
    now_whole(fleet)


def login_of(machine: Machine) -> str:
    return str(conninfo.conninfo_to_dict(machine.hub._dsn)["user"])


@pytest.mark.parametrize("limit", ["statement_timeout", "lock_timeout"])
def test_a_limit_of_the_login(fleet: Fleet, limit: str) -> None:
    login = sql.Identifier(login_of(fleet.machine("a")))
    set_ = sql.SQL("ALTER ROLE {} SET {} = '150ms'").format(login, sql.Identifier(limit))
    fleet.world.psql().execute(set_)
    a = fleet.machine("a")
    assert in_mid_push(a, fleet.world.dsn, lambda: None).exit_code == 10
    fleet.world.psql().execute(
        sql.SQL("ALTER ROLE {} SET {} = '10s'").format(login, sql.Identifier(limit))
    )
    a.hub.close()
    now_whole(fleet)


def test_a_session_that_is_ended_by_the_administrator(fleet: Fleet) -> None:
    def end() -> None:
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"
        fleet.world.psql().execute(ended, (login_of(fleet.machine("a")),))

    error = in_mid_push(fleet.machine("a"), fleet.world.dsn, end)
    assert (error.exit_code, error.code) == (10, "hub_unreachable")
    now_whole(fleet)


@contextmanager
def fleet_on(server: Postgres, folder: Path, **route: str) -> Iterator[Fleet]:
    """A fleet whose logins come by the server's socket."""
    route = {"host": str(server.folder), "port": str(server.port), **route}
    with routed(server.admin, **route) as world, fleet_of(world, folder) as fleet:
        filled(fleet)
        yield fleet


@NEEDS_POSTGRES
def test_a_server_that_crashes_and_comes_back(tmp_path: Path) -> None:
    with postgres() as server:
        server.start()
        with fleet_on(server, tmp_path) as fleet:
            a = fleet.machine("a")
            crash = in_mid_push(a, fleet.world.dsn, lambda: server.stop("immediate"))
            assert (crash.exit_code, crash.code) == (10, "hub_unreachable")
            away = stopped(a)
            assert (away.exit_code, "does not answer" in str(away)) == (10, True)
            server.start()
            now_whole(fleet)


@NEEDS_POSTGRES
def test_a_failover_in_mid_push(tmp_path: Path) -> None:
    """Two hosts and target_session_attrs: the standby is passed over, then it is the hub."""
    with postgres() as first:
        first.start()
        with postgres(source=first) as second, fleet_of_two(first, second, tmp_path) as fleet:
            a, b = fleet.pair()
            a.put("early", "before the failover")
            assert a.sync()["exit"] == 0
            filled(fleet)

            on_standby = WarehouseHub(conninfo.make_conninfo(
                "", host=str(second.folder), port=second.port, user=login_of(a),
                dbname=conninfo.conninfo_to_dict(fleet.world.dsn)["dbname"],
            ))  # fmt: skip
            a.hub, kept = on_standby, a.hub
            read_only = stopped(a)
            assert (read_only.exit_code, read_only.code) == (10, "hub_read_only")
            on_standby.close()
            a.hub = kept

            a.put("meanwhile", "new")
            crash = in_mid_push(a, fleet.world.dsn, lambda: first.stop("immediate"))
            assert crash.exit_code == 10
            nowhere = stopped(a)
            assert (nowhere.exit_code, nowhere.code) == (10, "hub_read_only"), repr(nowhere)
            second.promote()
            primary = f"host={second.folder} port={second.port}"
            fleet.world.dsn = conninfo.make_conninfo(fleet.world.dsn + " " + primary)
            for machine in (a, b, a):
                assert machine.sync()["exit"] == 0
            rows = rows_of(fleet)
            whole(fleet, rows | {"meanwhile": "new", "early": "before the failover"})


@contextmanager
def fleet_of_two(first: Postgres, second: Postgres, folder: Path) -> Iterator[Fleet]:
    """A fleet whose DSN names both servers; what is committed is on both."""
    second.start()
    with psycopg.connect(first.admin, autocommit=True) as db:
        db.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        db.execute("SELECT pg_reload_conf()")
    hosts = {
        "host": f"{first.folder},{second.folder}",
        "port": f"{first.port},{second.port}",
        "target_session_attrs": "read-write",
    }
    with fleet_on(first, folder, **hosts) as fleet:
        try:
            yield fleet
        finally:
            if first.running():
                first.stop("immediate")
            first.start(synchronous_standby_names="")


def mountable() -> bool:
    """Whether this process may mount a file system of its own."""
    if os.name != "posix" or os.geteuid() != 0:
        return False
    with owned_folder() as (folder, _):
        try:
            mounted(folder, "64k")
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", folder], check=True)
        return True


def mounted(folder: Path, size: str, *options: str) -> None:
    chosen = ",".join((f"size={size}", *options))
    command: list[str | Path] = ["mount", "-t", "tmpfs", "-o", chosen, "none", folder]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.skipif(not mountable(), reason="may not mount a small file system here")
def test_a_full_disk(hub_world: HubWorld, tmp_path: Path) -> None:
    """The hub's memories lie on a file system of 1 MB, which then grows."""
    with owned_folder() as (folder, account), fleet_of(hub_world, tmp_path) as fleet:
        a, _ = fleet.pair()
        mounted(folder, "1m")
        try:
            account.own(folder)
            psql = hub_world.psql()
            name = sql.Identifier(str(conninfo.conninfo_to_dict(hub_world.dsn)["dbname"]) + "_s")
            psql.execute(sql.SQL("CREATE TABLESPACE {} LOCATION {}").format(name, str(folder)))
            psql.execute(sql.SQL("ALTER TABLE satchel.memory SET TABLESPACE {}").format(name))
            expected = {f"big{number}": f"{number} " + "a tale " * 250 for number in range(500)}
            for key, text in expected.items():
                a.put(key, text)
            full = stopped(a)
            assert (full.exit_code, full.code) == (10, "hub_unreachable")
            assert "No space left on device" in str(full)
            mounted(folder, "64m", "remount")
            assert a.sync()["kinds"]["memory"]["accepted"] >= 1
            whole(fleet, expected)
            psql.execute("ALTER TABLE satchel.memory SET TABLESPACE pg_default")
            psql.execute(sql.SQL("DROP TABLESPACE {}").format(name))
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
