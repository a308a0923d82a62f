"""The warehouse's password out of the vault: used where a DSN has none, shown nowhere."""

from __future__ import annotations

import subprocess
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import psycopg
import pytest
import trustme
from fix_command import COMMAND, Run, environment, run
from fix_network import proxy
from fix_routes import SECRET, RoutedWorld, routed
from fix_servers import NEEDS_POSTGRES, free_port, own_address, owned_folder, postgres
from psycopg import conninfo, sql

from satchel.config import Settings
from satchel.secret_store import vault_of
from satchel_crypto.errors import VaultDamaged
from satchel_warehouse import dsn as dsns
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.errors import DsnInvalid, WarehouseRefused
from satchel_warehouse.login import Login
from satchel_warehouse.serve_embedded import running

PASSWORD = "warehouse.password"
WRONG = "wr0ng-Zz-Qq"


@pytest.fixture(scope="module")
def passphrase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passphrase") / "file"
    path.write_text("correct horse battery staple\n")
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def world() -> Iterator[RoutedWorld]:
    """A hub that asks for passwords, on a TCP port."""
    port = free_port()
    with owned_folder() as (folder, _):
        server = running(folder / "hub", port=port, settings={"fsync": "off"})
        with server as (served, _), routed(served.dsn, host="127.0.0.1", port=port) as world:
            world.login()
            yield world


class Home:
    """A home whose vault this machine opens, so that no command derives a key."""

    def __init__(self, folder: Path, passphrase: Path) -> None:
        self.folder = folder
        settings = Settings(home=folder, secrets_passphrase_file=passphrase)
        self.vault = vault_of(settings)
        self.vault.set("other", "x")
        self.vault.unlock()

    def run(self, *arguments: str, dsn: str = "", **variables: str) -> Run:
        given = {"SATCHEL_HOME": str(self.folder), "SATCHEL_WAREHOUSE_DSN": dsn, **variables}
        done = run(*arguments, **given)
        for word in (SECRET, WRONG):
            assert word not in done.out + done.err
        return done

    def sync(self, dsn: str = "", **variables: str) -> Run:
        return self.run("sync", "--verbose", dsn=dsn, **variables)


@pytest.fixture
def home(tmp_path: Path, passphrase: Path) -> Home:
    return Home(tmp_path / "home", passphrase)


def refused(done: Run) -> str:
    assert done.code == 4, (done.out, done.err)
    return done.error["message"]


def test_a_dsn_without_a_password_gets_the_secret(world: RoutedWorld, home: Home) -> None:
    dsn = world.dsn_of(world.routed_logins[0])
    assert "no password supplied" in refused(home.sync(dsn))
    home.vault.set(PASSWORD, WRONG)
    assert "password authentication failed" in refused(home.sync(dsn))
    home.vault.set(PASSWORD, SECRET)
    assert home.run("write", "a memory", dsn=dsn).code == 0
    done = home.sync(dsn)
    assert (done.code, done.json["kinds"]["memory"]["accepted"]) == (0, 1)
    shown = {one["name"]: one for one in home.run("doctor", dsn=dsn).json["checks"]}
    assert shown["warehouse"]["ok"] == "ok"
    kept = [path for path in home.folder.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]


def test_what_libpq_finds_stands_above_the_secret(
    world: RoutedWorld, home: Home, tmp_path: Path
) -> None:
    dsn = world.dsn_of(world.routed_logins[0])
    home.vault.set(PASSWORD, WRONG)
    (tmp_path / "services").write_text(f"[hub]\nhost=127.0.0.1\npassword={SECRET}\n")
    for given, variables in (
        (conninfo.make_conninfo(dsn, password=SECRET), {}),
        (dsn, {"PGPASSWORD": SECRET}),
        (f"{dsn} service=hub", {"PGSERVICEFILE": str(tmp_path / "services")}),
    ):
        assert home.sync(given, **variables).code == 0
    (tmp_path / "passwords").write_text(f"*:*:*:*:{SECRET}\n")
    (tmp_path / "passwords").chmod(0o600)
    # libpq asks its password file last, and here it has been given one already.
    named = {"PGPASSFILE": str(tmp_path / "passwords")}
    assert "password authentication failed" in refused(home.sync(dsn, **named))
    home.vault.delete(PASSWORD)
    assert home.sync(dsn, **named).code == 0


