"""A warehouse that is not this machine: its certificate is verified before anything is said."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from fix_network import proxy
from fix_routes import SECRET, RoutedWorld, fleet_of, routed, stopped, whole
from fix_servers import NEEDS_POSTGRES, Postgres, own_address, postgres
from psycopg import conninfo

from satchel_crypto.errors import NetworkRefused
from satchel_sync.errors import SyncError
from satchel_warehouse.database import SYNC_PATH, connect
from satchel_warehouse.endpoint import WarehouseHub

pytestmark = NEEDS_POSTGRES
ADDRESS = own_address()
AUTHORIZED = "connection authorized: user=satchel_test_"
LONG_AGO = datetime.now(UTC) - timedelta(days=9)


@dataclass
class Tls:
    """A server, the certificates that it can show, the CA that made all but one, and its hub."""

    postgres: Postgres
    certificates: dict[str, trustme.LeafCert]
    root: Path
    world: RoutedWorld

    def show(self, name: str | None) -> None:
        """Serve with one of the certificates, or in plain; from here on the log is new."""
        self.postgres.stop()
        (self.postgres.folder / "server.log").unlink()
        self.postgres.start(**self.settings(name))

    def settings(self, name: str | None) -> dict[str, str]:
        hba = self.postgres.write(
            "hba", "local all all trust\nhost all all 0.0.0.0/0 scram-sha-256\n"
        )
        shared = {"listen_addresses": ADDRESS, "hba_file": str(hba), "log_connections": "on"}
        if name is None:
            return shared
        shown = self.certificates[name]
        chain = self.postgres.write("chain.pem", shown.cert_chain_pems[0].bytes())
        key = self.postgres.write("key.pem", shown.private_key_pem.bytes())
        return {**shared, "ssl": "on", "ssl_cert_file": str(chain), "ssl_key_file": str(key)}


@pytest.fixture(scope="module")
def made() -> Iterator[Tls]:
    authority, stranger = trustme.CA(), trustme.CA()
    certificates = {
        "right": authority.issue_cert(ADDRESS, "hub.test"),
        "wrong name": authority.issue_cert("other.test"),
        "expired": authority.issue_cert(
            ADDRESS, not_before=LONG_AGO, not_after=LONG_AGO + timedelta(days=1)
        ),
        "unknown CA": stranger.issue_cert(ADDRESS),
    }
    with postgres() as server:
        root = server.folder / "root.pem"
        authority.cert_pem.write_to_path(root)
        server.start()
        with routed(server.admin, host=ADDRESS, port=server.port) as world:
            yield Tls(server, certificates, root, world)


@pytest.fixture
def tls(made: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tls:
    """The server with the right certificate; CA and password by libpq's environment."""
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("PGSSLROOTCERT", str(made.root))
    made.show("right")
    return made


def test_the_right_certificate_syncs(tls: Tls, tmp_path: Path) -> None:
    with fleet_of(tls.world, tmp_path) as fleet:
        a, _ = fleet.pair()
        a.put("m", "over a network")
        assert a.sync()["kinds"]["memory"]["accepted"] == 1
        whole(fleet, {"m": "over a network"})
    lines = [line for line in tls.postgres.log().splitlines() if AUTHORIZED in line]
    assert lines
    assert [line for line in lines if "SSL enabled" not in line] == []


@pytest.mark.parametrize(
    ("shown", "words", "mend"),
    [
        ("wrong name", 'for "other.test" does not match host name', "hostaddr"),
        ("expired", "certificate verify failed", "out of date"),
        ("unknown CA", "certificate verify failed", "sslrootcert"),
        (None, "server does not support SSL", "ssl = on"),
    ],
)
def test_any_other_is_refused_before_a_word(
    tls: Tls, tmp_path: Path, shown: str | None, words: str, mend: str
) -> None:
    with fleet_of(tls.world, tmp_path) as fleet:
        a = fleet.machine("a")
        a.put("m", "waits")
        tls.show(shown)
        error = stopped(a)
        assert (error.exit_code, error.code) == (4, "hub_refused")
        told = (words in str(error), ADDRESS in str(error), mend in error.hint)
        assert told == (True, True, True), (error, error.hint)
        assert AUTHORIZED not in tls.postgres.log()
        tls.show("right")
        assert a.sync()["kinds"]["memory"]["accepted"] == 1


