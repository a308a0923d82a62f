"""The MCP server through the SDK's own client over stdio: handshake, tools, errors, stdout."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fix_command import COMMAND
from mcp import Client, ClientSession, StdioServerParameters

Connect = Callable[..., AbstractAsyncContextManager[ClientSession]]
Environment = Callable[..., dict[str, str]]
CORE = [
    "memory_write",
    "memory_search",
    "memory_get",
    "memory_supersede",
    "chatlog_search",
    "satchel_call",
]

pytestmark = pytest.mark.anyio


async def answer(session: Any, name: str, /, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


async def error(session: Any, tool: str, arguments: dict[str, Any]) -> dict[str, str]:
    result = await session.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content["error"])


async def test_the_main_job(connect: Connect) -> None:
    async with connect() as session:
        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == CORE
        assert all(tool.output_schema for tool in tools)

        first = await answer(session, "memory_write", text="deploys happen on Tuesday", pin=True)
        assert first["outcome"] == "created"
        found = await answer(session, "memory_search", query="deploys", k=3)
        assert [hit["id"] for hit in found["hits"]] == [first["id"]]
        got = await answer(session, "memory_get", ids=[first["id"], "0" * 36])
        assert [item["content"] for item in got["items"]] == ["deploys happen on Tuesday"]
        assert got["missing"] == ["0" * 36]
        second = await answer(
            session, "memory_supersede", id=first["id"], text="deploys happen on Friday"
        )
        assert second["superseded"] == [first["id"]]
        assert (await answer(session, "chatlog_search", query="deploys"))["hits"] == []

        call = {"conversation_id": "talk", "text": "why do deploys happen on Friday"}
        await answer(session, "satchel_call", tool="chatlog_write", args=call)
        turns = await answer(session, "chatlog_search", query="deploys")
        assert [hit["kind"] for hit in turns["hits"]] == ["chatlog"]


async def test_help_finds_a_tool_that_can_then_be_called(connect: Connect) -> None:
    async with connect() as session:
        listed = await answer(session, "satchel_call", tool="help", args={"query": "create task"})
        assert listed["tools"][0]["tool"] == "task_create"
        assert "required" in listed["tools"][0]["args"]["title"]
        everything = await answer(session, "satchel_call", tool="help")
        assert len(everything["tools"]) > 20
        task = await answer(session, "satchel_call", tool="task_create", args={"title": "paint"})
        claimed = await answer(session, "satchel_call", tool="task_claim", args={"id": task["id"]})
        assert claimed["claimed_by"] == "tester"


async def test_names_of_m3_are_accepted(connect: Connect) -> None:
    async with connect(client="ann") as session:
        arguments = {"to": "bob", "content": "your turn"}
        sent = await answer(session, "satchel_call", tool="memory_handoff", args=arguments)
        assert sent["kind"] == "handoff"
    async with connect(client="bob") as session:
        inbox = await answer(session, "satchel_call", tool="memory_inbox")
        assert [message["id"] for message in inbox["items"]] == [sent["id"]]


BAD_CALLS: list[tuple[str, dict[str, Any], str, str, str]] = [
    # tool, arguments, code, field, hint
    ("memory_search", {"qery": "x"}, "unknown_argument", "qery", "query"),
    ("memory_search", {"query": 5}, "invalid_input", "query", ""),
    ("memory_search", {"query": "x", "k": "many"}, "invalid_input", "k", ""),
    ("memory_search", {"query": "x", "kind": "memry"}, "invalid_input", "kind", "memory"),
    ("memory_search", {"query": "x", "as_of": "then"}, "invalid_input", "as_of", "2026"),
    ("memory_search", {}, "invalid_input", "query", ""),
    ("memory_write", {"text": "a\0b"}, "invalid_input", "text", ""),
    ("memory_write", {"text": "x" * 1_100_000}, "invalid_input", "text", "split"),
    ("memory_write", {"text": "x", "importance": 2}, "invalid_input", "importance", ""),
    ("memory_write", {"text": "x", "metadata": "{"}, "invalid_input", "metadata", ""),
    ("memory_get", {"ids": "abc"}, "invalid_input", "ids", ""),
    ("memory_serch", {"query": "x"}, "unknown_argument", "tool", "memory_search"),
    ("satchel_call", {"tool": "task_crate"}, "unknown_argument", "tool", "task_create"),
    ("satchel_call", {"tool": "task_get", "arg": {}}, "unknown_argument", "arg", "args"),
    ("satchel_call", {"tool": "task_get", "args": []}, "invalid_input", "args", ""),
    ("satchel_call", {"args": {}}, "invalid_input", "tool", "help"),
    (
        "satchel_call",
        {"tool": "memory_delete", "args": {"id": "0" * 36}},
        "confirm_needed",
        "confirm",
        "confirm",
    ),
    ("satchel_call", {"tool": "task_get", "args": {"id": "0" * 36}}, "not_found", "", ""),
]


async def test_a_bad_call_is_an_error_with_a_hint(connect: Connect) -> None:
    async with connect() as session:
        for tool, arguments, code, field, hint in BAD_CALLS:
            shown = await error(session, tool, arguments)
            assert shown["code"] == code, shown
            assert field in shown["field"], shown
            assert hint in shown["hint"], shown
        assert (await answer(session, "satchel_call", tool="memory_stats"))["memories"] == 0


async def test_the_caller_is_the_configured_agent_else_the_client(connect: Connect) -> None:
    async with connect("--agent", "scout", client="some-client") as session:
        key = (await answer(session, "memory_write", text="scouts know the hills"))["id"]
    async with connect(client="some-client", SATCHEL_AGENT="scout") as session:
        assert (await answer(session, "memory_get", ids=[key]))["items"][0]["agent_id"] == "scout"
    async with connect(client="some-client") as session:
        assert (await answer(session, "memory_get", ids=[key]))["missing"] == [key]
        own = (await answer(session, "memory_write", text="clients know their name"))["id"]
        item = (await answer(session, "memory_get", ids=[own]))["items"][0]
        assert (item["agent_id"], item["scope"]) == ("some-client", "agent")


async def test_a_client_without_a_name_is_an_agent_and_not_the_operator(
    connect: Connect, satchel: Callable[..., Any]
) -> None:
    """One such name through the whole door; `tests/doors/test_session.py` has them all."""
    key = satchel("write", "a zebra of ann's", "--agent", "ann").json["id"]
    async with connect(client="\u200b") as session:
        assert (await answer(session, "memory_search", query="zebra"))["hits"] == []
        assert (await answer(session, "memory_get", ids=[key]))["missing"] == [key]
        own = (await answer(session, "memory_write", text="nobody's zebra"))["id"]
        item = (await answer(session, "memory_get", ids=[own]))["items"][0]
        assert (item["agent_id"], item["scope"]) == ("unnamed", "agent")
    async with connect(client="\u200b", SATCHEL_AGENT_ROLE="operator") as session:
        assert (await answer(session, "memory_get", ids=[key]))["missing"] == []


async def test_the_protocol_without_a_handshake_is_served_too(env: Environment) -> None:
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=env())
    async with Client(server) as client:
        assert (await client.list_tools()).tools
        assert (await answer(client, "memory_write", text="no handshake"))["outcome"] == "created"


async def test_groups_of_the_config_are_listed(connect: Connect) -> None:
    async with connect(SATCHEL_MCP_TOOLS="core,task") as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert "task_claim" in names
        task = await answer(session, "task_create", title="called by its own name")
        assert task["status"] == "pending"


async def test_the_handshake_opens_nothing(connect: Connect, home: Path) -> None:
    async with connect() as session:
        await session.list_tools()
        assert not await anyio.Path(home).exists()


async def test_a_home_that_cannot_be_used_is_an_error_of_the_call(
    connect: Connect, home: Path
) -> None:
    await anyio.Path(home).write_text("a file in the folder's place")
    async with connect() as session:
        shown = await error(session, "memory_write", {"text": "x"})
        assert shown["code"] == "store_unusable"
        assert str(home) in shown["message"]
        await anyio.Path(home).unlink()
        assert (await answer(session, "memory_write", text="x"))["outcome"] == "created"


def test_stdout_is_json_rpc_only(env: Environment, home: Path) -> None:
    """Stray prints of a tool, broken JSON and lone surrogates leave one message a line."""
    code = """
