"""The embedded server as a real process: stops cleanly, survives kill -9, refuses other files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psutil
import psycopg
import pytest
from fix_hub import hello_of, row_of, titled

from satchel_sync.tables import MEMORY
from satchel_warehouse import admin, roles
from satchel_warehouse.endpoint import WarehouseHub
from satchel_warehouse.serve_embedded import running

PROGRAM = Path(__file__).with_name("serve.py")
ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join(str(ROOT / part) for part in ("sync", "warehouse", "crypto"))


class Foreground:
    """`serve.py` on a folder."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, folder],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": PATH},
        )  # fmt: skip

    def ready(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(
                f"the server did not come up: {self.process.communicate(timeout=30)}"
            )
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        self.process.communicate(timeout=60)
        return self.process.returncode


@pytest.fixture
def folder() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="satchel_test_"))
    started.clear()
    yield parent / "hub"
    for foreground in started:
        if foreground.process.poll() is None:
            foreground.end(signal.SIGTERM)
    postmaster = parent / "hub" / "postmaster.pid"
    if postmaster.exists() and alive(pid := int(postmaster.read_text().split()[0])):
        os.kill(pid, signal.SIGINT)
        gone(pid)
    shutil.rmtree(parent)


started: list[Foreground] = []


def start(folder: Path) -> Foreground:
    started.append(Foreground(folder))
    return started[-1]


def alive(pid: int) -> bool:
    """Whether it still runs; an orphan that nobody has reaped yet does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def gone(pid: int) -> None:
    deadline = monotonic() + 30
    while alive(pid):
        assert monotonic() < deadline, f"process {pid} is still there"
        sleep(0.05)


def titles(dsn: str) -> list[str]:
    with psycopg.connect(dsn) as db:
        return [title for (title,) in db.execute("SELECT title FROM satchel.memory ORDER BY title")]


def push(dsn: str, title: str, last: str = "") -> None:
    with WarehouseHub(dsn) as hub:
        hub.hello(hello_of(1, title, last_attempt=last))
        assert hub.push(MEMORY, [row_of(MEMORY, title, titled(MEMORY, title=title))]).accepted


def test_it_keeps_its_rows_over_a_clean_stop_and_a_kill(folder: Path) -> None:
    first = start(folder)
    served = first.ready()
    assert set(served) == {"dsn", "pid", "data_dir"}
    admin.init(served["dsn"])
    push(served["dsn"], "one")
    assert first.end(signal.SIGTERM) == 0
    gone(served["pid"])

    second = start(folder)
    served = second.ready()
    push(served["dsn"], "two", "one")
    assert second.end(signal.SIGKILL) == -signal.SIGKILL
    assert alive(served["pid"])

    third = start(folder)
    orphan, served = served["pid"], third.ready()
    assert not alive(orphan)
    push(served["dsn"], "three", "two")
    os.kill(served["pid"], signal.SIGKILL)
    third.process.communicate(timeout=60)
    assert third.process.returncode == 1

    # The whole machine dies: both are gone, postmaster.pid stays and names a process of another.
    stale = (folder / "postmaster.pid").read_text().splitlines()
    (folder / "postmaster.pid").write_text("\n".join([str(os.getpid()), *stale[1:]]) + "\n")
    fourth = start(folder)
    served = fourth.ready()
    assert titles(served["dsn"]) == ["one", "three", "two"]
    assert fourth.end(signal.SIGINT) == 130
    gone(served["pid"])


def test_a_folder_is_served_once(folder: Path) -> None:
    first = start(folder)
    served = first.ready()
    second = start(folder)
    _, said = second.process.communicate(timeout=60)
    assert (second.process.returncode, "is served already" in said) == (1, True)
    admin.init(served["dsn"])
    assert titles(served["dsn"]) == []


def test_a_half_made_cluster_is_made_again(folder: Path) -> None:
    (folder / ".making" / "base").mkdir(parents=True)
    served = start(folder).ready()
    assert admin.init(served["dsn"]).revision
    assert not (folder / ".making").exists()


def test_a_folder_with_other_files_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    process = start(folder).process
    _, said = process.communicate(timeout=60)
    assert (process.returncode, "holds other files" in said) == (1, True)
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_a_long_path_gets_a_short_socket(folder: Path) -> None:
    long = folder / ("x" * 100)
    served = start(long).ready()
    assert served["data_dir"] == str(long)
    assert admin.init(served["dsn"]).server.startswith("18")


def test_only_its_user_can_enter_the_folder(folder: Path) -> None:
    served = start(folder).ready()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert "host=%2F" in served["dsn"]


def test_a_port_listens_on_loopback_with_passwords(folder: Path, unused_port: int) -> None:
    with running(folder, port=unused_port) as (served, _):
        admin.init(served.dsn)
        grant = roles.grant(served.dsn, "satchel_test_tcp")
        dsn = f"postgresql://{grant.login}:{{}}@127.0.0.1:{unused_port}/satchel"
        with WarehouseHub(dsn.format(grant.password)) as hub:
            assert hub.now_ms() > 0
        for wrong in ("wrong", ""):
            with WarehouseHub(dsn.format(wrong)) as hub, pytest.raises(Exception, match="password"):
                hub.now_ms()


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