def test_a_missing_ca_is_told(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLROOTCERT", "/nowhere/root.pem")
    with pytest.raises(Exception, match='is not verified: root certificate file "/nowhere') as got:
        WarehouseHub(tls.world.login()).now_ms()
    assert got.value.exit_code == 4  # type: ignore[attr-defined]


def test_the_gravest_of_several_hosts_counts(tls: Tls) -> None:
    """That one host is down says little beside another that shows a false certificate."""
    login = conninfo.conninfo_to_dict(tls.world.login())
    login |= {"host": f"{ADDRESS},127.0.0.1", "port": f"{tls.postgres.port},1"}
    tls.show("unknown CA")
    with pytest.raises(Exception, match="is not verified: SSL error: certificate") as caught:
        WarehouseHub(conninfo.make_conninfo("", **login)).now_ms()
    assert caught.value.exit_code == 4  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_handshake_that_is_cut_is_no_false_certificate(tls: Tls, way: str) -> None:
    """However far it came, it is a passing trouble: another try may do."""
    with proxy((ADDRESS, tls.postgres.port)) as between:
        dsn = conninfo.make_conninfo(
            tls.world.login(), host="hub.test", hostaddr="127.0.0.1", port=between.port,
            sslmode="verify-full",
        )  # fmt: skip
        with WarehouseHub(dsn) as hub:
            assert hub.now_ms() > 0
        for at in (0, 1, 2, 7, 8, 9, 50, 200, 500, 700, 900, 1100, 1500):
            between.lay({way: at})
            with pytest.raises(SyncError) as caught:
                WarehouseHub(dsn).now_ms()
            assert caught.value.exit_code == 10, (at, caught.value)
            between.lay()


def test_libpqs_ways_to_say_it(tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    login = conninfo.conninfo_to_dict(tls.world.login())
    monkeypatch.delenv("PGSSLROOTCERT")
    where = {"host": "hub.test", "hostaddr": ADDRESS, "sslrootcert": str(tls.root)}
    dsns = [conninfo.make_conninfo("", **(login | where), sslmode="verify-full")]

    parts = login | where | {"sslmode": "verify-full", "password": SECRET}
    services = tmp_path / "services"
    services.write_text("[hub]\n" + "".join(f"{name}={value}\n" for name, value in parts.items()))
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    dsns.append("service=hub")
    dsns.append("postgresql:///?service=hub&connect_timeout=5")
    for dsn in dsns:
        with connect(dsn, path=SYNC_PATH) as db:
            assert (db.pgconn.ssl_in_use, db.info.user) == (True, login["user"])

    monkeypatch.setenv("PGSERVICE", "hub")
    with connect("application_name=mine", path=SYNC_PATH) as db:
        assert (db.pgconn.ssl_in_use, db.info.host) == (True, "hub.test")

    monkeypatch.setenv("PGSSLMODE", "disable")
    monkeypatch.delenv("PGSERVICE")
    with connect("service=hub", path=SYNC_PATH) as db:
        assert db.pgconn.ssl_in_use
    with pytest.raises(NetworkRefused, match="sslmode=disable"):
        connect(tls.world.login(), path=SYNC_PATH)


def test_a_command_tells_what_is_wrong_and_no_password(tls: Tls, tmp_path: Path) -> None:
    login = conninfo.conninfo_to_dict(tls.world.login())
    services = tmp_path / "services"
    parts = login | {"password": SECRET, "sslrootcert": str(tls.root)}
    services.write_text("[hub]\n" + "".join(f"{name}={value}\n" for name, value in parts.items()))

    def satchel(*arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "SATCHEL_HOME": str(tmp_path / "home"),
            "SATCHEL_EMBEDDING": "off",
            "SATCHEL_WAREHOUSE_DSN": "service=hub",
            "PGSERVICEFILE": str(services),
        }
        done = subprocess.run([sys.executable, "-m", "satchel", *arguments], text=True,
                              capture_output=True, check=False, env=variables)  # fmt: skip
        assert SECRET not in done.stdout + done.stderr
        return done

    satchel("write", "by command", "--scope", "org")
    tls.show("expired")
    refused = satchel("sync")
    error = json.loads(refused.stderr.splitlines()[-1])["error"]
    assert (refused.returncode, refused.stdout, error["code"]) == (4, "", "hub_refused")
    tls.show("right")
    synced = satchel("sync")
    assert (synced.returncode, json.loads(synced.stdout)["kinds"]["memory"]["sent"]) == (0, 1)
    assert SECRET not in satchel("sync", "status").stdout + satchel("doctor").stdout
