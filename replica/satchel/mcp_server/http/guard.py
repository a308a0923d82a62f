"""The first look at a request: is it meant for this server, and does it come from where it may.

A page on the web can make its visitor's browser call a server on loopback, under a name of its own
that it lets resolve to 127.0.0.1 (DNS rebinding). Its Host and Origin headers give it away.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_USUAL = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Names:
    """The Host headers that mean this server, and the origins that may call it; lower case."""

    hosts: frozenset[str]
    own: frozenset[str]
    pages: frozenset[str]

    @staticmethod
    def of(names: Iterable[str], port: int, pages: Iterable[str] = ()) -> Names:
        """Of host names (with a port of their own, or taken with this one) and pages' origins."""
        hosts: set[str] = set()
        for name in names:
            host = name.strip().lower()
            if host.count(":") > 1 and not host.startswith("["):
                host = f"[{host}]"  # an IPv6 address
            has_port = host.rpartition("]")[2].count(":") == 1
            hosts.add(host if has_port else f"{host}:{port}")
            if not has_port and (port in _USUAL.values() or not _is_local(host)):
                hosts.add(host)  # behind a proxy, or on the port that goes without saying
        own = {f"{scheme}://{host}" for scheme in _USUAL for host in hosts}
        given = {page.strip().lower().rstrip("/") for page in pages}
        return Names(frozenset(hosts), frozenset(own), frozenset(given))

    def refusal(self, headers: Headers) -> Response | None:
        """Why a request with these headers goes no further, or None."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return _no("this server does not answer to that host", 421)
        allowed = self.own | self.pages
        if len(origins) > 1 or any(origin.lower() not in allowed for origin in origins):
            return _no("pages of that origin may not call this server", 403)
        return None


class HostGuard:
    """Refuses a request that is meant for another host or sent by a page of another origin."""

    def __init__(self, app: ASGIApp, names: Names) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it."""
        if scope["type"] == "http":
            refusal = self._names.refusal(Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _is_local(host: str) -> bool:
    return host in ("127.0.0.1", "localhost", "[::1]")


def _no(why: str, status: int) -> Response:
    return PlainTextResponse(why, status, headers={"connection": "close"})
