"""Postgres servers that a test stops, kills, promotes and reconfigures; the account is not root."""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from satchel_warehouse.serve_embedded import Server
from satchel_warehouse.unprivileged import Account, account_for, make_reachable

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
"""Of the system's Postgres: the packaged one has no TLS."""
NEEDS_POSTGRES = pytest.mark.skipif(not PROGRAMS, reason="needs the system package postgresql")


@dataclass
class Postgres:
    """One data folder of the system's Postgres, on a Unix socket and a TCP port."""

    folder: Path
    server: Server
    port: int

    @property
    def admin(self) -> str:
        """The administrator's DSN, by the socket."""
        return f"host={self.folder} port={self.port} user=postgres dbname=postgres"

    def start(self, **settings: str) -> None:
        """Start and wait until it answers."""
        given = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "fsync": "off",
            **settings,
        }
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        log = str(self.folder / "server.log")
        self._control("start", "-w", "-l", log, "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop: `immediate` is a crash, `fast` ends every session first."""
        self._control("stop", "-w", "-m", mode)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._control("promote", "-w")

    def running(self) -> bool:
        """Whether a postmaster works on the folder."""
        data = str(self.server.data_dir)
        return self.server.done(["pg_ctl", "status", "-D", data]).returncode == 0

    def log(self) -> str:
        """What the server has said."""
        return (self.folder / "server.log").read_text("utf-8", "replace")

    def write(self, name: str, content: bytes | str) -> Path:
        """A file beside the data that only the server's account may read."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(0o600)
        self.server.account.own(path)
        return path

    def _control(self, verb: str, *options: str) -> None:
        self.server.run(["pg_ctl", verb, "-D", str(self.server.data_dir), *options])


@contextmanager
def postgres(source: Postgres | None = None) -> Iterator[Postgres]:
    """A cluster that is not started yet: a fresh one, or a streaming standby of `source`.

    Stopped and removed at the end.
    """
    with owned_folder() as (folder, account):
        made = Postgres(folder, Server(folder / "data", PROGRAMS[-1], account), free_port())
        (folder / "data").mkdir(mode=0o700)
        account.own(folder / "data")
        data = ["-D", str(folder / "data")]
        if source is None:
            made.server.run(["initdb", *data, "-U", "postgres", "--auth-local=trust",
                             "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C",
                             "--no-sync"])  # fmt: skip
        else:
            made.server.run(["pg_basebackup", *data, "-R", "--no-sync", "-c", "fast",
                             "-d", source.admin])  # fmt: skip
        try:
            yield made
        finally:
            if made.running():
                made.stop("immediate")


@contextmanager
def owned_folder() -> Iterator[tuple[Path, Account]]:
    """A short temporary folder of the account that runs servers, and that account."""
    folder = Path(tempfile.mkdtemp(prefix="satchel_test_"))
    account = account_for(folder)
    make_reachable(folder / "any", account)
    try:
        yield folder, account
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def own_address() -> str:
    """This machine's address in its network, or else a spelling of 127.0.0.1 that is no literal.

    Both count as remote. Nothing is sent: connecting a datagram socket only picks the route.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.1"
