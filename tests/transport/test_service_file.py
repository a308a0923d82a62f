"""No service file makes libpq connect to anybody before the network policy was asked."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fix_guarded import listener
from fix_routes import SECRET

from satchel import config
from satchel.doctor.network import network as network_check
from satchel_crypto.errors import NetworkRefused
from satchel_crypto.network import Policy, Rule, Target
from satchel_warehouse import dsn as dsns
from satchel_warehouse import service_file
from satchel_warehouse.database import SYNC_PATH, connect
from satchel_warehouse.errors import DsnInvalid

PLAIN = f"[svc]\nhost=hub.example\nport=6000\npassword={SECRET}\n"
TARGET = Target("hub.example", 6000, "verify-full")
URL = "ldap://127.0.0.1:{port}/dc=x?attr?one?(cn=*)"
CHUNK = 1023
"""libpq reads so many bytes of a line at once; what is after a NUL it does not count."""
ASKING = {
    "a line": f"[svc]\n{URL}\n",
    "after others": f"[svc]\nhost=127.0.0.1\n{URL}\n",
    "indented": f"[svc]\n \t\v\f\r{URL}\n",
    "of DOS": f"[svc]\r\n{URL}\r\n",
    "without an end": f"[svc]\n{URL}",
    "behind a NUL": "[svc]\n#\0".ljust(CHUNK + 6, "x") + f"{URL}\n",
    "in the second of the name": f"[other]\nhost=h\n[svc]\n{URL}\n[svc]\nhost=h\n",
    "of another service": f"[svc]\nhost=127.0.0.1\n[other]\n{URL}\n",
    "no URL": "[svc]\nldapfoo=1\n",
}


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Would be the LDAP server."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(0.2)
        yield made


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without any service file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGHOST", "PGHOSTADDR", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def asked_nobody(server: socket.socket) -> None:
    with pytest.raises(TimeoutError):
        server.accept()


def asking(server: socket.socket, how: str = "a line") -> str:
    return ASKING[how].replace("{port}", str(server.getsockname()[1]))


def test_libpq_by_itself_would_ask(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the tests below can fail: they stand on this being kept from it."""
    monkeypatch.setattr(service_file, "require_plain", lambda said: None)
    for how in ("a line", "indented", "behind a NUL"):
        with listener() as (port, came):
            (home / ".pg_service.conf").write_text(ASKING[how].replace("{port}", str(port)))
            with suppress(DsnInvalid):  # a server that says nothing is passed over
                dsns.read("service=svc")
        if not came:
            pytest.skip("this libpq was built without LDAP")
        assert came == ["127.0.0.1"], how


@pytest.mark.parametrize("how", ASKING)
def test_a_file_that_asks_is_refused(how: str, server: socket.socket, home: Path) -> None:
    (home / ".pg_service.conf").write_bytes(asking(server, how).encode())
    for call in (dsns.read, lambda dsn: connect(dsn, path=SYNC_PATH)):
        with pytest.raises(DsnInvalid, match="begins with `ldap`") as caught:
            call("service=svc")
        assert caught.value.exit_code == 2
    asked_nobody(server)


PLACES = {
    "PGSERVICEFILE": "named",
    "HOME": ".pg_service.conf",
    "PGSYSCONFDIR": "shared/pg_service.conf",
}


def placed(home: Path, place: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / PLACES[place]
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    if place != "HOME":
        monkeypatch.setenv(place, str(path if place == "PGSERVICEFILE" else path.parent))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("by_variable", [False, True])
def test_every_place_of_the_file_is_known(
    place: str, by_variable: bool, server: socket.socket, home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    dsn = "dbname=x" if by_variable else "service=svc"
    if by_variable:
        monkeypatch.setenv("PGSERVICE", "svc")
    placed(home, place, PLAIN, monkeypatch)
    assert dsns.read(dsn)[1] == TARGET
    placed(home, place, asking(server), monkeypatch)
    with pytest.raises(DsnInvalid, match="begins with `ldap`"):
        dsns.read(dsn)
    asked_nobody(server)


@pytest.mark.parametrize("first", ["PGSERVICEFILE", "HOME"])
def test_the_second_file_is_looked_through_too(
    first: str, server: socket.socket, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(home, first, "[another]\nhost=h\n", monkeypatch)
    placed(home, "PGSYSCONFDIR", PLAIN, monkeypatch)
    assert dsns.read("service=svc")[1] == TARGET
    placed(home, "PGSYSCONFDIR", asking(server), monkeypatch)
    with pytest.raises(DsnInvalid, match="begins with `ldap`"):
        dsns.read("service=svc")
    placed(home, first, PLAIN, monkeypatch)
    assert dsns.read("service=svc")[1] == TARGET, "libpq does not read the second then"
    asked_nobody(server)


def test_a_service_that_no_known_file_has_is_not_looked_for(home: Path) -> None:
    """libpq would go on to a file in a folder that nobody can ask it for."""
    for text in (None, "", "[svc2]\nhost=h\n", "# [svc]\n", "x [svc]\n"):
        if text is not None:
            (home / ".pg_service.conf").write_text(text)
        with pytest.raises(DsnInvalid, match="in no service file"):
            dsns.read("service=svc")


def test_what_is_no_plain_file_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe would tell libpq something else than us, and of a long name it opens another file."""
    os.mkfifo(home / ".pg_service.conf")
    with pytest.raises(DsnInvalid, match="no plain file"):
        dsns.read("service=svc")
    folder = home / "/".join(["d" * 200] * 6)
    folder.mkdir(parents=True)
    (folder / "services").write_text(PLAIN)
    for path in (folder / "services", home, home / "none"):
        monkeypatch.setenv("PGSERVICEFILE", str(path))
        with pytest.raises(DsnInvalid, match="no plain file"):
            dsns.read("service=svc")


def test_without_a_service_no_file_is_read(home: Path) -> None:
    os.mkfifo(home / ".pg_service.conf")
    assert dsns.read("host=127.0.0.1")[1] == Target("127.0.0.1", 5432, "prefer")


@pytest.mark.parametrize(
    "policy",
    [None, Policy(mode="none", rules={SYNC_PATH: Rule()}), Policy(),
     Policy(rules={SYNC_PATH: Rule(enabled=False)})],
    ids=["no policy", "mode none", "no rule", "disabled"],
)  # fmt: skip
def test_a_closed_path_is_refused_before_libpq_is_asked_anything(
    policy: Policy | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dsns, "read", lambda dsn: pytest.fail("libpq was asked"))
    with pytest.raises(NetworkRefused):
        connect("service=svc", path=SYNC_PATH, policy=policy)  # type: ignore[arg-type]


def test_doctor_asks_nobody_either(server: socket.socket, home: Path) -> None:
    (home / ".pg_service.conf").write_text(asking(server))
    said = {"SATCHEL_HOME": str(home / "h"), "SATCHEL_WAREHOUSE_DSN": "service=svc"}
    for mode in ("open", "none"):
        network_check(config.load(environ=said | {"SATCHEL_NETWORK_MODE": mode}))
    asked_nobody(server)
