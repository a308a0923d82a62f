"""A program in a process of its own with the audit hook on: a hook never comes off again."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from textwrap import dedent

from fix_command import TIMEOUT_S, environment

BEGIN = """
import json, sys
from satchel_crypto import network
from satchel_crypto.errors import NetworkRefused
from satchel_crypto.network import PATHS, Policy, Rule, Target
ANY = Policy(rules={path: Rule(attested="a test") for path in PATHS})
network.enforce()
told = {}
"""
END = """
count, kept = network.refusals()
print(json.dumps({"told": told, "refused": count, "kept": [list(one) for one in kept]}))
"""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What a program put into `told`, and which of its attempts the hook refused."""

    told: dict[str, object]
    refused: int
    kept: list[tuple[str, str]]

    @property
    def events(self) -> list[str]:
        """The refused events by name."""
        return [event for event, _ in self.kept]


def guarded(
    code: str, *arguments: str, python: tuple[str, ...] = (sys.executable,), hook: bool = True
) -> Guarded:
    """Run `code` (which fills `told`) behind the hook. A program that fails is a failed test."""
    begin = BEGIN if hook else BEGIN.replace("network.enforce()", "")
    done = subprocess.run(
        [*python, "-c", begin + dedent(code) + END, *arguments],
        capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return Guarded(found["told"], found["refused"], [(one[0], one[1]) for one in found["kept"]])


@contextmanager
def listener(host: str = "127.0.0.1") -> Iterator[tuple[int, list[str]]]:
    """A server that answers HTTP: its port, and who has come."""
    came: list[str] = []
    with socket.create_server((host, 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    came.append(str(client.getpeername()[0]))
                    with client:
                        client.settimeout(2)
                        with suppress(OSError):
                            client.recv(4096)
                            client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], came
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)
