"""Behind PgBouncer in transaction mode: every transaction may run in another session."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
from fix_machines import Fleet
from fix_routes import SECRET, RoutedWorld, fleet_of, routed, stopped, whole
from fix_servers import free_port, owned_folder
from psycopg import conninfo

from satchel_warehouse.database import SYNC_PATH, connect
from satchel_warehouse.endpoint import WarehouseHub

PGBOUNCER = Path("/usr/sbin/pgbouncer")
pytestmark = pytest.mark.skipif(not PGBOUNCER.exists(), reason="needs the system package pgbouncer")
LOGINS = 6

INI = """
[databases]
nowhere = host=/nowhere
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_db_connections = {size}
query_wait_timeout = 20
server_connect_timeout = 1
server_login_retry = 1
"""


@contextmanager
def pooled(cluster: str, size: int) -> Iterator[RoutedWorld]:
    """A hub behind a pooler that has `size` sessions for all its logins."""
    listen = free_port()
    route = {"host": "127.0.0.1", "port": listen, "password": SECRET}
    with routed(cluster, **route) as world, owned_folder() as (folder, account):
        server = conninfo.conninfo_to_dict(cluster)
        (folder / "ini").write_text(
            INI.format(folder=folder, listen=listen, size=size, **{
                name: server[name] for name in ("host", "port")
            })
        )  # fmt: skip
        names = [world.login_name(number) for number in range(LOGINS)]
        (folder / "users").write_text("".join(f'"{name}" "{SECRET}"\n' for name in names))
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                [PGBOUNCER, folder / "ini"], stdout=log, stderr=log, **account.process()
            )
        try:
            await_login(world.login(), folder / "log")
            yield world
        finally:
            process.terminate()
            process.wait(30)


def await_login(dsn: str, log: Path) -> None:
    """Wait until the pooler lets this login in."""
    deadline = monotonic() + 20
    while True:
        try:
            psycopg.connect(dsn).close()
            return
        except psycopg.OperationalError:
            assert monotonic() < deadline, log.read_text("utf-8", "replace")
            sleep(0.05)


@pytest.fixture(scope="module")
def world(cluster: str) -> Iterator[RoutedWorld]:
    with pooled(cluster, 1) as world:
        yield world


@pytest.fixture
def fleet(world: RoutedWorld, tmp_path: Path) -> Iterator[Fleet]:
    """Two machines that share a login, and with it the pooler's only session."""
    with fleet_of(world, tmp_path) as fleet:
        for machine in fleet.pair():
            machine.hub = WarehouseHub(shared(world))
        yield fleet


def shared(world: RoutedWorld) -> str:
    return world.dsn_of(world.routed_logins[0])


def test_many_syncs_over_one_session(fleet: Fleet) -> None:
    """So many that psycopg would prepare its statements, under names that both machines use."""
    a, b = fleet.pair()
    for number in range(8):
        a.put("m", f"edition {number}")
        a.put(f"a{number}", "from a")
        b.put(f"b{number}", "from b")
        for machine in (a, b):
            assert machine.sync()["exit"] == 0
    b.sync()
    a.sync()
    whole(fleet, {"m": "edition 7", "a7": "from a", "b0": "from b"})


def test_no_state_of_ours_stays_in_the_session(world: RoutedWorld, fleet: Fleet) -> None:
    """What the next transaction, maybe another machine's, finds there is what it was at login."""
    query = "SELECT name, setting FROM pg_settings WHERE name <> 'transaction_read_only'"
    left = (
        "SELECT (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''),"
        " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),"
        " (SELECT count(*) FROM pg_class WHERE relpersistence = 't')"
    )
    with connect(shared(world), path=SYNC_PATH) as db:
        before = db.execute(query).fetchall()
        a = fleet.machine("a")
        a.put("s", "stateless")
        assert a.sync()["exit"] == 0
        assert db.execute(query).fetchall() == before
        assert db.execute(left).fetchall() == [(0, 0, 0)]
        limits = "SELECT current_setting('lock_timeout'), current_setting('statement_timeout')"
        assert db.execute(limits).fetchall() == [("10s", "2min")]


@pytest.mark.parametrize("size", [1, 2])
def test_concurrent_syncs_share_few_sessions(cluster: str, tmp_path: Path, size: int) -> None:
    """Two machines with logins of their own and two that share one."""
    names = ["a", "b", "c", "d"]
    with pooled(cluster, size) as world, fleet_of(world, tmp_path) as fleet:
        for name in names:
            machine = fleet.machine(name)
            if name in "cd":
                machine.hub = WarehouseHub(shared(world))
            for number in range(30):
                machine.put(f"{name}{number}", f"{name} says {number}")
        with ThreadPoolExecutor(len(names)) as pool:
            for _ in range(2):
                reports = list(pool.map(lambda name: fleet.machine(name).sync(), names))
                assert {report["exit"] for report in reports} == {0}
        whole(fleet, {f"{name}{n}": f"{name} says {n}" for name in names for n in range(30)})


def test_an_option_that_a_pooler_refuses_is_named(world: RoutedWorld, fleet: Fleet) -> None:
    machine = fleet.machine("a")
    machine.hub = WarehouseHub(conninfo.make_conninfo(shared(world), options="-c lock_timeout=1s"))
    error = stopped(machine)
    assert (error.exit_code, "options" in str(error)) == (4, True), str(error)
    assert "ALTER ROLE" in error.hint


def test_a_pooler_without_its_server_is_a_passing_trouble(world: RoutedWorld, fleet: Fleet) -> None:
    machine = fleet.machine("a")
    machine.put("w", "waits")
    nowhere = conninfo.make_conninfo(shared(world), dbname="nowhere", connect_timeout=2)
    machine.hub = WarehouseHub(nowhere)
    assert stopped(machine).exit_code == 10
    machine.hub = WarehouseHub(shared(world))
    assert machine.sync()["kinds"]["memory"]["accepted"] == 1
