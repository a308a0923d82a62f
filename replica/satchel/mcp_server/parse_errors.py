"""Lines that are no JSON-RPC message get an error for an answer; the SDK only drops them."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from contextvars import Context


class Answered:
    """A transport's messages. What is none is answered: -32700 or -32600, with the id null."""

    def __init__(self, read: Any, write: Any) -> None:
        """`read` and `write` are the pair of streams of the transport."""
        self._read = read
        self._write = write

    @property
    def last_context(self) -> Context | None:
        """In which the last message was sent; the SDK hands it on to the handlers."""
        context: Context | None = getattr(self._read, "last_context", None)
        return context

    async def receive(self) -> SessionMessage | Exception:
        """The next message. Raises anyio.EndOfStream."""
        while True:
            item: SessionMessage | Exception = await self._read.receive()
            if not isinstance(item, Exception):
                return item
            await self._answer(item)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._read.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _answer(self, error: Exception) -> None:
        first = _first(error)
        not_json = first.get("type") == "json_invalid"
        if not_json and not str(first["input"]).strip():
            return  # a blank line
        told = types.ErrorData(
            code=types.PARSE_ERROR if not_json else types.INVALID_REQUEST,
            message=first["msg"] if not_json else "this line is no JSON-RPC message",
        )
        answer = types.JSONRPCError(jsonrpc="2.0", id=None, error=told)
        await self._write.send(SessionMessage(answer))


def _first(error: Exception) -> dict[str, Any]:
    """What the SDK's validator (pydantic) says first; its errors are known by what they offer."""
    errors: list[Any] = getattr(error, "errors", list)()
    return dict(errors[0]) if errors else {}
