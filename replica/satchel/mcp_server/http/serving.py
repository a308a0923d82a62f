"""`satchel mcp --http`: serve MCP over HTTP until a signal ends it. Start reading at `serve`.

The socket is bound inside the network path `mcp.http`: loopback by default, elsewhere with TLS. A
request is looked at in this order: host and origin, token, size and pace of its body, the protocol.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from satchel.mcp_server.host import Host
from satchel.mcp_server.household import Household
from satchel.mcp_server.http.app import app
from satchel.mcp_server.http.guard import Names
from satchel.mcp_server.http.identity import Visitors
from satchel.mcp_server.http.web import Server, configured, listening_socket, quieten
from satchel_crypto import network
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.http.listening import Listening

WILDCARDS = ("", "0.0.0.0", "::")

Told = dict[str, Any]


def serve(settings: Settings, where: Listening, told: Callable[[Told], None]) -> None:
    """Serve until SIGINT or SIGTERM; `told` is called with {url, host, port, tls, pid} once it can.

    Raises NetworkRefused, FipsRefused, KeyInvalid, or ConfigInvalid where it cannot listen.
    """
    enforce()
    quieten()
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn ends in good order, then raises it
    with network.open("mcp.http", where.target(), policy=settings.network_policy()):
        anyio.run(_serve, settings, where, told)


async def _serve(settings: Settings, where: Listening, told: Callable[[Told], None]) -> None:
    household = Household(settings)
    visitors = Visitors(settings, household)
    bound = listening_socket(
        where,
        hint="choose another with --port or [mcp] http_port; 0 takes any that is free",
        field="mcp.http_port",
    )
    try:
        port = int(bound.getsockname()[1])
        server = Host(settings, visitors.session).server()
        names = Names.of(_names(settings, where.host), port, settings.mcp_http_origins)
        config = configured(app(server, visitors, names), where)
        with bound:
            await Server(config, lambda: told(_told(where, port))).serve(sockets=[bound])
    finally:
        household.close()


def _names(settings: Settings, host: str) -> tuple[str, ...]:
    """The hosts by which a client may call: loopback, the address listened on, what was named."""
    own = () if host in WILDCARDS else (host,)
    return ("127.0.0.1", "localhost", "::1", *own, *settings.mcp_http_names)


def _told(where: Listening, port: int) -> Told:
    host = f"[{where.host}]" if ":" in where.host else where.host
    scheme = "https" if where.tls else "http"
    return {
        "url": f"{scheme}://{host}:{port}/mcp",
        "host": where.host,
        "port": port,
        "tls": where.tls,
        "pid": os.getpid(),
    }
