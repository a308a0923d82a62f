"""satchel as a user has it: the command in a process of its own, and a real MCP client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fix_command import COMMAND, Run, environment, run
from fix_hub import HubWorld
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

Command = Callable[..., Run]
Connect = Callable[..., AbstractAsyncContextManager[ClientSession]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A replica's home that does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def env(home: Path) -> Callable[..., dict[str, str]]:
    """The environment of a process on this home, with what is given beside."""
    return lambda **more: environment(**{"SATCHEL_HOME": str(home), **more})


@pytest.fixture
def satchel(home: Path) -> Command:
    """Run `satchel ARGUMENTS`; `stdin` is text or bytes, other keywords are variables."""

    def on_this_home(*arguments: str | bytes, **given: Any) -> Run:
        return run(*arguments, **{"SATCHEL_HOME": str(home), **given})

    return on_this_home


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
            env=environment(SATCHEL_HOME=str(home), **variables),
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


@pytest.fixture
def on(satchel: Command, tmp_path: Path, hub_world: HubWorld) -> Callable[..., Run]:
    """Run a command on a named machine; each has a home and a login of its own."""
    logins = {name: hub_world.login() for name in ("laptop", "desktop")}

    def on_machine(name: str, *arguments: str, **variables: str) -> Run:
        given = {"SATCHEL_WAREHOUSE_DSN": logins[name]} | variables
        return satchel("--home", str(tmp_path / name), *arguments, **given)

    return on_machine
