"""Calls that wait, for clients that go, push in or are shut out: real servers and sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fix_command import COMMAND, environment
from fix_mcp import ACCEPT, HttpServer, http_server
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from satchel import config
from satchel.memory.tasks import tasks
from satchel.replica import open_replica

LONG_S = 600
SOON_S = 20.0
"""A loaded machine is late; it is far from LONG_S."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with http_server(tmp_path_factory.mktemp("leaving") / "home") as listening:
        yield listening


def asked(tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A call by name, as JSON-RPC."""
    params = {"name": "satchel_call", "arguments": {"tool": tool, "args": args, **more}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def call(server: HttpServer, agent: str, tool: str, args: dict[str, Any], **more: Any) -> Any:
    """The answer of one call over HTTP, an error or not."""
    answered = server.post(server.token(agent), asked(tool, args, **more))
    assert answered.status_code == 200, answered.text
    return answered.json()["result"]["structuredContent"]


def opened(
    server: HttpServer, agent: str, tool: str, args: dict[str, Any], *, modern: bool = False
) -> socket.socket:
    """A call whose answer nobody has read yet."""
    said = asked(tool, args)
    head = {
        "Host": f"127.0.0.1:{server.port}",
        "Authorization": f"Bearer {server.token(agent)}",
        "Content-Type": "application/json",
        "Accept": ACCEPT,
    }
    if modern:
        version = "2026-07-28"
        said["params"]["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        }
        head |= {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call"}
        head |= {"Mcp-Name": "satchel_call"}
    body = json.dumps(said).encode()
    head["Content-Length"] = str(len(body))
    line = socket.create_connection(("127.0.0.1", server.port), timeout=SOON_S)
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    line.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
    return line


def said_nothing(line: socket.socket, for_s: float = 1.0) -> None:
    """The call is still waiting after that time."""
    line.settimeout(for_s)
    with pytest.raises(TimeoutError):
        line.recv(1)
    line.settimeout(SOON_S)


def answer_on(line: socket.socket) -> dict[str, Any]:
    """The answer to an `opened` call."""
    received = b""
    while not received.endswith(b"}"):
        piece = line.recv(65536)
        assert piece, received
        received += piece
    return dict(json.loads(received.partition(b"\r\n\r\n")[2])["result"]["structuredContent"])


def _closes(line: socket.socket) -> None:
    line.close()


def _hangs_up(line: socket.socket) -> None:
    """Its machine resets the connection, as when the process was killed with bytes unread."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    line.close()


def _begins_another_and_closes(line: socket.socket) -> None:
    """What it sent after its request must not hide that it left."""
    line.sendall(b"POST /mcp HTTP/1.1\r\nX: y\r\n")
    time.sleep(0.2)
    line.close()


LEAVING = [_closes, _hangs_up, _begins_another_and_closes]


def test_a_client_that_has_gone_claims_nothing(server: HttpServer) -> None:
    """However it goes, in the protocol with a handshake and in the one without."""
    both = (False, True)
    cases = {f"{how.__name__}-{modern}": (how, modern) for how in LEAVING for modern in both}
    lines = {
        space: opened(server, "bob", "task_next", {"wait": LONG_S, "space": space}, modern=modern)
        for space, (_, modern) in cases.items()
    }
    for line in lines.values():
        said_nothing(line, 0.3)
    for space, (leaves, _) in cases.items():
        leaves(lines[space])
    time.sleep(0.5)
    made = {
        space: call(server, "ann", "task_create", {"title": "orphan", "space": space})["id"]
        for space in cases
    }
    time.sleep(1.5)  # longer than any wait sleeps
    for space, key in made.items():
        found = call(server, "ann", "task_get", {"id": key})
        assert (found["status"], found.get("claimed_by")) == ("pending", None), space
        taken = call(server, "bob", "task_next", {"wait": 5, "space": space})
        assert taken["task"]["id"] == key, "who is there gets it"


def test_a_client_that_stays_gets_what_it_waited_for(server: HttpServer) -> None:
    for modern in (False, True):
        space = f"stays-{modern}"
        wait = {"wait": LONG_S, "space": space}
        with closing(opened(server, "bob", "task_next", wait, modern=modern)) as line:
            said_nothing(line)
            line.sendall(b"POST /mcp HTTP/1.1\r\nX: y\r\n")  # early, and no reason to end the wait
            made = call(server, "ann", "task_create", {"title": "for bob", "space": space})
            assert answer_on(line)["task"]["id"] == made["id"]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_client_of_the_sdk_that_gives_up_claims_nothing(server: HttpServer) -> None:
    """It stays connected: in the protocol without a handshake it closes that one request."""
    headers = {"Authorization": f"Bearer {server.token('bob')}"}
    waiting = asked("task_next", {"wait": LONG_S, "space": "up"})["params"]["arguments"]
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(server.url, http_client=http)) as bob,
    ):
        with anyio.move_on_after(2) as gave_up:
            await bob.call_tool("satchel_call", waiting)
        assert gave_up.cancelled_caught
        await anyio.sleep(0.5)
        made = call(server, "ann", "task_create", {"title": "orphan", "space": "up"})
        await anyio.sleep(1.5)
        found = call(server, "ann", "task_get", {"id": made["id"]})
        assert found["status"] == "pending"
        taken = await bob.call_tool("satchel_call", waiting)
        assert taken.structured_content["task"]["id"] == made["id"]


def test_who_floods_a_server_that_is_busy_with_it_is_cut_off(server: HttpServer) -> None:
    with closing(opened(server, "flood", "message_inbox", {"wait": LONG_S})) as line:
        said_nothing(line)
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            line.sendall(b"x" * 64 * 1024 * 1024)
        assert time.monotonic() - began < SOON_S


