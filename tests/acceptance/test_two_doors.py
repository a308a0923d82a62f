"""One tool, two doors: the command line and MCP give the same JSON for the same arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp import ClientSession

Connect = Callable[..., AbstractAsyncContextManager[ClientSession]]
Command = Callable[..., Any]
VOLATILE = {"took_ms"}

pytestmark = pytest.mark.anyio

READS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"query": "shed", "k": 5, "explain": True}),
    ("memory_search", {"query": "shed", "kind": "chatlog"}),
    ("memory_search", {"query": "shed", "as_of": "2019-01-01T00:00:00+02:00"}),
    ("memory_list", {"limit": 2}),
    ("memory_stats", {}),
    ("chatlog_search", {"query": "shed"}),
    ("chatlog_list", {}),
    ("chatlog_show", {"conversation_id": "talk"}),
    ("task_list", {"status": "pending"}),
    ("agent_list", {}),
    ("message_inbox", {}),
    ("session_list", {}),
]
REFUSALS: list[tuple[str, dict[str, Any]]] = [
    ("memory_search", {"qery": "x"}),
    ("memory_search", {"query": "x", "k": 0}),
    ("memory_get", {"ids": ["abc"]}),
    ("memory_delete", {"id": "0" * 36}),
    ("memory_history", {"id": "0" * 36}),
    ("task_get", {"id": "0" * 36}),
    ("chatlog_show", {"conversation_id": "nowhere"}),
]


def steady(answer: Any) -> Any:
    return {key: value for key, value in answer.items() if key not in VOLATILE}


def command(satchel: Command, tool: str, arguments: dict[str, Any]) -> Any:
    noun, _, verb = tool.partition("_")
    return satchel("--agent", "ann", noun, verb, "--json-file", "-", stdin=json.dumps(arguments))


async def test_the_same_answers_and_the_same_errors(connect: Connect, satchel: Command) -> None:
    async with connect("--agent", "ann") as session:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return await session.call_tool("satchel_call", {"tool": tool, "args": arguments})

        for tool, arguments in (
            ("memory_write", {"text": "the shed is green", "metadata": {"n": [1, None]}}),
            ("memory_write", {"text": "the shed was red", "valid_from": "2018-01-01"}),
            ("chatlog_write", {"conversation_id": "talk", "text": "which shed?"}),
            ("task_create", {"title": "paint the shed", "due": "2027-01-01T12:00:00Z"}),
            ("agent_register", {"id": "ann"}),
            ("session_start", {"title": "painting"}),
        ):
            made = await call(tool, arguments)
            assert not made.is_error, made.content

        for tool, arguments in READS:
            result = await call(tool, arguments)
            typed = command(satchel, tool, arguments)
            assert not result.is_error, result.content
            assert typed.code == 0, typed.err
            assert steady(typed.json) == steady(result.structured_content), tool

        for tool, arguments in REFUSALS:
            result = await call(tool, arguments)
            typed = command(satchel, tool, arguments)
            assert result.is_error
            assert typed.code in (2, 3, 4)
            assert typed.out == ""
            assert typed.error == result.structured_content["error"], tool
