"""A client that has gone: its call is cancelled, so that nothing is taken for nobody.

Over HTTP there is no other way to say that an answer is not wanted any more than to close the
connection. The SDK does not look for that when it answers in JSON.
"""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class WhileThere:
    """Serves a request for as long as its client is there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and cancel it when the connection is closed before its answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(receive, send)
        async with anyio.create_task_group() as group:
            group.start_soon(exchange.cancel_when_gone, group.cancel_scope)
            await self._app(scope, exchange.receive, exchange.send)
            group.cancel_scope.cancel()


class _Exchange:
    """One request and its answer, as they go by."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._asked = anyio.Event()
        self._answered = False

    async def receive(self) -> Message:
        """The next message of the client."""
        message = await self._receive()
        if not message.get("more_body", False):
            self._asked.set()
        return message

    async def send(self, message: Message) -> None:
        """A piece of the answer."""
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._answered = True
        await self._send(message)

    async def cancel_when_gone(self, scope: anyio.CancelScope) -> None:
        """Once the whole request came, nothing else can come but the end of the connection."""
        await self._asked.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._answered:  # the end of an answer is told in the same way
            scope.cancel()
