"""A Postgres of our own in FIPS mode: its OpenSSL is not proved, so no port without a reason."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fix_command import COMMAND, environment
from fix_fips import BUILD_TIMEOUT_S, FipsHome
from fix_servers import NEEDS_POSTGRES

pytestmark = [NEEDS_POSTGRES, pytest.mark.timeout(BUILD_TIMEOUT_S)]
ATTESTED = {"SATCHEL_NETWORK_WAREHOUSE_SERVE_ATTESTED": "a trial on this machine only"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Outside of pytest's own, which is closed to the server's account when a session begins."""
    with tempfile.TemporaryDirectory(prefix="satchel-fips-") as made:
        yield Path(made)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_port_is_refused(home: FipsHome, tmp_path: Path) -> None:
    port = str(free_port())
    done = home.satchel("warehouse", "serve-embedded", str(tmp_path / "hub"), "--port", port)
    assert (done.code, done.out, done.error["code"]) == (4, "", "fips_refused"), done
    assert "'warehouse.serve' is another program's" in done.error["message"]
    assert "attested" in done.error["hint"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("on_port", [True, False])
def test_an_attested_port_and_a_unix_socket(
    home: FipsHome, open_folder: Path, on_port: bool
) -> None:
    words = ["warehouse", "serve-embedded", str(open_folder / "hub")]
    words += ["--port", str(free_port())] if on_port else []
    more = home.variables | (ATTESTED if on_port else {})
    process = subprocess.Popen(
        [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(**more),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told, process.communicate()[1]
        assert json.loads(told)["dsn"].startswith("postgresql://")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=BUILD_TIMEOUT_S)
    assert process.returncode == 0
