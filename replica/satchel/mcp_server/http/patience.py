"""How long a client may take to say what it wants: who sends a byte now and then is not waited for.

uvicorn bounds the pause between two requests only; heads and bodies get a time of their own here.
"""

from __future__ import annotations

from typing import Any

import anyio
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""From the first byte (or the connection) to the end of the headers."""
BODY_S = 30.0
"""From the headers to the end of the body."""
EARLY_BYTES_MAX = 64 * 1024
"""What a client may send of its next request before the present one is answered."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 of uvicorn, which closes a connection whose head does not come to its end."""

    _late: Any = None

    def connection_made(self, transport: Any) -> None:
        """A client connected: it has something to say, or it goes."""
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        """Some bytes came. Only a head that is whole stops the clock, no single byte does."""
        super().data_received(data)
        if self._busy():
            self._relax()
            self._listen_on()
        else:
            self._expect()

    def on_response_complete(self) -> None:
        """An answer is out; what came meanwhile may have begun the next request."""
        super().on_response_complete()
        if self._busy():
            self._relax()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._relax()
        super().connection_lost(exc)

    def _busy(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _listen_on(self) -> None:
        """Go on reading when something came too early: uvicorn stops, and would miss the end.

        Whoever sends much of it has no answer coming.
        """
        cycle: Any = self.cycle
        if cycle.more_body:
            return
        if len(self.conn.trailing_data[0]) > EARLY_BYTES_MAX:
            self.transport.abort()
        else:
            self.flow.resume_reading()

    def _expect(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_S, self._close)

    def _relax(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if not self._busy() and not self.transport.is_closing():
            self.transport.abort()


class InTime:
    """Answers 408 to a request whose body takes too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with a body that has to come in time."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, anyio.current_time() + BODY_S)
        try:
            await self._app(scope, body.receive, send)
        except _TooSlow:
            headers = {"connection": "close"}
            await PlainTextResponse("the body took too long", 408, headers)(scope, receive, send)


class _TooSlow(Exception):
    """The body did not come in time."""


class _Body:
    def __init__(self, receive: Receive, deadline: float) -> None:
        self._receive = receive
        self._deadline = deadline
        self._whole = False

    async def receive(self) -> Message:
        """The next piece; once all came, what the client does next is waited for without end."""
        if self._whole:
            return await self._receive()
        with anyio.move_on_after(self._deadline - anyio.current_time()):
            message = await self._receive()
            self._whole = not message.get("more_body", False)
            return message
        raise _TooSlow