def test_the_whole_dsn_as_a_secret(world: RoutedWorld, home: Home) -> None:
    dsn = conninfo.make_conninfo(world.dsn_of(world.routed_logins[0]), password=SECRET)
    none = home.sync()
    assert (none.code, none.error["code"]) == (2, "config_invalid")
    assert "satchel secret set warehouse.dsn" in none.error["hint"]
    home.vault.set("warehouse.dsn", dsn)
    assert home.sync().code == 0
    shown = {one["name"]: one for one in home.run("doctor").json["checks"]}
    assert shown["warehouse"]["found"] == "the warehouse of the secret warehouse.dsn answers"
    home.vault.set("warehouse.dsn", f"postgresql://u:{SECRET}@@h/d")
    broken = home.sync()
    assert (broken.code, broken.error["code"]) == (2, "dsn_invalid")


def test_the_administrators_password(world: RoutedWorld, home: Home) -> None:
    admin = world.dsn
    owner = "satchel_test_owner_" + world.dbname[-8:]
    with psycopg.connect(admin, autocommit=True) as db:
        make = "CREATE ROLE {} LOGIN SUPERUSER PASSWORD {}"
        db.execute(sql.SQL(make).format(sql.Identifier(owner), sql.Literal(SECRET)))
    try:
        given = {"SATCHEL_WAREHOUSE_ADMIN_DSN": world.dsn_of(owner)}
        home.vault.set(PASSWORD, SECRET)  # of the replica's login: not for the owner's
        assert "no password supplied" in refused(home.run("warehouse", "status", **given))
        home.vault.set("warehouse.admin_password", SECRET)
        assert home.run("warehouse", "status", **given).code == 0
        home.vault.delete("warehouse.admin_password")
        whole = conninfo.make_conninfo(world.dsn_of(owner), password=SECRET)
        home.vault.set("warehouse.admin_dsn", whole)
        assert home.run("warehouse", "status").code == 0
    finally:
        with psycopg.connect(admin, autocommit=True) as db:
            db.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(owner)))


def test_a_vault_that_does_not_open_is_told(
    world: RoutedWorld, home: Home, passphrase: Path
) -> None:
    dsn = world.dsn_of(world.routed_logins[0])
    home.vault.set(PASSWORD, SECRET)
    home.vault.lock()
    locked = home.sync(dsn)
    assert (locked.code, locked.error["code"]) == (4, "vault_locked")
    assert home.sync(dsn, SATCHEL_SECRETS_PASSPHRASE_FILE=str(passphrase)).code == 0
    path = home.folder / "keys/vault.json"
    path.write_bytes(path.read_bytes()[:-9])
    damaged = home.sync(dsn)
    assert (damaged.code, damaged.error["code"]) == (1, "vault_damaged")
    with_password = conninfo.make_conninfo(dsn, password=SECRET)
    assert home.sync(with_password).code == 0, "who needs no secret does not look for one"
    path.unlink()
    assert home.sync(dsn).error["code"] == "vault_damaged"


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="this system has no /proc")
def test_no_process_shows_it(world: RoutedWorld, home: Home) -> None:
    """While a sync waits for a line that fell silent behind the password."""
    home.vault.set(PASSWORD, SECRET)
    with proxy(("127.0.0.1", int(world.route["port"]))) as between:
        dsn = conninfo.make_conninfo(
            world.dsn_of(world.routed_logins[0]), port=between.port, connect_timeout=2
        )
        between.lay({"down": 400}, fate="stall")
        process = subprocess.Popen(
            [*COMMAND, "sync", "--verbose"], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(SATCHEL_HOME=str(home.folder), SATCHEL_WAREHOUSE_DSN=dsn),
        )  # fmt: skip
        deadline = monotonic() + 20
        while not between.broken:
            assert monotonic() < deadline
            assert process.poll() is None
            sleep(0.02)
        folder = Path(f"/proc/{process.pid}")
        shown = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
        out, err = process.communicate(timeout=60)
    assert process.returncode == 10, err
    assert SECRET.encode() not in shown
    assert SECRET not in out + err


