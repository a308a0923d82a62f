"""satchel as a user has it: the command in a process of its own, and a real MCP client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

COMMAND = [sys.executable, "-m", "satchel"]
KEPT = ("PATH", "SYSTEMROOT", "LANG", "HOME", "TMPDIR")


def environment(home: Path, **more: str) -> dict[str, str]:
    """A clean environment: nothing of the tester's own satchel gets in."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "SATCHEL_HOME": str(home), "SATCHEL_EMBEDDING": "off", **more}


@dataclass(frozen=True, slots=True)
class Run:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error: the last line on stderr."""
        shown: dict[str, str] = json.loads(self.err.splitlines()[-1])["error"]
        return shown


Command = Callable[..., Run]
Connect = Callable[..., AbstractAsyncContextManager[ClientSession]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A replica's home that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def env(home: Path) -> Callable[..., dict[str, str]]:
    """The environment of a process on this home, with what is given beside."""
    return lambda **more: environment(home, **more)


@pytest.fixture
def satchel(home: Path) -> Command:
    """Run `satchel ARGUMENTS`; `stdin` is text or bytes, other keywords are variables."""

    def run(*arguments: str | bytes, stdin: str | bytes = b"", **variables: str) -> Run:
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=environment(home, **variables),
            timeout=60,
            check=False,
        )
        return Run(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def connect(home: Path) -> Connect:
    """A session of the SDK's own client with `satchel mcp`, initialized."""

    @asynccontextmanager
    async def session(
        *arguments: str, client: str = "tester", **variables: str
    ) -> AsyncIterator[ClientSession]:
        server = StdioServerParameters(
            command=COMMAND[0],
            args=[*COMMAND[1:], "mcp", *arguments],
            env=environment(home, **variables),
        )
        info = Implementation(name=client, version="1")
        async with (
            stdio_client(server) as (read, write),
            ClientSession(read, write, client_info=info) as session,
        ):
            await session.initialize()
            yield session

    return session


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: the client is not what is tested."""
    return "asyncio"


@pytest.fixture
def replica_bytes(home: Path) -> Callable[[], dict[str, bytes]]:
    """Every file of the home with its content, to see that nothing changed."""

    def read() -> dict[str, bytes]:
        if home.is_file():
            return {home.name: home.read_bytes()}
        files = sorted(path for path in home.rglob("*") if path.is_file())
        return {str(path.relative_to(home)): path.read_bytes() for path in files}

    return read