def test_the_waits_of_one_caller_leave_room_for_all_others(server: HttpServer) -> None:
    with ExitStack() as lines:
        for _ in range(64):
            lines.enter_context(closing(opened(server, "greedy", "message_inbox", {"wait": 30})))
        time.sleep(1)
        began = time.monotonic()
        refused = call(server, "greedy", "message_inbox", {"wait": 30})
        assert refused["error"]["code"] == "refused"
        assert "wait" in refused["error"]["message"]
        assert call(server, "greedy", "message_inbox", {})["items"] == [], "only waits are counted"
        quick = call(server, "modest", "message_inbox", {"wait": 1}, timeout_s=8)
        assert quick == {"items": [], "unread": 0, "timed_out": True}
        assert time.monotonic() - began < SOON_S
    time.sleep(1)
    freed = call(server, "greedy", "message_inbox", {"wait": 1})
    assert freed["timed_out"], "what has gone is not counted any more"


def test_a_wait_inside_a_batch_is_a_wait(server: HttpServer) -> None:
    """It takes none of the eight places of calls that do not wait."""
    inner = {"tool": "message_inbox", "args": {"wait": 30}}
    with ExitStack() as lines:
        for agent in ("one", "two"):
            for _ in range(8):
                batch = opened(server, agent, "batch", {"calls": [inner]})
                lines.enter_context(closing(batch))
        time.sleep(1)
        began = time.monotonic()
        assert call(server, "ann", "message_inbox", {})["items"] == []
        assert time.monotonic() - began < 10
        refused = call(server, "one", "batch", {"calls": [inner]})
        assert refused["error"]["code"] == "refused"


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("memory_list", {"wait": 3000}, "unknown_argument"),
    ("message_inbox", {"wait": 3000, "knd": "x"}, "unknown_argument"),
    ("message_inbox", {"wait": 3601}, "invalid_input"),
    ("message_inbox", {"wait": True}, "invalid_input"),
    ("memory_inbox", {"wait": 3000, "agent_id": "ann"}, "refused"),
    ("no_such_tool", {"wait": 3000}, "unknown_argument"),
    ("batch", {"calls": [], "wait": 3000}, "unknown_argument"),
]


def test_wrong_arguments_are_told_at_once_however_many_wait(server: HttpServer) -> None:
    with ExitStack() as lines:
        for number in range(64):
            waiting = opened(server, f"crowd-{number // 8}", "message_inbox", {"wait": 60})
            lines.enter_context(closing(waiting))
        time.sleep(2)
        for tool, args, code in WRONG:
            began = time.monotonic()
            told = call(server, "eve", tool, args)
            assert told["error"]["code"] == code, (tool, args, told)
            assert time.monotonic() - began < 10, (tool, args)
        rehearsed = call(server, "eve", "message_inbox", {"wait": 3000}, dry_run=True)
        assert rehearsed["would"]["items"] == [], "a rehearsal does not wait"


@pytest.mark.parametrize("ends", ["revoked", "expired"])
def test_a_token_that_ends_ends_its_calls_that_wait(server: HttpServer, ends: str) -> None:
    spy, space = f"spy-{ends}", f"spied-{ends}"
    server.token(spy, days=1)
    with (
        closing(opened(server, spy, "message_inbox", {"wait": 60})) as inbox,
        closing(opened(server, spy, "task_next", {"wait": 60, "space": space})) as task,
    ):
        said_nothing(inbox)
        _end(server, spy, ends)
        call(server, "ann", "message_send", {"to": spy, "content": "not for spies"})
        made = call(server, "ann", "task_create", {"title": "not for spies", "space": space})
        for line in (inbox, task):
            told = answer_on(line)
            assert told["error"]["code"] == "refused", told
            assert "token" in told["error"]["message"]
        found = call(server, "ann", "task_get", {"id": made["id"]})
        assert found["status"] == "pending"


def test_it_ends_without_anything_coming(server: HttpServer) -> None:
    with closing(opened(server, "idle", "message_inbox", {"wait": 60})) as line:
        said_nothing(line)
        server.revoke("idle")
        began = time.monotonic()
        assert answer_on(line)["error"]["code"] == "refused"
        assert time.monotonic() - began < SOON_S


def test_stdio_that_is_closed_claims_nothing(tmp_path: Path) -> None:
    env = environment(SATCHEL_HOME=str(tmp_path / "home"), SATCHEL_AGENT="bob")
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    said: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        asked("task_next", {"wait": LONG_S, "space": "q"}),
    ]
    with subprocess.Popen(
        [*COMMAND, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.writelines(json.dumps(one).encode() + b"\n" for one in said)
            process.stdin.flush()
            assert b'"id":0' in process.stdout.readline()
            read: list[bytes] = []
            rest = threading.Thread(target=lambda: read.extend(process.stdout or ()), daemon=True)
            rest.start()
            settings = config.load(environ={"SATCHEL_HOME": env["SATCHEL_HOME"]})
            with open_replica(settings) as replica:
                time.sleep(1)
                process.stdin.close()
                time.sleep(0.2)
                made = tasks.create(replica, "orphan", space="q")
                time.sleep(1.5)
                assert tasks.get(replica, made["id"])["status"] == "pending"
            assert process.wait(SOON_S) == 0
            rest.join(SOON_S)
            assert b"orphan" not in b"".join(read)
        finally:
            process.kill()


def _end(server: HttpServer, name: str, how: str) -> None:
    if how == "revoked":
        server.revoke(name)
        return
    path = server.home / "keys" / "bearers.json"
    kept = json.loads(path.read_text("utf-8"))
    for one in kept["bearers"]:
        if one["name"] == name:
            one["expires_at"] = int(time.time() * 1000) - 1
    path.write_text(json.dumps(kept), "utf-8")
