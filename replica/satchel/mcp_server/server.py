"""`satchel mcp`: the catalog as MCP tools over stdio. Start reading at `serve`.

The handshake is answered before anything of ours is opened: tools are read when they are listed,
the replica is opened by the first call. stdout carries JSON-RPC only; the transport points file
descriptor 1 at stderr, so a stray print cannot break it.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from satchel import __version__
from satchel.errors import explain
from satchel.mcp_server.parse_errors import Answered
from satchel_crypto.network import enforce

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.session import Session

INSTRUCTIONS = (
    "A durable memory on this machine. Search it before you answer from memory, write what should"
    " be known later, supersede what has changed. Every other tool (tasks, agents, messages, edges,"
    ' history) is behind satchel_call: satchel_call(tool="help", args={"query": "task"}) finds it.'
)

Context = ServerRequestContext[Any, Any]


def serve(settings: Settings) -> None:
    """Serve one client on stdin and stdout until it leaves; no socket is opened for that."""
    enforce()
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    anyio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    host = _Host(settings)
    server: Server[Any] = Server(
        "satchel",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=host.list_tools,
        on_call_tool=host.call_tool,
    )
    try:
        # A print that is still in Python's buffer would be flushed to the client at the end.
        async with stdio_server() as (read, write):
            with redirect_stdout(sys.stderr):
                options = server.create_initialization_options()
                await server.run(Answered(read, write), write, options)
    finally:
        await host.close()


class _Host:
    """What the handlers share: the session behind them, and one worker thread for its SQLite."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._session: Session | None = None
        # A connection of SQLite serves one thread at a time.
        self._one_at_a_time = anyio.CapacityLimiter(1)

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools at the start: the core six, or what `[mcp] tools` names."""
        from satchel.mcp_server.listing import listed

        tools = [types.Tool.model_validate(one) for one in listed(self._settings.mcp_tools)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run one tool in the worker thread; an error is an answer with `isError`."""
        client = context.session.client_params
        name = client.client_info.name if client else None
        try:
            answer = await anyio.to_thread.run_sync(
                self._call, name, params.name, params.arguments, limiter=self._one_at_a_time
            )
        except Exception as error:  # noqa: BLE001 (the last door: each error is told to the client)
            return _failed(error)
        return _result(answer)

    async def close(self) -> None:
        """Close the replica, if it was opened."""
        if self._session is not None:
            await anyio.to_thread.run_sync(self._session.close, limiter=self._one_at_a_time)

    def _call(self, client: str | None, tool: str, arguments: dict[str, Any] | None) -> Any:
        if self._session is None:
            from satchel.mcp_server.session import Session

            self._session = Session(self._settings, client)
        return self._session.call(tool, arguments or {})


def _result(answer: dict[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=answer, is_error=is_error)


def _failed(error: Exception) -> types.CallToolResult:
    shown, _ = explain(error)
    if shown["code"] == "internal":
        logging.getLogger("satchel").error("a tool failed", exc_info=error)
    return _result({"error": shown}, is_error=True)