def test_no_error_of_a_login_holds_it(world: RoutedWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    login = Login(world.dsn_of(world.routed_logins[0]), lambda: WRONG)
    hub = WarehouseHub(login)
    with pytest.raises(WarehouseRefused) as caught:
        hub.now_ms()
    told = [repr(login), repr(hub), *traceback.format_exception(caught.value), caught.value.hint]
    error: BaseException | None = caught.value
    while error is not None:
        told += [repr(error), repr(error.args)]
        error = error.__context__
    assert WRONG not in "".join(told)
    with WarehouseHub(Login(login.dsn, lambda: SECRET)) as right:
        assert right.now_ms() > 0


def test_nothing_is_asked_before_the_network_policy(home: Home) -> None:
    """A target that is refused does not even open the vault."""

    def ask() -> str:
        raise VaultDamaged("it was asked")

    for dsn in ("host=hub.example sslmode=disable", "host=hub.example sslmode=require"):
        with pytest.raises(Exception, match="must be verified") as caught:
            WarehouseHub(Login(dsn, ask)).now_ms()
        assert caught.value.code == "network_refused"  # type: ignore[attr-defined]
    with pytest.raises(VaultDamaged):
        WarehouseHub(Login("host=hub.example", ask)).now_ms()


def test_a_whole_dsn_is_parted() -> None:
    for text in (f"postgresql://u:{SECRET}@h.example:6/d", f"host=h.example password={SECRET}"):
        login = dsns.parted(text)
        assert (SECRET in login.dsn, login.password()) == (False, SECRET)
        assert SECRET not in repr(login)
        options, target = dsns.read(login)
        assert (target.host, target.tls) == ("h.example", "verify-full")
        assert SECRET not in repr(options)
        assert dsns.with_password(login, options)["password"] == SECRET
    assert dsns.parted("host=h").password() is None
    with pytest.raises(DsnInvalid):
        dsns.parted("host")


@NEEDS_POSTGRES
def test_a_remote_warehouse_with_tls(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, authority = own_address(), trustme.CA()
    shown = authority.issue_cert(address)
    with postgres() as server:
        authority.cert_pem.write_to_path(server.folder / "root.pem")
        chain = server.write("chain.pem", shown.cert_chain_pems[0].bytes())
        key = server.write("key.pem", shown.private_key_pem.bytes())
        hba = server.write("hba", "local all all trust\nhostssl all all 0.0.0.0/0 scram-sha-256\n")
        server.start(
            ssl="on", ssl_cert_file=str(chain), ssl_key_file=str(key), listen_addresses=address,
            hba_file=str(hba),
        )  # fmt: skip
        root = str(server.folder / "root.pem")
        monkeypatch.setenv("PGSSLROOTCERT", root)
        with routed(server.admin, host=address, port=server.port, sslrootcert=root) as world:
            world.login()
            dsn = world.dsn_of(world.routed_logins[0])
            inside = conninfo.make_conninfo(dsn, password=SECRET)
            assert "this machine only" in refused(home.sync(inside))
            assert "no password supplied" in refused(home.sync(dsn))
            home.vault.set(PASSWORD, SECRET)
            assert home.sync(dsn).code == 0
            home.vault.delete(PASSWORD)
            home.vault.set("warehouse.dsn", inside)
            assert home.sync().code == 0
