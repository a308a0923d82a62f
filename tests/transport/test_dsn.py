"""Where a DSN leads is what libpq would do with it, and the network policy is asked about that."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from fix_command import TIMEOUT_S
from fix_guarded import listener
from fix_routes import SECRET

from satchel_crypto import network
from satchel_crypto.errors import NetworkRefused
from satchel_crypto.network import Target
from satchel_warehouse import dsn as dsns
from satchel_warehouse.database import SYNC_PATH, connect
from satchel_warehouse.errors import (
    DsnInvalid,
    WarehouseError,
    WarehouseReadOnly,
    WarehouseRefused,
    WarehouseUnreachable,
    not_connected,
)

SERVICES = f"""
[plain]
host=hub.example
sslmode=disable
[remote]
host=hub.example
port=6000
dbname=memory
user=u
password={SECRET}
connect_timeout=3
keepalives_idle=7
[socket]
host=/run/nowhere
[odd]
host=hub.example
hostaddr=192.0.2.7
"""


@pytest.fixture(autouse=True)
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "services"
    path.write_text(SERVICES)
    monkeypatch.setenv("PGSERVICEFILE", str(path))
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT", "PGSSLMODE", "PGSERVICE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("dsn", "environment", "target"),
    [
        ("host=hub.example", {}, Target("hub.example", 5432, "verify-full")),
        ("host=hub.example sslmode=prefer", {}, Target("hub.example", 5432, "verify-full")),
        ("host=hub.example sslmode=require", {}, Target("hub.example", 5432, "require")),
        ("host=hub.example", {"PGSSLMODE": "disable"}, Target("hub.example", 5432, "disable")),
        ("dbname=x", {"PGHOST": "hub.example"}, Target("hub.example", 5432, "verify-full")),
        ("host=localhost", {"PGHOSTADDR": "192.0.2.7"}, Target("192.0.2.7", 5432, "verify-full")),
        ("host=h hostaddr=127.0.0.1 port=7", {}, Target("127.0.0.1", 7, "prefer")),
        ("host=h hostaddr=192.0.2.7", {}, Target("192.0.2.7", 5432, "verify-full")),
        ("host=a,b hostaddr=127.0.0.1, port=7,8", {}, Target("b", 8, "verify-full")),
        ("host=/run,b,c port=7", {}, Target("b", 7, "verify-full")),
        ("host=localhost,::1,", {}, Target("localhost", 5432, "prefer")),
        ("service=remote", {}, Target("hub.example", 6000, "verify-full")),
        ("service=remote host=127.0.0.1", {}, Target("127.0.0.1", 6000, "prefer")),
        ("service=odd host=127.0.0.1", {}, Target("192.0.2.7", 5432, "verify-full")),
        ("service=plain", {}, Target("hub.example", 5432, "disable")),
        ("service=plain sslmode=verify-full", {}, Target("hub.example", 5432, "verify-full")),
        ("service=socket", {}, Target("/run/nowhere", 5432, "prefer")),
        ("dbname=x", {"PGSERVICE": "remote"}, Target("hub.example", 6000, "verify-full")),
        ("service=socket", {"PGSERVICE": "remote"}, Target("/run/nowhere", 5432, "prefer")),
    ],
)
def test_where_it_leads(
    dsn: str, environment: dict[str, str], target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    options, found = dsns.read(dsn)
    assert found == target
    asked = psycopg.conninfo.make_conninfo("", **options)
    assert dsns.read(asked)[1] == target


@pytest.mark.parametrize(
    "dsn",
    [
        "host=hub.example sslmode=require",
        "host=hub.example sslmode=verify-ca",
        "host=127.0.0.1,hub.example sslmode=disable",
        "host=a,hub.example hostaddr=127.0.0.1, sslmode=disable",
        "service=plain",
        "service=odd host=localhost sslmode=disable",
    ],
)
def test_less_than_a_verified_host_is_refused(dsn: str) -> None:
    with pytest.raises(NetworkRefused, match="must be verified") as caught:
        connect(dsn, path=SYNC_PATH)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    "dsn",
    ["service=none", "host=a,b hostaddr=127.0.0.1", "host=a port=1,2", f"host=h sslmode={SECRET}"],
)
def test_what_libpq_would_not_take(dsn: str) -> None:
    with pytest.raises(DsnInvalid) as caught:
        dsns.read(dsn)
    assert SECRET not in f"{caught.value!r}{caught.value}{caught.value.hint}"


def test_a_password_in_a_dsn_stays_on_this_machine() -> None:
    for dsn in (f"host=hub.example password={SECRET}", f"service=remote password={SECRET}"):
        with pytest.raises(WarehouseRefused, match="this machine only"):
            dsns.read(dsn)
    assert SECRET not in repr(dsns.read("service=remote"))


def test_our_defaults_stand_below_all_of_libpqs(monkeypatch: pytest.MonkeyPatch) -> None:
    options, _ = dsns.read("host=hub.example tcp_user_timeout=1000")
    assert options["tcp_user_timeout"] == "1000"
    assert {**dsns.DEFAULTS, "tcp_user_timeout": "1000"}.items() <= options.items()
    assert "connect_timeout" not in dsns.read("service=remote")[0]
    assert "keepalives_idle" not in dsns.read("service=remote")[0]
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "4")
    assert "connect_timeout" not in dsns.read("host=hub.example")[0]


def test_gss_does_not_take_the_place_of_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGGSSENCMODE", "require")
    assert dsns.read("host=hub.example gssencmode=prefer")[0]["gssencmode"] == "disable"


def test_nothing_is_opened_before_the_policy_has_said_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that would see any packet listens; the path is closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        dsn = f"host=127.0.0.1 port={server.getsockname()[1]} dbname=x"
        with pytest.raises(NetworkRefused):
            connect(dsn, path=SYNC_PATH, policy=network.Policy(mode="none"))
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    ("dsn", "hosts", "addresses", "ports"),
    [
        ("host=localhost port=7", "localhost,localhost", "127.0.0.1,::1", "7,7"),
        ("host=localhost,h port=7,8", "localhost,localhost,h", "127.0.0.1,::1,", "7,7,8"),
        ("host=h,localhost port=7", "h,localhost,localhost", ",127.0.0.1,::1", "7,7,7"),
        ("host=a,localhost hostaddr=127.0.0.1, port=7", "a,localhost,localhost",
         "127.0.0.1,127.0.0.1,::1", "7,7,7"),
        ("host=localhost hostaddr=192.0.2.7 port=7", "localhost", "192.0.2.7", "7"),
        ("host=LOCALHOST port=7", "LOCALHOST", "", "7"),
        ("host=localhost. port=7", "localhost.", "", "7"),
        ("host=/run port=7", "/run", "", "7"),
        ("hostaddr=127.0.0.1 port=7", "", "127.0.0.1", "7"),
    ],
)  # fmt: skip
def test_localhost_is_this_machine_by_its_addresses(
    dsn: str, hosts: str, addresses: str, ports: str
) -> None:
    options, _ = dsns.read(dsn)
    places = {"host": hosts, "hostaddr": addresses, "port": ports}
    assert dsns.at_loopback(options) == options | places


DIALS = """
import sys
from satchel_warehouse.database import SYNC_PATH, connect
connect(f"host=localhost port={sys.argv[1]} user=u dbname=x connect_timeout=2", path=SYNC_PATH)
"""


@pytest.mark.parametrize("where", ["192.0.2.2", "::ffff:192.0.2.2", "127.0.0.9"])
def test_localhost_is_this_machine_whatever_a_hosts_file_says(tmp_path: Path, where: str) -> None:
    """In a mount namespace, where the file is ours."""
    (tmp_path / "hosts").write_text(f"{where} localhost\n")
    mount = f"mount --bind {tmp_path / 'hosts'} /etc/hosts"
    unshare = ["unshare", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, mount], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace is allowed here")
    with listener() as (port, came):
        done = subprocess.run(
            [*unshare, f'{mount} && exec "$@"', "sh", sys.executable, "-c", DIALS, str(port)],
            capture_output=True, text=True, check=False, timeout=TIMEOUT_S,
        )  # fmt: skip
    assert "WarehouseUnreachable" in done.stderr, done.stderr
    assert set(came) == {"127.0.0.1"}
    assert where not in done.stderr


AT = 'connection to server at "hub.example", port 5432 failed: '


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("SSL error: certificate verify failed", WarehouseRefused, "hub.example is not verified"),
        ("SSL error: tlsv13 alert certificate required", WarehouseRefused, "alert"),
        ("SSL error: unexpected eof while reading", WarehouseUnreachable, "does not answer"),
        ("SSL SYSCALL error: EOF detected", WarehouseUnreachable, "does not answer"),
        ('could not read certificate file "/x": bad', WarehouseRefused, "not verified"),
        ('FATAL:  role "alert" does not exist', WarehouseRefused, "lets this login not in"),
        ("FATAL:  no such user: u", WarehouseRefused, "lets this login not in"),
        ('FATAL:  role "u" is not permitted to log in', WarehouseRefused, "lets this login not in"),
        ("FATAL:  pg_hba.conf rejects connection for host", WarehouseRefused, "rejects"),
        ('FATAL:  database "m" is not currently accepting', WarehouseUnreachable, "not answer"),
        ("fe_sendauth: no password supplied", WarehouseRefused, "no password supplied"),
        ("FATAL:  unsupported startup parameter: options", WarehouseRefused, "the pooler"),
        ("session is read-only", WarehouseReadOnly, "is read-only"),
        ("FATAL:  the database system is starting up", WarehouseUnreachable, "starting up"),
        ("FATAL:  sorry, too many clients already", WarehouseUnreachable, "too many"),
    ],
)
def test_what_a_failed_connection_means(said: str, kind: type[WarehouseError], words: str) -> None:
    """As the one line of libpq, and among the lines of psycopg for several hosts."""
    alone = not_connected("hub.example", psycopg.OperationalError(f"connection failed: {AT}{said}"))
    assert (type(alone), words in str(alone), bool(alone.hint)) == (kind, True, True), alone
    assert "\n" not in str(alone)
    down = "connection failed: Connection refused\nMultiple connection attempts failed:\n- host: "
    among = not_connected(
        "other.example,hub.example", psycopg.OperationalError(f"{down}{AT}{said}")
    )
    assert (type(among), "\n" in str(among)) == (kind, False)
    assert "at other.example,hub.example" not in str(among) or kind is WarehouseUnreachable
