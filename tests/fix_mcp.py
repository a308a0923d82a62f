"""`satchel mcp --http` in a process of its own, tokens for it, and the SDK's client over HTTP."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from fix_command import COMMAND, environment
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from satchel import config, mcp_tokens

ACCEPT = "application/json, text/event-stream"
ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


@dataclass
class HttpServer:
    """A server that listens, and the tokens of its home by their agent."""

    home: Path
    url: str
    port: int
    tokens: dict[str, str] = field(default_factory=dict)
    http: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=30, verify=False))

    @property
    def settings(self) -> config.Settings:
        return config.load(environ={"SATCHEL_HOME": str(self.home), "SATCHEL_EMBEDDING": "off"})

    def token(self, agent: str, role: str = "agent", **given: Any) -> str:
        """A token of that agent; made when it is first asked for."""
        name = given.pop("name", agent)
        if name not in self.tokens:
            said = {"name": name, "days": None, **given}
            made = mcp_tokens.create(self.settings, agent, role=role, **said)
            self.tokens[name] = made["token"]
        return self.tokens[name]

    def revoke(self, name: str) -> None:
        mcp_tokens.revoke(self.settings, name)
        self.tokens.pop(name)

    @asynccontextmanager
    async def client(self, token: str, **given: Any) -> AsyncIterator[ClientSession]:
        """The SDK's own client, initialized."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30, **given) as http,
            streamable_http_client(self.url, http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session

    def post(self, token: str | None, body: Any = None, **headers: str) -> httpx2.Response:
        """One raw request; a header of None is left out."""
        given = {"content-type": "application/json", "accept": ACCEPT, **headers}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        content = body if isinstance(body, bytes) else json.dumps(body or ASKED).encode()
        return self.http.post(self.url, content=content, headers=given)

    def raw(self, data: bytes, *, wait_s: float = 30) -> bytes:
        """What the server answers to these bytes until it closes, or nothing in time."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as line:
            line.sendall(data)
            received = b""
            try:
                while piece := line.recv(65536):
                    received += piece
            except (TimeoutError, ConnectionResetError):
                pass
            return received


@contextmanager
def http_server(
    home: Path, *words: str, program: str = "", **variables: str
) -> Iterator[HttpServer]:
    """A server on a free port of loopback; it is ended by SIGTERM, as a service would be.

    `program` is run in place of `satchel`, with the words of the command.
    """
    first = mcp_tokens.create(
        config.load(environ={"SATCHEL_HOME": str(home)}),
        "ann",
        role="agent",
        name=None,
        days=None,
    )
    env = environment(
        SATCHEL_HOME=str(home), **{"SATCHEL_NETWORK_MCP_HTTP_ENABLED": "true", **variables}
    )
    command = [sys.executable, "-c", program] if program else COMMAND
    with subprocess.Popen(
        [*command, "mcp", "--http", "--port", "0", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise AssertionError(process.communicate()[1].decode())
            told = json.loads(line)
            server = HttpServer(home, told["url"], told["port"], {"ann": first["token"]})
            with server.http:
                yield server
            process.terminate()
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0, err.decode()
    assert b"Traceback" not in err, err.decode()
