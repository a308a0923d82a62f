"""A line that breaks or falls silent after any byte: exit 10, then the next sync goes on."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest
from fix_hub_pool import HubPool, hub_pool
from fix_machines import Fleet, Machine
from fix_network import Proxy, proxy
from fix_routes import SECRET, fleet_of, routed_to, stopped, whole
from fix_servers import free_port, owned_folder
from hypothesis import settings
from psycopg import conninfo

from satchel_sync.errors import SyncError
from satchel_warehouse import database
from satchel_warehouse import dsn as dsns
from satchel_warehouse.database import SYNC_PATH, connect
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.serve_embedded import running

STORIES = 5
CUTS = settings.default.max_examples // 20
"""A story: so many cut syncs of each of two machines, which write in between."""
SILENCE_S = 60
"""A sync gave up by its own limit if it took less: ANSWER_TIMEOUT_S of a real one is 150 s."""


@pytest.fixture(scope="module")
def line() -> Iterator[tuple[HubPool, Proxy]]:
    """The hubs of a packaged Postgres, and a proxy to its port."""
    port = free_port()
    with owned_folder() as (folder, _):
        server = running(folder / "hub", port=port, settings={"fsync": "off"})
        with (
            server as (served, _),
            hub_pool(served.dsn) as pool,
            proxy(("127.0.0.1", port)) as between,
        ):
            yield pool, between


@pytest.fixture
def between(line: tuple[HubPool, Proxy]) -> Iterator[Proxy]:
    """The proxy, without limits before and after."""
    line[1].lay()
    yield line[1]
    line[1].lay()


@pytest.fixture
def fleet(line: tuple[HubPool, Proxy], between: Proxy, tmp_path: Path) -> Iterator[Fleet]:
    """Two machines whose hub is behind the proxy."""
    route = {"host": "127.0.0.1", "port": between.port, "password": SECRET}
    with line[0].hub() as hub, fleet_of(routed_to(hub, **route), tmp_path) as fleet:
        fleet.pair()
        yield fleet


def fill(machine: Machine, name: str, expected: dict[str, str], rows: int = 20) -> None:
    """Write rows of its own and edit one of them again."""
    for number in range(rows):
        key = f"{name}{len(expected)}" if number else f"{name}-edited"
        expected[key] = f"{name} wrote {number} of {len(expected)} " + "x" * 200
        machine.put(key, expected[key])


def mend(fleet: Fleet, between: Proxy) -> None:
    """A line without limits, and new connections, as every command makes them."""
    between.lay()
    for machine in fleet.machines.values():
        machine.hub.close()


def at_the_hub(fleet: Fleet, expected: dict[str, str]) -> bool:
    found = dict(fleet.world.psql().execute("SELECT id, content FROM satchel.memory").fetchall())
    return {key: found.get(key) for key in expected} == expected


def cut_once(machine: Machine, between: Proxy, dice: random.Random, size: dict[str, int]) -> bool:
    """A sync over a line with few bytes left: whether it came to its end."""
    way = dice.choice(("up", "down"))
    most = size[way] * 1.1
    at = dice.choice((dice.uniform(1, most), most ** dice.random()))
    between.lay({way: int(at)})
    machine.hub.close()
    try:
        report = machine.sync()
    except SyncError as error:
        cut = error
    else:
        assert report["exit"] == 0
        return True
    assert (cut.exit_code, "\n" in str(cut), SECRET in str(cut)) == (10, False, False)
    assert between.broken, cut
    return False


@pytest.mark.parametrize("seed", range(STORIES))
def test_cut_at_random_bytes(fleet: Fleet, between: Proxy, seed: int) -> None:
    dice = random.Random(seed)
    a, b = fleet.pair()
    written: dict[str, dict[str, str]] = {"a": {}, "b": {}}
    fill(a, "a", written["a"])
    assert a.sync()["exit"] == 0
    size = dict(between.passed)
    ended = 0
    for _ in range(CUTS):
        for name, machine in (("a", a), ("b", b)):
            fill(machine, name, written[name], dice.choice((0, 3, 20)))
            if cut_once(machine, between, dice, size):
                ended += 1
                assert at_the_hub(fleet, written[name])
    assert ended < 2 * CUTS
    mend(fleet, between)
    whole(fleet, written["a"] | written["b"])


@pytest.mark.parametrize(
    ("way", "share"), [("up", 0.3), ("up", 0.9), ("down", 0.2), ("down", 0.6), ("down", 0.95)]
)
def test_a_line_that_falls_silent(
    fleet: Fleet, between: Proxy, monkeypatch: pytest.MonkeyPatch, way: str, share: float
) -> None:
    """Its far end still acknowledges every packet, so TCP notices nothing."""
    a, b = fleet.pair()
    written: dict[str, str] = {}
    fill(b, "b", written)
    assert b.sync()["exit"] == 0
    size = dict(between.passed)
    fill(a, "a", written)
    monkeypatch.setattr(database, "ANSWER_TIMEOUT_S", 0.7)
    between.lay({way: int(size[way] * share)}, fate="stall")
    start = monotonic()
    a.hub = WarehouseHub(conninfo.make_conninfo(a.hub._dsn, connect_timeout=2))
    error = stopped(a)
    assert (error.exit_code, between.broken) == (10, True)
    assert monotonic() - start < SILENCE_S
    monkeypatch.undo()
    mend(fleet, between)
    whole(fleet, written)


def test_a_silent_line_from_the_first_byte(fleet: Fleet, between: Proxy) -> None:
    a = fleet.machine("a")
    a.hub = WarehouseHub(conninfo.make_conninfo(a.hub._dsn, connect_timeout=2))
    between.lay({"up": 0}, fate="stall")
    start = monotonic()
    assert stopped(a).exit_code == 10
    assert 1 < monotonic() - start < SILENCE_S


def test_the_kernel_is_told_when_a_peer_counts_as_gone(fleet: Fleet) -> None:
    dsn = fleet.machine("a").hub._dsn
    wanted = {
        socket.TCP_KEEPIDLE: dsns.DEFAULTS["keepalives_idle"],
        socket.TCP_KEEPINTVL: dsns.DEFAULTS["keepalives_interval"],
        socket.TCP_KEEPCNT: dsns.DEFAULTS["keepalives_count"],
        socket.TCP_USER_TIMEOUT: dsns.DEFAULTS["tcp_user_timeout"],
    }
    assert kernel(dsn, wanted) == wanted
    mine = conninfo.make_conninfo(dsn, keepalives_idle=5, tcp_user_timeout=4000)
    chosen = {socket.TCP_KEEPIDLE: 5, socket.TCP_USER_TIMEOUT: 4000}
    assert kernel(mine, wanted) == wanted | chosen


def kernel(dsn: str, options: dict[int, object]) -> dict[int, object]:
    """What the kernel holds of these options for a connection."""
    with connect(dsn, path=SYNC_PATH) as db, socket.socket(fileno=db.fileno()) as end:
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        found = {option: end.getsockopt(socket.IPPROTO_TCP, option) for option in options}
        end.detach()
        return dict(found)
