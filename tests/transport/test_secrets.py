"""No password in a message, a log, a record or the list of processes, whichever way it came."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from fix_network import Proxy, proxy
from fix_routes import SECRET, RoutedWorld, routed
from fix_servers import free_port, owned_folder
from psycopg import conninfo

from satchel_sync.errors import SyncError
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import WarehouseRefused
from satchel_warehouse.serve_embedded import running

WRONG = "wr0ng-Zz-Qq"
QUIET = {"SATCHEL_EMBEDDING": "off"}


@pytest.fixture(scope="module")
def world() -> Iterator[RoutedWorld]:
    """A hub that asks for passwords, on a TCP port."""
    port = free_port()
    with owned_folder() as (folder, _):
        server = running(folder / "hub", port=port, settings={"fsync": "off"})
        with server as (served, _), routed(served.dsn, host="127.0.0.1", port=port) as world:
            world.login()
            yield world


@pytest.fixture
def between(world: RoutedWorld) -> Iterator[Proxy]:
    with proxy(("127.0.0.1", int(world.route["port"]))) as between:
        yield between


def passwords(tmp_path: Path, password: str) -> str:
    """A PGPASSFILE with this password for everything."""
    path = tmp_path / "passwords"
    path.write_text(f"*:*:*:*:{password}\n")
    path.chmod(0o600)
    return str(path)


def ways(
    world: RoutedWorld, tmp_path: Path, password: str
) -> dict[str, tuple[str, dict[str, str]]]:
    """A DSN and an environment for each way to hand a password over."""
    dsn, name = world.dsn_of(world.routed_logins[0]), world.routed_logins[0]
    at = f"127.0.0.1:{world.route['port']}/{world.dbname}"
    (tmp_path / "services").write_text(f"[hub]\nhost=127.0.0.1\npassword={password}\n")
    return {
        "uri": (f"postgresql://{name}:{password}@{at}", {}),
        "query": (f"postgresql://{at}?user={name}&password={password}", {}),
        "words": (conninfo.make_conninfo(dsn, password=password), {}),
        "passfile": (dsn, {"PGPASSFILE": passwords(tmp_path, password)}),
        "environment": (dsn, {"PGPASSWORD": password}),
        "service": (f"{dsn} service=hub", {"PGSERVICEFILE": str(tmp_path / "services")}),
    }


WAYS = ["uri", "query", "words", "passfile", "environment", "service"]


@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_password_is_refused_and_not_told(
    world: RoutedWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    dsn, environment = ways(world, tmp_path, SECRET)[way]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with WarehouseHub(dsn) as hub:
        assert hub.now_ms() > 0
    for name, value in ways(world, tmp_path, WRONG)[way][1].items():
        monkeypatch.setenv(name, value)
    hub = WarehouseHub(ways(world, tmp_path, WRONG)[way][0])
    with pytest.raises(WarehouseRefused, match="lets this login not in") as caught:
        hub.now_ms()
    told = "".join(traceback.format_exception(caught.value)) + caught.value.hint
    for password in (SECRET, WRONG):
        assert password not in told + repr(caught.value) + repr(hub) + caplog.text


def test_a_lost_connection_does_not_tell_it(world: RoutedWorld, between: Proxy) -> None:
    dsn = conninfo.make_conninfo(
        world.dsn_of(world.routed_logins[0]), password=SECRET, port=between.port, connect_timeout=2
    )
    for limits in ({"up": 10}, {"up": 100}, {"down": 1}, {"down": 150}, {"down": 400}):
        between.lay(limits)
        with pytest.raises(SyncError) as caught:
            WarehouseHub(dsn).now_ms()
        assert caught.value.exit_code == 10
        assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this system has no /proc")
@pytest.mark.parametrize("way", ["uri", "passfile"])
def test_the_list_of_processes_does_not_show_it(
    world: RoutedWorld, between: Proxy, tmp_path: Path, way: str
) -> None:
    """While a command waits for a silent line, at its start and when it was let in."""
    home = tmp_path / "home"
    dsn, environment = ways(world, tmp_path, SECRET)[way]
    dsn = conninfo.make_conninfo(dsn, port=between.port, connect_timeout=2)
    variables = os.environ | QUIET | environment
    variables |= {"SATCHEL_HOME": str(home), "SATCHEL_WAREHOUSE_DSN": dsn}
    between.lay({"up": 0}, fate="stall")
    process = subprocess.Popen(
        [sys.executable, "-m", "satchel", "sync"], env=variables, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    deadline = monotonic() + 20
    while not between.broken:
        assert monotonic() < deadline
        assert process.poll() is None
        sleep(0.02)
    shown = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 10
    assert (b"satchel" in shown, SECRET.encode() in shown) == (True, False)
    assert SECRET not in out + err
    kept = [path for path in home.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
