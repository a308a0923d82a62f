"""`satchel mcp`: the catalog as MCP tools over stdio. Start reading at `serve`.

The handshake is answered before anything of ours is opened: tools are read when they are listed,
the replica is opened by the first call. stdout carries JSON-RPC only; the transport points file
descriptor 1 at stderr, so a stray print cannot break it.
"""

from __future__ import annotations

import logging
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import anyio
from mcp.server.stdio import stdio_server

from satchel.mcp_server.host import Context, Host
from satchel.mcp_server.parse_errors import Answered
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.session import Session


def serve(settings: Settings) -> None:
    """Serve one client on stdin and stdout until it leaves; no socket is opened for that."""
    enforce()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    anyio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    client = _OneClient(settings)
    server = Host(settings, client.session).server()
    try:
        # A print that is still in Python's buffer would be flushed to the client at the end.
        async with stdio_server() as (read, write):
            with redirect_stdout(sys.stderr):
                options = server.create_initialization_options()
                await server.run(Answered(read, write), write, options)
    finally:
        client.close()


class _OneClient:
    """The session of the client at the other end of stdio, made with its first call."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: Session | None = None

    def session(self, context: Context) -> Session:
        """The client's session: it is the configured agent, else the one of its own name."""
        if self._session is None:
            from satchel.mcp_server.session import Session

            client = context.session.client_params
            self._session = Session(self._settings, client.client_info.name if client else None)
        return self._session

    def close(self) -> None:
        """Close the replica, if it was opened."""
        if self._session is not None:
            self._session.close()
