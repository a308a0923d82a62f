"""A warehouse that does not let this machine in: Debian's Postgres by TLS, really broken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from fix_doctor import Patient
from fix_routes import SECRET, RoutedWorld, routed
from fix_servers import NEEDS_POSTGRES, Postgres, own_address, postgres
from psycopg import conninfo

pytestmark = NEEDS_POSTGRES
ADDRESS = own_address()
PASSWORDS = "passwords"
LONG_AGO = datetime.now(UTC) - timedelta(days=9)


@dataclass
class Served:
    """A server with a good and an expired certificate of one CA, and its hub."""

    postgres: Postgres
    certificates: dict[str, trustme.LeafCert]
    root: Path
    world: RoutedWorld

    def show(self, name: str) -> None:
        """Serve with that certificate."""
        if self.postgres.running():
            self.postgres.stop()
        hba = "local all all trust\nhost all all 0.0.0.0/0 scram-sha-256\n"
        files = {
            "hba_file": hba,
            "ssl_cert_file": self.certificates[name].cert_chain_pems[0].bytes(),
            "ssl_key_file": self.certificates[name].private_key_pem.bytes(),
        }
        written = {key: str(self.postgres.write(key, data)) for key, data in files.items()}
        self.postgres.start(listen_addresses=ADDRESS, ssl="on", **written)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    authority = trustme.CA()
    certificates = {
        "right": authority.issue_cert(ADDRESS),
        "expired": authority.issue_cert(
            ADDRESS, not_before=LONG_AGO, not_after=LONG_AGO + timedelta(days=1)
        ),
    }
    with postgres() as server:
        root = server.folder / "root.pem"
        authority.cert_pem.write_to_path(root)
        server.start()
        with routed(server.admin, host=ADDRESS, port=server.port) as world:
            made = Served(server, certificates, root, world)
            made.show("right")
            yield made


@pytest.fixture(scope="module")
def patient(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Patient:
    """A machine that has a login there, its password in a file of libpq's; well so far."""
    folder = tmp_path_factory.mktemp("machine")
    _write(folder / PASSWORDS, SECRET)
    login = conninfo.make_conninfo(
        served.world.login(), passfile=str(folder / PASSWORDS), sslrootcert=str(served.root)
    )
    made = Patient(folder / "home", (("SATCHEL_WAREHOUSE_DSN", login),))
    made.written("the attic is dry")
    made.is_well()
    return made


def _write(path: Path, password: str) -> None:
    path.write_text(f"*:*:*:*:{password}\n")
    path.chmod(0o600)


def _told(patient: Patient) -> dict[str, str]:
    """The check of the warehouse, which is all that is not well; it holds no password."""
    bad = patient.bad()
    assert list(bad) == ["warehouse"]
    assert bad["warehouse"]["ok"] == "fail"
    assert SECRET not in repr(bad)
    return bad["warehouse"]


def test_an_expired_certificate(served: Served, patient: Patient) -> None:
    served.show("expired")
    told = _told(patient)
    assert "certificate verify failed" in told["found"]
    assert ADDRESS in told["found"]
    assert "out of date" in told["fix"]
    assert "`satchel doctor` tells more" in patient.satchel("sync").error["hint"]
    served.show("right")
    patient.is_well()


def test_a_wrong_password(served: Served, patient: Patient) -> None:
    passwords = patient.home.with_name(PASSWORDS)
    _write(passwords, "not-it")
    told = _told(patient)
    assert "password authentication failed" in told["found"]
    assert "password" in told["fix"]
    _write(passwords, SECRET)
    patient.is_well()


def test_a_warehouse_out_of_reach(served: Served, patient: Patient) -> None:
    served.postgres.stop()
    told = _told(patient)
    assert f"{ADDRESS}" in told["found"]
    assert "refused" in told["found"]
    assert "check that Postgres runs there" in told["fix"]
    unreached = patient.satchel("sync")
    assert (unreached.code, unreached.error["code"]) == (10, "hub_unreachable")
    served.show("right")
    patient.is_well()
    assert patient.satchel("sync").code == 0
