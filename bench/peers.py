"""What the README says of other memories, to be repeated: `python bench/peers.py NAME COMMAND …`.

Starts an MCP server of NAME by the command that follows, with an empty folder as its home. Tells
how many tools it lists and how long their definitions are; then two such servers on one home write
50 notes each at the same time, and it is counted how many of the acknowledged ones are there.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

NOTES = 50


@dataclass(frozen=True, slots=True)
class Peer:
    """How a server is asked to keep a note, where its home is, how its notes are counted."""

    tool: str
    note: Callable[[str, str], dict[str, Any]]
    home: Callable[[Path], dict[str, str]]
    kept: Callable[[Path], int]


def rows(file: str, query: str) -> Callable[[Path], int]:
    """Counts by SQL in a file of the home."""
    return lambda home: int(sqlite3.connect(home / file).execute(query).fetchone()[0])


PEERS = {
    "satchel": Peer(
        "memory_write",
        lambda name, text: {"text": text, "title": name},
        lambda home: {"SATCHEL_HOME": str(home)},
        rows("satchel.db", "SELECT count(*) FROM memory"),
    ),
    "server-memory": Peer(
        "create_entities",
        lambda name, text: {
            "entities": [{"name": name, "entityType": "note", "observations": [text]}]
        },
        lambda home: {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
        lambda home: len((home / "memory.jsonl").read_text("utf-8").splitlines()),
    ),
    "basic-memory": Peer(
        "write_note",
        lambda name, text: {"title": name, "content": text, "directory": "notes"},
        lambda home: {"HOME": str(home)},
        lambda home: len(list(home.rglob("note *.md"))),
    ),
    "m3-memory": Peer(
        "memory_write",
        lambda name, text: {"type": "fact", "title": name, "content": text},
        lambda home: {"HOME": str(home)},
        rows(".m3/engine/agent_memory.db", "SELECT count(*) FROM memory_items"),
    ),
}


async def write(peer: Peer, command: StdioServerParameters, writer: str) -> tuple[list[Any], int]:
    """The tools that a server lists, and how many notes it said it keeps."""
    async with stdio_client(command) as (read, sent), ClientSession(read, sent) as session:
        await session.initialize()
        tools = [one.model_dump(exclude_none=True) for one in (await session.list_tools()).tools]
        kept = 0
        for number in range(NOTES):
            text = f"writer {writer} made note {number} about port {5000 + number}"
            note = peer.note(f"note {writer} {number}", text)
            kept += not (await session.call_tool(peer.tool, note)).is_error
        return tools, kept


async def main(name: str, program: str, *arguments: str) -> None:
    """Measure one peer. PEER_HOME names a home that is there already, as m3-memory needs."""
    peer = PEERS[name]
    home = Path(os.environ.get("PEER_HOME") or tempfile.mkdtemp(prefix="peer-"))
    variables = {"PATH": os.environ["PATH"], **peer.home(home)}
    command = StdioServerParameters(command=program, args=list(arguments), env=variables)
    begun = time.monotonic()
    (tools, first), (_, second) = await asyncio.gather(
        write(peer, command, "a"), write(peer, command, "b")
    )
    told = {"tools": len(tools), "bytes": len(json.dumps(tools)), "acknowledged": first + second}
    took_s = round(time.monotonic() - begun, 1)
    print(json.dumps({"peer": name, **told, "kept": peer.kept(home), "took_s": took_s}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
