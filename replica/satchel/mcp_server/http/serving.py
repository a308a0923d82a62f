"""`satchel mcp --http`: serve MCP over HTTP until a signal ends it. Start reading at `serve`.

The socket is bound inside the network path `mcp.http`: loopback by default, elsewhere with TLS. A
request is looked at in this order: host and origin, token, size and pace of its body, the protocol.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import uvicorn

from satchel.errors import ConfigInvalid
from satchel.mcp_server.host import Host
from satchel.mcp_server.household import Household
from satchel.mcp_server.http.app import app
from satchel.mcp_server.http.guard import Names
from satchel.mcp_server.http.identity import Visitors
from satchel.mcp_server.http.patience import PatientProtocol
from satchel_crypto import network
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.http.listening import Listening

CONNECTIONS_MAX = 256
"""A request beyond that is answered with 503."""
STOP_S = 5
"""For so long calls that run may go on after a signal."""
_TCP, _TCP_NODELAY = 6, 1
"""IPPROTO_TCP and its option, the same on every system."""
WILDCARDS = ("", "0.0.0.0", "::")

Told = dict[str, Any]


def serve(settings: Settings, where: Listening, told: Callable[[Told], None]) -> None:
    """Serve until SIGINT or SIGTERM; `told` is called with {url, host, port, tls, pid} once it can.

    Raises NetworkRefused, FipsRefused, KeyInvalid, or ConfigInvalid where it cannot listen.
    """
    enforce()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn ends in good order, then raises it
    with network.open("mcp.http", where.target(), policy=settings.network_policy()):
        anyio.run(_serve, settings, where, told)


async def _serve(settings: Settings, where: Listening, told: Callable[[Told], None]) -> None:
    household = Household(settings)
    visitors = Visitors(settings, household)
    bound = _bound(where)
    try:
        port = int(bound.getsockname()[1])
        server = Host(settings, visitors.session).server()
        names = Names.of(_names(settings, where.host), port, settings.mcp_http_origins)
        config = _configured(app(server, visitors, names), where)
        with bound:
            await _Server(config, lambda: told(_told(where, port))).serve(sockets=[bound])
    finally:
        household.close()


class _Server(uvicorn.Server):
    """uvicorn's server, which says when it can be called."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _configured(application: Any, where: Listening) -> uvicorn.Config:
    """What uvicorn may do: HTTP/1.1 only, no log of requests, no header that says what it is."""
    certificate, key = where.certificate, where.key

    def context(*_: object) -> Any:
        from satchel_crypto.fips.tls import server_context

        assert certificate is not None
        assert key is not None
        return server_context(certificate, key)

    return uvicorn.Config(
        application,
        http=PatientProtocol,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=STOP_S,
        ssl_context_factory=context if where.tls else None,
    )


def _bound(where: Listening) -> Any:
    """The listening socket. Raises ConfigInvalid where the address cannot be had."""
    config = uvicorn.Config("", host=where.host, port=where.port, log_config=None)
    try:
        bound = config.bind_socket()
        bound.setsockopt(_TCP, _TCP_NODELAY, 1)  # else a body waits 40 ms behind its head
        return bound
    except SystemExit as ended:  # how uvicorn says that it cannot bind; it has logged why
        raise ConfigInvalid(
            f"{where.host}:{where.port} cannot be listened on: is it in use, or not of this"
            " machine?",
            hint="choose another with --port or [mcp] http_port; 0 takes any that is free",
            field="mcp.http_port",
        ) from ended


def _names(settings: Settings, host: str) -> tuple[str, ...]:
    """The hosts by which a client may call: loopback, the address listened on, what was named."""
    own = () if host in WILDCARDS else (host,)
    return ("127.0.0.1", "localhost", "::1", *own, *settings.mcp_http_names)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a record is worth a line: what strangers send that is no HTTP fills no log."""
    error = record.exc_info[1] if record.exc_info else None
    if type(error).__name__ == "LocalProtocolError":  # h11: there is nobody left to answer
        return False
    return record.levelno >= logging.ERROR


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
