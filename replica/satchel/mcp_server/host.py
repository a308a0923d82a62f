"""What a client may ask of a server, over whichever transport: tools, resources, one prompt."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from satchel import __version__
from satchel.errors import explain
from satchel.mcp_server.waits import Waits

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel.mcp_server.session import Session

INSTRUCTIONS = (
    "A durable memory on this machine. Search it before you answer from memory, write what should"
    " be known later, supersede what has changed. Every other tool (tasks, agents, messages, edges,"
    ' history) is behind satchel_call: satchel_call(tool="help", args={"query": "task"}) finds it.'
)
CALLS_AT_ONCE = 8
"""Calls that run beside each other; those that wait for something to come are counted apart."""

Context = ServerRequestContext[Any, Any]
Answer = dict[str, Any]


class Host:
    """The handlers of one server. `session_of` says whose session a request belongs to."""

    def __init__(self, settings: Settings, session_of: Callable[[Context], Session]) -> None:
        self._settings = settings
        self._session_of = session_of
        self._calls = anyio.CapacityLimiter(CALLS_AT_ONCE)
        self._waits = Waits()

    def server(self) -> Server[Any]:
        """A server of the SDK with these handlers."""
        return Server(
            "satchel",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_resource_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The tools at the start: the core six, or what `[mcp] tools` names."""
        return self._listed

    @cached_property
    def _listed(self) -> types.ListToolsResult:
        from satchel.mcp_server.listing import listed

        tools = [types.Tool.model_validate(one) for one in listed(self._settings.mcp_tools)]
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run one tool in a worker thread; an error is an answer with `isError`."""
        try:
            answer = await self._call(context, params.name, params.arguments or {})
        except Exception as error:  # noqa: BLE001 (the last door: each error is told to the client)
            return _result({"error": _told(error)}, is_error=True)
        return _result(answer)

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The newest memories that the caller sees, a page at a time."""
        from satchel.mcp_server import resources

        arguments = resources.page(params.cursor if params else None)
        return resources.listed(await self._asked(context, "memory_list", arguments))

    async def list_resource_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """`memory://{id}`."""
        from satchel.mcp_server import resources

        return types.ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """One memory, as the caller sees it."""
        from satchel.mcp_server import resources

        with _as_protocol_errors():
            key = resources.key_of(str(params.uri))
        answer = await self._asked(context, "memory_get", {"ids": [key]})
        with _as_protocol_errors():
            return resources.read(str(params.uri), answer)

    async def list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """The one prompt."""
        from satchel.mcp_server import prompts

        return types.ListPromptsResult(prompts=[prompts.PROMPT])

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """What is remembered of a topic, as a message."""
        from satchel.mcp_server import prompts

        with _as_protocol_errors():
            asked = prompts.read(params.name, params.arguments or {})
        return prompts.filled(asked, await self._asked(context, "memory_search", asked.search))

    async def _asked(self, context: Context, name: str, arguments: Answer) -> Answer:
        with _as_protocol_errors():
            return await self._call(context, name, arguments)

    async def _call(self, context: Context, name: str, arguments: Answer) -> Answer:
        from satchel.mcp_server import by_name, limited

        session = self._session_of(context)
        wait_s = by_name.wait_s(session, name, arguments)
        timeout_s = by_name.timeout_s(name, arguments, self._settings.mcp_timeout_s, wait_s)
        with self._waits.of(session.caller) if wait_s else nullcontext(self._calls) as limiter:
            return await limited.run(
                by_name.named(name, arguments),
                lambda: session.call(name, arguments),
                timeout_s,
                limiter,
                session.still_allowed,
            )


@contextmanager
def _as_protocol_errors() -> Iterator[None]:
    """Errors of what is no tool call are JSON-RPC errors, with our code and hint in `data`."""
    try:
        yield
    except MCPError:
        raise
    except Exception as error:
        told = _told(error)
        code = types.INTERNAL_ERROR if told["code"] == "internal" else types.INVALID_PARAMS
        raise MCPError(code, told["message"], told) from error


def _result(answer: Answer, *, is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=answer, is_error=is_error)


def _told(error: Exception) -> dict[str, str]:
    shown, _ = explain(error)
    if shown["code"] == "internal":
        logging.getLogger("satchel").error("a tool failed", exc_info=error)
    return shown
