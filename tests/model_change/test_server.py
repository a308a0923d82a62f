"""An MCP server that runs meanwhile: it goes on answering, and takes the new model up by itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import anyio
from fix_command import COMMAND, environment
from fix_model_change import LATER, PAIRS, change, drained, filled, machine
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from satchel.embedding import queue
from satchel.replica import Replica

PATIENCE_S = 60


def test_a_server_follows_a_change(tmp_path: Path, turned: Path) -> None:
    anyio.run(_followed, tmp_path / "home", turned)


async def _followed(home: Path, turned: Path) -> None:
    with machine(home) as old:
        filled(old)
        queue.drain(old)
    server = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "mcp"],
        env=environment(SATCHEL_HOME=str(home), SATCHEL_EMBEDDING="native", SATCHEL_USER="una"),
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await _finds_all(session)
        with machine(home) as replica, change(replica, turned) as new:
            drained(new, limit=2)
            await _finds_all(session)
            # A write wakes the server's own work at the queue: it carries the change on.
            await _call(session, "memory_write", text=LATER[0])
            await anyio.to_thread.run_sync(_until_changed, new)
            assert (new.standing().in_use or "").startswith("turned@")
            await _finds_all(session)
            (hit,) = (await _call(session, "memory_search", query=LATER[1], k=1))["hits"]
            assert hit["snippet"] == LATER[0]


def _until_changed(replica: Replica) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while replica.standing().becoming is not None:
        assert time.monotonic() < end_s, "the server does not carry the change on"
        time.sleep(0.1)


async def _finds_all(session: ClientSession) -> None:
    for text, question in PAIRS.items():
        answer = await _call(session, "memory_search", query=question, k=1)
        assert answer["mode"] == "hybrid"
        assert [hit["snippet"] for hit in answer["hits"]] == [text]


async def _call(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content
