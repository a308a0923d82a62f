"""MCP over HTTP: a real server process, the SDK's client, and requests that mean harm."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from fix_mcp import ACCEPT, ASKED, HttpServer, http_server
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

pytestmark = pytest.mark.anyio
LATEST_MODERN_VERSION = MODERN_PROTOCOL_VERSIONS[-1]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """One server for all of these tests; it ends in good order, or they fail."""
    home = tmp_path_factory.mktemp("http") / "home"
    with http_server(home, SATCHEL_MCP_TIMEOUT_S="5") as listening:
        yield listening


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def answer(session: Any, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content)


async def test_the_main_job_as_whom_the_token_names(server: HttpServer) -> None:
    async with server.client(server.token("ann")) as ann, server.client(server.token("bob")) as bob:
        assert len((await ann.list_tools()).tools) == 6
        key = (await answer(ann, "memory_write", text="ann keeps the green key"))["id"]
        item = (await answer(ann, "memory_get", ids=[key]))["items"][0]
        assert (item["agent_id"], item["scope"]) == ("ann", "agent")
        assert (await answer(bob, "memory_get", ids=[key]))["missing"] == [key]
        assert (await answer(bob, "memory_search", query="green key"))["hits"] == []

        args = {"to_agent": "bob", "task": "paint it", "context_ids": [key]}
        await answer(ann, "satchel_call", tool="memory_handoff", args=args)
        inbox = await answer(bob, "satchel_call", tool="memory_inbox")
        assert [one["from_agent"] for one in inbox["items"]] == ["ann"]
        got = await answer(bob, "memory_get", ids=[key])
        assert got["items"][0]["content"] == "ann keeps the green key"


async def test_the_protocol_without_a_handshake_knows_the_caller_too(server: HttpServer) -> None:
    async def written_by(token: str) -> str:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(server.url, http_client=http)) as client,
        ):
            assert client.protocol_version == LATEST_MODERN_VERSION
            key = (await answer(client, "memory_write", text="no handshake"))["id"]
            (item,) = (await answer(client, "memory_get", ids=[key]))["items"]
            assert (await client.list_resources()).resources
            return str(item["agent_id"])

    for agent in ("ann", "modern"):
        assert await written_by(server.token(agent)) == agent


async def test_no_argument_makes_a_caller_another(server: HttpServer) -> None:
    async with server.client(server.token("bob")) as bob:
        for name, given in (
            ("memory_inbox", {"agent_id": "ann"}),
            ("memory_handoff", {"from_agent": "ann", "to_agent": "bob", "task": "x"}),
            ("task_create", {"created_by": "ann", "title": "x"}),
            ("audit_log", {}),
            ("admin_config", {}),
        ):
            result = await bob.call_tool("satchel_call", {"tool": name, "args": given})
            assert result.is_error, name
            assert result.structured_content["error"]["code"] == "refused", name


async def test_roles_and_users_are_the_tokens(server: HttpServer) -> None:
    root = server.token("root", "operator")
    boss = server.token("boss", "supervisor")
    async with server.client(server.token("ann")) as ann:
        key = (await answer(ann, "memory_write", text="seen from above"))["id"]
    async with server.client(boss) as one:
        assert (await answer(one, "memory_get", ids=[key]))["missing"] == []
        refused = await one.call_tool("satchel_call", {"tool": "audit_log"})
        assert refused.is_error
    async with server.client(root) as one:
        log = await answer(one, "satchel_call", tool="audit_log", args={"row": key})
        assert {(row["tool"], row["actor"]) for row in log["items"]} >= {("memory_write", "ann")}


async def test_two_agents_at_once_never_see_each_other(server: HttpServer) -> None:
    async def work(agent: str) -> None:
        async with server.client(server.token(agent)) as session:
            for number in range(8):
                said = f"{agent} notes the number {number}"
                await answer(session, "memory_write", text=said)
            found = await answer(session, "satchel_call", tool="memory_list", args={"limit": 1000})
            assert {one["agent_id"] for one in found["items"] if one["scope"] == "agent"} == {agent}
            own = [one for one in found["items"] if "notes the number" in one["content"]]
            assert len(own) == 8

    async with anyio.create_task_group() as group:
        for agent in ("left", "right"):
            group.start_soon(work, agent)


async def test_a_revoked_token_ends_at_once(server: HttpServer) -> None:
    token = server.token("eve")
    async with server.client(token) as eve:
        await answer(eve, "memory_write", text="eve was here")
        server.revoke("eve")
        assert server.post(token).status_code == 401
        with pytest.raises(Exception):  # noqa: B017, PT011 (the client's own way to say 401)
            await answer(eve, "memory_write", text="and is still")
    async with server.client(server.token("ann")) as ann:
        await answer(ann, "memory_write", text="the others go on")


def test_who_has_no_good_token_is_let_in_nowhere(server: HttpServer) -> None:
    good = server.token("ann")
    expired = server.token("old", name="old", days=1)
    path = server.home / "keys" / "bearers.json"
    said = json.loads(path.read_text("utf-8"))
    for one in said["bearers"]:
        if one["name"] == "old":
            one["expires_at"] = int(time.time() * 1000) - 1
    path.write_text(json.dumps(said), "utf-8")
    bad = ["x", good[:-1], good + "A", good.swapcase(), f"{good} {good}", "satchel_", expired]
    bad += ["A" * 5_000, good.removeprefix("satchel_"), "ann", "null"]
    for token in bad:
        refused = server.post(token)
        assert refused.status_code == 401, token
        assert refused.headers["www-authenticate"].startswith("Bearer"), token
        assert good not in refused.text
    assert server.post(None).status_code == 401
    for scheme in ("Basic", "Token", ""):
        assert server.post(None, authorization=f"{scheme} {good}".strip()).status_code == 401
    assert server.http.post(f"{server.url}?token={good}", json=ASKED).status_code == 401
    assert (
        server.http.post(server.url, json=ASKED, headers={"cookie": f"token={good}"}).status_code
        == 401
    )
    assert server.post(good).status_code == 200


def test_a_file_of_tokens_that_others_can_write_lets_nobody_in(server: HttpServer) -> None:
    path = server.home / "keys" / "bearers.json"
    path.chmod(0o666)
    try:
        assert server.post(server.token("ann")).status_code == 401
    finally:
        path.chmod(0o600)
    assert server.post(server.token("ann")).status_code == 200


def test_another_host_or_origin_is_refused_before_anything_else(server: HttpServer) -> None:
    good, here = server.token("ann"), f"127.0.0.1:{server.port}"
    hosts = [
        *("evil.example", f"evil.example:{server.port}", "127.0.0.1", "127.0.0.1:1", "localhost"),
        *(f"localhost.evil.example:{server.port}", f"{here}.evil.example", f"{here}@evil.example"),
        *(f"[::1]:{server.port + 1}", "0.0.0.0", f"127.0.0.2:{server.port}"),
    ]
    for host in hosts:
        for token in (good, None):
            assert server.post(token, host=host).status_code == 421, host
    origins = [
        *("http://evil.example", "https://evil.example", "null", f"http://{here}.evil.example"),
        *(
            f"http://evil.example:{server.port}",
            "http://127.0.0.1",
            "file://",
            "http://localhost:1",
        ),
    ]
    for origin in origins:
        assert server.post(good, origin=origin).status_code == 403, origin
        assert "access-control-allow-origin" not in server.post(good, origin=origin).headers
    for host in (here, f"LOCALHOST:{server.port}", f"[::1]:{server.port}"):
        assert server.post(good, host=host).status_code == 200, host
    assert server.post(good, origin=f"http://localhost:{server.port}").status_code == 200


def test_a_browser_is_told_nothing_by_a_preflight(server: HttpServer) -> None:
    asked = server.http.options(
        server.url,
        headers={
            "origin": f"http://localhost:{server.port}",
            "access-control-request-method": "POST",
        },
    )
    assert asked.status_code in (401, 405)
    assert "access-control-allow-origin" not in asked.headers


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE"])
def test_only_post_is_served(server: HttpServer, method: str) -> None:
    headers = {"authorization": f"Bearer {server.token('ann')}", "accept": ACCEPT}
    assert server.http.request(method, server.url, headers=headers).status_code == 405


def test_no_other_path_is_served(server: HttpServer) -> None:
    base = server.url.removesuffix("/mcp")
    for path in ("/", "/mcp/", "/mcp/../mcp2", "/health", "/.well-known/oauth-protected-resource"):
        assert server.http.post(base + path, json=ASKED).status_code in (307, 404), path


def test_bodies_that_are_too_large_or_no_message(server: HttpServer) -> None:
    good = server.token("ann")
    assert server.post(good, b"x" * (4 * 1024 * 1024 + 1)).status_code == 413
    for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0"}'):
        refused = server.post(good, body)
        assert 400 <= refused.status_code < 500, body[:20]
    lying = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {good}\r\n"
        "Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n"
    )
    assert b" 413 " in server.raw(lying.encode(), wait_s=3)
    assert b" 200 " not in server.raw(b"POST /mcp HTTP/1.1\r\nX-Long: " + b"y" * 400_000)
    assert server.post(good).status_code == 200


def test_what_is_no_http_is_answered_and_closed(server: HttpServer) -> None:
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\n" + host.encode() * 2 + b"\r\n",
        b"POST /mcp HTTP/1.1\r\n" + host.encode() + b"Content-Length: 5\r\n"
        b"Content-Length: 6\r\n\r\nhello",
        b"POST /mcp HTTP/1.1\r\n" + host.encode() + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ):
        received = server.raw(data, wait_s=5)
        assert received.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4")), (data, received)
    assert b" 421 " in server.raw(b"POST /mcp HTTP/1.0\r\n\r\n", wait_s=3)
    assert server.post(server.token("ann")).status_code == 200


def test_many_clients_leave_nothing_behind(server: HttpServer) -> None:
    """No request makes a session, so none can use them up."""
    good = server.token("ann")
    for _ in range(100):
        hello = server.post(good)
        assert hello.status_code == 200
        assert "mcp-session-id" not in hello.headers
    assert server.post(good, **{"mcp-session-id": "0" * 32}).status_code == 200


async def test_who_waits_for_a_message_holds_nobody_up(server: HttpServer) -> None:
    """More agents wait than calls may run at once; the others are served, and each gets its own."""
    waiters = [f"waiter-{number}" for number in range(12)]
    came: dict[str, str] = {}

    async def wait(agent: str) -> None:
        async with server.client(server.token(agent)) as session:
            args = {"tool": "message_inbox", "args": {"wait": 30}}
            found = await answer(session, "satchel_call", **args)
            came[agent] = found["items"][0]["content"]

    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for agent in waiters:
            group.start_soon(wait, agent)
        async with server.client(server.token("ann")) as ann:
            await anyio.sleep(1)
            for agent in waiters:
                args = {"to": agent, "content": f"for {agent}"}
                await answer(ann, "satchel_call", tool="message_send", args=args)
    assert came == {agent: f"for {agent}" for agent in waiters}
    assert time.monotonic() - began < 25, "nobody waited to the end"


async def test_a_call_that_takes_too_long_is_stopped(server: HttpServer) -> None:
    """Another process holds the write lock: the call waits for it, until its time is up."""
    import apsw

    async with server.client(server.token("ann")) as ann:
        await answer(ann, "memory_write", text="before the lock")
        holder = apsw.Connection(str(server.home / "satchel.db"))
        holder.execute("BEGIN IMMEDIATE")
        try:
            began = time.monotonic()
            args = {"tool": "memory_pin", "args": {"id": "0" * 36}, "timeout_s": 1}
            result = await ann.call_tool("satchel_call", args)
            assert result.is_error
            assert result.structured_content["error"]["code"] == "timed_out"
            assert "nothing of it was written" in result.structured_content["error"]["message"]
            assert time.monotonic() - began < 4
        finally:
            holder.close()
        await answer(ann, "memory_write", text="after the lock")