import os, sys
import satchel.memory.write as write
inner = write.write
def loud(*a, **k):
    print("a stray print")
    os.write(1, b"a stray write")
    os.system("echo a stray child")
    return inner(*a, **k)
write.write = loud
from satchel.cli.main import run
run(["mcp"])
"""
    info = {"name": "raw", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    write = {"name": "memory_write", "arguments": {"text": "still there"}}
    lone = {"name": "memory_write", "arguments": {"text": "lone \ud800 surrogate"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "this is not JSON",
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": lone}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": write}),
    ]
    server = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env(),
    )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("".join(f"{line}\n" for line in lines).encode())
    server.stdin.flush()
    messages = []
    while not any(message.get("id") == 3 for message in messages):
        messages.append(json.loads(server.stdout.readline()))
    rest, _ = server.communicate(timeout=30)

    assert rest == b""
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    last = next(message for message in messages if message.get("id") == 3)
    assert last["result"]["structuredContent"]["outcome"] == "created"
    assert [one["error"]["code"] for one in messages if one.get("id") is None] == [-32700, -32700]
    assert server.returncode == 0


UNREADABLE: list[tuple[bytes, int | None]] = [
    # a line, the code of the error that answers it
    (b"{bad", -32700),
    (b"\xff\xfe\x00", -32700),
    (b'{"jsonrpc": "2.0", "id": 6, "method": "ping", "params": {"x": "\\ud800"}}', -32700),
    (b"[" * 100_000, -32700),
    (b"[]", -32600),
    (b"null", -32600),
    (b'"x"', -32600),
    (b'{"jsonrpc": "2.0"}', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None),
    (b"", None),
    (b"  ", None),
]


@pytest.mark.parametrize("early", [True, False], ids=["before the handshake", "after it"])
def test_each_unreadable_line_is_answered(env: Environment, early: bool) -> None:
    info = {"name": "raw", "version": "1"}
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
    lines = [line for line, _ in UNREADABLE]
    lines.insert(0 if not early else len(lines), json.dumps(hello).encode())
    lines.append(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}')
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env(),
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"".join(line + b"\n" for line in lines))
        server.stdin.flush()
        messages = [json.loads(server.stdout.readline())]
        while messages[-1].get("id") != 2:
            messages.append(json.loads(server.stdout.readline()))
        server.communicate(timeout=30)
    codes = [one["error"]["code"] for one in messages if one["id"] is None]
    assert codes == [code for _, code in UNREADABLE if code is not None]
