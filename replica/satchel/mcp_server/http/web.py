"""A web server as satchel runs one: its socket, what uvicorn may do, and what it may say."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import uvicorn

from satchel.errors import ConfigInvalid
from satchel.mcp_server.http.patience import PatientProtocol

if TYPE_CHECKING:
    from satchel.mcp_server.http.listening import Listening

CONNECTIONS_MAX = 256
"""A request beyond that is answered with 503."""
STOP_S = 5
"""For so long calls that run may go on after a signal."""
_TCP, _TCP_NODELAY = 6, 1
"""IPPROTO_TCP and its option, the same on every system."""


class Server(uvicorn.Server):
    """uvicorn's server, which says when it can be called."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def configured(application: Any, where: Listening) -> uvicorn.Config:
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


def listening_socket(where: Listening, *, hint: str, field: str) -> Any:
    """The socket; `hint` and `field` say what to change where the address cannot be had.

    Raises ConfigInvalid.
    """
    config = uvicorn.Config("", host=where.host, port=where.port, log_config=None)
    try:
        bound = config.bind_socket()
        bound.setsockopt(_TCP, _TCP_NODELAY, 1)  # else a body waits 40 ms behind its head
        return bound
    except SystemExit as ended:  # how uvicorn says that it cannot bind; it has logged why
        raise ConfigInvalid(
            f"{where.host}:{where.port} cannot be listened on: is it in use, or not of this"
            " machine?",
            hint=hint,
            field=field,
        ) from ended


def quieten() -> None:
    """Warnings go to stderr, and of uvicorn's what is worth a line."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    logging.getLogger("uvicorn.error").addFilter(_is_ours)


def _is_ours(record: logging.LogRecord) -> bool:
    """Whether a record is worth a line: what strangers send that is no HTTP fills no log."""
    error = record.exc_info[1] if record.exc_info else None
    if type(error).__name__ == "LocalProtocolError":  # h11: there is nobody left to answer
        return False
    return record.levelno >= logging.ERROR
