"""A sync over TLS in FIPS mode, to a Postgres that is not this machine, with the system's libpq."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from fix_command import Run
from fix_fips import BUILD_TIMEOUT_S, FipsHome, fips_home, system_psycopg
from fix_routes import SECRET, RoutedWorld, routed
from fix_servers import NEEDS_POSTGRES, Postgres, own_address, postgres
from psycopg import conninfo

pytestmark = [NEEDS_POSTGRES, pytest.mark.timeout(BUILD_TIMEOUT_S)]
ADDRESS = own_address()


@dataclass
class Remote:
    """A hub that is reached by TLS only, and libpq's variables to reach it."""

    world: RoutedWorld
    variables: dict[str, str]

    def dsn(self) -> dict[str, str]:
        """A new login."""
        return {**self.variables, "SATCHEL_WAREHOUSE_DSN": self.world.login()}


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    authority = trustme.CA()
    shown = authority.issue_cert(ADDRESS)
    folder = tmp_path_factory.mktemp("remote")
    passwords = folder / "passwords"
    passwords.write_text(f"*:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    authority.cert_pem.write_to_path(folder / "root.pem")
    with postgres() as server:
        server.start(**tls_of(server, shown))
        route = {"host": ADDRESS, "port": server.port, "sslmode": "verify-full"}
        with routed(server.admin, **route) as world:
            more = {"PGPASSFILE": str(passwords), "PGSSLROOTCERT": str(folder / "root.pem")}
            yield Remote(world, more)


def tls_of(server: Postgres, shown: trustme.LeafCert) -> dict[str, str]:
    hba = (
        "local all all trust\n"
        "host all all 127.0.0.1/32 scram-sha-256\n"
        "hostssl all all 0.0.0.0/0 scram-sha-256\n"
    )
    return {
        "listen_addresses": f"{ADDRESS},127.0.0.1",
        "hba_file": str(server.write("hba", hba)),
        "ssl": "on",
        "ssl_cert_file": str(server.write("chain.pem", shown.cert_chain_pems[0].bytes())),
        "ssl_key_file": str(server.write("key.pem", shown.private_key_pem.bytes())),
    }


@pytest.fixture(scope="session")
def on_system_libpq() -> dict[str, str]:
    """Variables with which psycopg uses the system's libpq."""
    return {"PYTHONPATH": str(system_psycopg()), "PSYCOPG_IMPL": "c"}


@pytest.fixture
def machine(built: Path, tmp_path: Path) -> FipsHome:
    return fips_home(tmp_path / "machine", built)


def test_a_sync_by_the_systems_libpq(
    remote: Remote, machine: FipsHome, on_system_libpq: dict[str, str], tmp_path: Path, built: Path
) -> None:
    more = on_system_libpq | remote.dsn()
    assert machine.satchel("write", "over TLS", "--scope", "org").code == 0
    done = machine.satchel("sync", **more)
    assert done.code == 0, done
    assert done.json["kinds"]["memory"]["accepted"] == 1
    other = fips_home(tmp_path / "other", built)
    assert other.satchel("sync", **(on_system_libpq | remote.dsn())).code == 0
    assert other.satchel("search", "TLS").json["hits"][0]["snippet"] == "over TLS"
    assert machine.satchel("sync", "verify", **more).code == 0


CONNECTED = """
import json, os
from satchel import config
settings = config.load()
settings.require_built()
from satchel_warehouse.database import SYNC_PATH, connect
from satchel_crypto.fips import libcrypto, mode
from satchel_crypto.fips.libpq import loaded_libpqs
from satchel_crypto.fips.mapped import loaded
import psycopg
with connect(settings.warehouse_dsn, path=SYNC_PATH, policy=settings.network_policy()) as db:
    row = db.execute("SELECT ssl, version, cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
    ssl, version, cipher = row.fetchone()
    [library] = loaded_libpqs()
    behind = libcrypto.behind(str(library))
    copies = [one for path, one in loaded().items() if path.name == "fips.so"]
    print(json.dumps({
        "in_use": db.pgconn.ssl_in_use, "ssl": ssl, "version": version, "cipher": cipher,
        "impl": psycopg.pq.__impl__, "libpq": str(library), "libcrypto": str(behind.path),
        "module": behind.described(), "copies": len(copies),
        "ours": any(one.holds(behind.functions["OSSL_PROVIDER_get0_dispatch"](behind._fips))
                    for one in copies),
        "md5": behind._fetch(b"MD5"),
    }))
"""


def test_the_library_in_use_is_proved_by_its_own_calls(
    remote: Remote, machine: FipsHome, on_system_libpq: dict[str, str]
) -> None:
    told = machine.python(CONNECTED, SATCHEL_FIPS="1", **(on_system_libpq | remote.dsn()))
    assert told.code == 0, told
    said = told.json
    assert (said["in_use"], said["ssl"], said["impl"]) == (True, True, "c")
    assert said["version"] in ("TLSv1.3", "TLSv1.2")
    assert re.search(r"AES[_-]?(128|256)[_-]GCM", said["cipher"])
    assert re.fullmatch(r"/(usr/)?lib/\S*libpq\.so\.[\d.]+", said["libpq"])
    assert said["module"]["name"] == "OpenSSL FIPS Provider"
    assert (said["ours"], said["md5"]) == (True, None)


def refused(done: Run) -> str:
    assert (done.code, done.out) == (4, ""), done
    assert done.error["code"] == "fips_refused"
    assert "psycopg[c]" in done.error["hint"]
    return done.error["message"]


def test_bundled_openssl_is_refused_with_the_advice(remote: Remote, machine: FipsHome) -> None:
    assert machine.satchel("write", "stays here", "--scope", "org").code == 0
    words = refused(machine.satchel("sync", PSYCOPG_IMPL="binary", **remote.dsn()))
    assert "sync.postgres" in words
    assert "psycopg_binary.libs" in words


def test_at_a_server_of_this_machine_it_gets_a_copy_of_the_module(
    remote: Remote, machine: FipsHome
) -> None:
    """A password is proved by an HMAC, which the bundled OpenSSL has from the module, or not."""
    login = conninfo.conninfo_to_dict(remote.world.login())
    local = conninfo.make_conninfo("", **(login | {"host": "127.0.0.1", "sslmode": "disable"}))
    assert machine.satchel("write", "stays here", "--scope", "org").code == 0
    more = remote.variables | {"SATCHEL_WAREHOUSE_DSN": local, "PSYCOPG_IMPL": "binary"}
    done = machine.satchel("sync", **more)
    assert (done.code, done.json["kinds"]["memory"]["accepted"]) == (0, 1), done


def test_an_attested_path_is_the_operators_word(remote: Remote, machine: FipsHome) -> None:
    """The refusal is lifted; and the bundled OpenSSL is offered the module all the same."""
    more = {"SATCHEL_NETWORK_SYNC_POSTGRES_ATTESTED": "a validated VPN carries it"}
    done = machine.satchel("sync", PSYCOPG_IMPL="binary", **(remote.dsn() | more))
    assert done.code == 0, done


def test_outside_of_fips_mode_nothing_is_asked(remote: Remote, machine: FipsHome) -> None:
    more = remote.dsn() | {"SATCHEL_FIPS": "0", "PSYCOPG_IMPL": "binary"}
    assert machine.satchel("sync", **more).code == 0


BARE = """
import json
from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import libpq, mode
libpq.require_approved("sync.postgres")
mode.enter()
try:
    libpq.require_approved("sync.postgres")
except FipsRefused as error:
    print(json.dumps(str(error)))
libpq.require_approved("sync.postgres", attested="why not")
"""


def test_a_process_without_libpq_fails_closed(machine: FipsHome) -> None:
    told = machine.python(BARE)
    assert "no libpq is loaded" in json.loads(told.out)
