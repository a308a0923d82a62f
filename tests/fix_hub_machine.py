"""A machine for a test: a root, processes, network and name of its own; systemd starts it.

Everything that is written goes into memory and ends with it. It takes root, Linux namespaces and an
overlay; where this system does not give them, the test is skipped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fix_servers import PROGRAMS

ROOT = Path(__file__).parents[1]
START = ROOT / "tests/hub_deploy/machine.sh"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SYSTEMD = Path("/lib/systemd/systemd")
PACKAGES = {"systemd": SYSTEMD, "iproute2": shutil.which("ip", path=PATH)}
BOOT_S = 30.0
COMMAND_S = 120.0
DONE = "@@done@@"


@dataclass
class Machine:
    """One that runs; `pid` is its first process as the real machine sees it."""

    pid: int
    shells: dict[str, Shell] = field(default_factory=dict)

    def shell(self, user: str, folder: str, **environment: str) -> Shell:
        """A bash of that user that stays open until the machine ends."""
        if user not in self.shells:
            words = ["/usr/sbin/runuser", "-u", user, "--", "bash", "--norc"]
            self.shells[user] = Shell(self.inside(folder, words, environment | {"USER": user}))
        return self.shells[user]

    def inside(
        self, folder: str, words: list[str], environment: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """A process in the machine, as root."""
        given = {"PATH": PATH, "LANG": "C.UTF-8", "HOME": folder} | (environment or {})
        return subprocess.Popen(
            ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--net", "--uts", "--ipc",
             "--cgroup", "--root", f"--wd=/proc/{self.pid}/root{folder}", *words],
            env=given, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def did(self, command: str) -> tuple[str, int]:
        """What a command of root's said on stdout and stderr, and its exit code."""
        process = self.inside("/root", ["bash", "--norc", "-c", command])
        said, _ = process.communicate()
        return said, process.returncode


class Shell:
    """One bash; stdout and stderr of its commands come through one pipe."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, command: str) -> tuple[str, int]:
        """What a command said, and its exit code."""
        pipe, out = self._process.stdin, self._process.stdout
        assert pipe is not None
        assert out is not None
        pipe.write(f"{command}\nprintf '\\n{DONE} %s\\n' $?\n")
        pipe.flush()
        lines: list[str] = []
        guard = threading.Timer(COMMAND_S, self._process.kill)
        guard.start()
        for line in out:
            if line.startswith(DONE):
                guard.cancel()
                return "".join(lines)[:-1], int(line.split()[1])
            lines.append(line)
        raise AssertionError(f"bash ended at {command!r}: {''.join(lines)}")

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def machine() -> Iterator[Machine]:
    """One that has just started, with PostgreSQL, satchel in /opt/satchel and the user ann."""
    _need_packages()
    groups = _control_group()
    folder = Path(tempfile.mkdtemp(prefix="satchel_test_machine_"))
    starter = _started(groups, folder)
    shells: dict[str, Shell] = {}
    try:
        yield Machine(_first_process(starter, folder), shells)
    finally:
        for shell in shells.values():
            shell.close()
        starter.kill()  # with it the first process, and with that the kernel ends all others
        starter.wait()
        _removed(groups)
        shutil.rmtree(folder)


def _need_packages() -> None:
    if not PROGRAMS:
        pytest.skip("needs the system package postgresql")
    for package, program in PACKAGES.items():
        if not program or not Path(program).exists():
            pytest.skip(f"needs the system package {package}")
    if os.geteuid() != 0:
        pytest.skip("this user may not make a machine: it takes root")


def _control_group() -> Path:
    """A new control group: the machine sees it as the root of all."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    for _, where, kind, *_ in mounts:
        if kind == "cgroup2" and os.access(where, os.W_OK):
            return Path(tempfile.mkdtemp(prefix="satchel_test_", dir=where))
    pytest.skip("this system lets nobody make a control group")


def _started(groups: Path, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder.parent / f"{folder.name}.log").open("wb")
    python = getattr(sys, "_base_executable", sys.executable)
    words = [
        str(START), str(folder), sys.base_prefix, python, sysconfig.get_path("purelib"), str(ROOT),
    ]  # fmt: skip
    enter = f'echo $$ > "{groups}/cgroup.procs"; exec setpriv --pdeathsig KILL unshare "$@"'
    apart = [f"--{one}" for one in ("mount", "pid", "fork", "net", "uts", "ipc", "cgroup")]
    with log:
        return subprocess.Popen(
            ["bash", "-c", enter, "-", *apart, "--kill-child", "bash", *words],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def _first_process(starter: subprocess.Popen[bytes], folder: Path) -> int:
    """The machine's first process once systemd answers; a test is skipped where it cannot start."""
    log = folder.parent / f"{folder.name}.log"
    children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children")
    deadline = time.monotonic() + BOOT_S
    try:
        while starter.poll() is None and time.monotonic() < deadline:
            found = children.read_text("ascii").split()
            if found and Path(f"/proc/{found[0]}/comm").read_text("ascii").strip() == "systemd":
                asked = Machine(int(found[0])).did("systemctl is-system-running --wait")
                if asked[1] == 0:
                    return int(found[0])
            time.sleep(0.05)
        said = log.read_text("utf-8", "replace").strip()
    finally:
        log.unlink()
    if starter.poll() is not None and ("not permitted" in said or "denied" in said):
        pytest.skip(f"this system does not let this user make a machine ({said[-200:]})")
    raise AssertionError(f"the machine did not start: {said[-2000:]}")


def _removed(groups: Path) -> None:
    """Take the control groups away; the kernel needs a moment to see that they are empty."""
    deadline = time.monotonic() + BOOT_S
    for group in [*sorted(groups.rglob("*/"), reverse=True), groups]:
        while group.is_dir():
            try:
                group.rmdir()
            except OSError:
                assert time.monotonic() < deadline, f"{group} is still in use"
                for kept in (group / "cgroup.procs").read_text("ascii").split():
                    os.kill(int(kept), signal.SIGKILL)
                time.sleep(0.05)
