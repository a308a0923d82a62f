"""The ASGI application: who may come in, through what, to the SDK's streamable HTTP."""

from __future__ import annotations

from typing import Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from satchel.mcp_server.http.departure import WhileThere
from satchel.mcp_server.http.guard import HostGuard, Names
from satchel.mcp_server.http.identity import Visitors
from satchel.mcp_server.http.patience import InTime

PATH = "/mcp"
BODY_BYTES_MAX = 4 * 1024 * 1024
"""A memory has 1 MB at most; JSON may take two bytes and more for one."""


def app(server: Server[Any], visitors: Visitors, names: Names) -> Starlette:
    """The application. It keeps nothing between two requests of a client.

    So no client can exhaust it by sessions, a restart is not noticed, and a token that is revoked
    ends at once. A client that closes its connection gives up its call. Nothing is pushed to a
    client: GET and DELETE are answered with 405.
    """
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=BODY_BYTES_MAX
    )
    inner = WhileThere(InTime(StreamableHTTPASGIApp(manager)))
    route = Route(PATH, endpoint=RequireAuthMiddleware(inner, []), methods=["POST"])
    return Starlette(
        routes=[route],
        middleware=[
            Middleware(HostGuard, names=names),
            *_for_pages(names),
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(visitors)),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lambda _: manager.run(),
    )


def _for_pages(names: Names) -> list[Middleware]:
    """What a browser asks before it lets a page of another origin call, where any was named."""
    if not names.pages:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=sorted(names.pages),
            allow_methods=["POST"],
            allow_headers=["authorization", "content-type", "mcp-protocol-version"],
        )
    ]
