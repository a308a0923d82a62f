"""`satchel warehouse metrics --listen`: /metrics over HTTP until a signal ends it.

Bound inside the network path `warehouse.metrics`. A request is looked at in this order: its host,
its token where one is kept, its path.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from satchel.mcp_server.http.guard import HostGuard, Names
from satchel.mcp_server.http.web import Server, configured, listening_socket, quieten
from satchel.protection import provider_of
from satchel.secret_store import secret_of
from satchel.warehouse.dsns import admin_dsn
from satchel.warehouse.metrics.exposition import measured, require_client
from satchel.warehouse.metrics.listening import TOKEN
from satchel_crypto import network
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.http.listening import Listening
    from satchel_crypto.provider import Provider

PATH = "/metrics"
FRESH_S = 5.0
"""An answer is given again for so long, so that many scrapers cost one session."""
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_WILDCARDS = ("", "0.0.0.0", "::")


def serve(settings: Settings, where: Listening, told: Callable[[dict[str, Any]], None]) -> None:
    """Serve until SIGINT or SIGTERM; `told` gets {url, host, port, tls, token, pid} once it can.

    Raises NetworkRefused, FipsRefused, KeyInvalid, EngineUnavailable, or ConfigInvalid where it
    cannot listen.
    """
    require_client()
    enforce()
    quieten()
    token = secret_of(settings, TOKEN)()  # asked for here, where somebody may be at a terminal
    signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn ends in good order, then raises it
    with network.open("warehouse.metrics", where.target(), policy=settings.network_policy()):
        anyio.run(_serve, settings, where, token, told)


async def _serve(
    settings: Settings, where: Listening, token: str | None, told: Callable[[Any], None]
) -> None:
    socket = listening_socket(
        where, hint="choose another with --listen; port 0 takes any that is free", field="listen"
    )
    with socket:
        port = int(socket.getsockname()[1])
        own = () if where.host in _WILDCARDS else (where.host,)
        names = Names.of(("127.0.0.1", "localhost", "::1", *own), port)
        # The DSN is made once: a password that is a secret is asked for once.
        asking = partial(measured, admin_dsn(settings), settings.network_policy())
        meant = None if where.host in _WILDCARDS else names
        answering = app(asking, provider_of(settings), token, meant)
        ready = partial(told, _told(where, port, token))
        await Server(configured(answering, where), ready).serve(sockets=[socket])


def app(
    asking: Callable[[], str], provider: Provider, token: str | None, names: Names | None
) -> Starlette:
    """The application: GET /metrics for who carries the token, if one is kept.

    `names` are the hosts that mean this server; None takes any, as behind 0.0.0.0.
    """
    once = _Once(asking)

    async def metrics(request: Request) -> Response:
        if not _is_let_in(provider, token, request.headers.get("authorization", "")):
            headers = {"www-authenticate": "Bearer", "connection": "close"}
            return PlainTextResponse("this server wants its token", 401, headers)
        return Response(await once.text(), media_type=_TYPE)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield

    guards = [Middleware(HostGuard, names=names)] if names else []
    return Starlette(routes=[Route(PATH, metrics)], middleware=guards, lifespan=lifespan)


class _Once:
    """Measures once for all who ask within FRESH_S."""

    def __init__(self, asking: Callable[[], str]) -> None:
        self._asking = asking
        self._lock = anyio.Lock()
        self._text = ""
        self._until = 0.0

    async def text(self) -> str:
        """The newest answer, or a new one."""
        async with self._lock:
            if anyio.current_time() >= self._until:
                self._text = await anyio.to_thread.run_sync(self._asking)
                self._until = anyio.current_time() + FRESH_S
            return self._text


def _is_let_in(provider: Provider, token: str | None, said: str) -> bool:
    """In a time that does not tell where two tokens differ."""
    if token is None:
        return True
    scheme, _, given = said.partition(" ")
    same = provider.same(given.strip().encode(), token.encode())
    return scheme.lower() == "bearer" and same


def _told(where: Listening, port: int, token: str | None) -> dict[str, Any]:
    host = f"[{where.host}]" if ":" in where.host else where.host
    scheme = "https" if where.tls else "http"
    return {
        "url": f"{scheme}://{host}:{port}{PATH}",
        "host": where.host,
        "port": port,
        "tls": where.tls,
        "token": token is not None,
        "pid": os.getpid(),
    }
