"""How long an MCP client waits for the answer to `initialize`, from the spawn of the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.measure import COLUMNS, in_turn, process
from bench.page import Section
from mcp_types import LATEST_PROTOCOL_VERSION

TIMES = 9
SATCHEL = Path(sys.executable).with_name("satchel")
METHOD = f"""
`satchel mcp` is spawned, `initialize` written to its stdin, the result read from its stdout, and
the server killed (a millisecond that counts); {TIMES} times, in turn with whole processes that only
import. The home is new. CPU is of the processes: it tells what another load hides.
"""
ASKED = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": LATEST_PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def bench_initialize(tmp_path: Path) -> None:
    section = Section("mcp", "MCP initialize", METHOD, ("what", *COLUMNS))
    env = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    server = "import mcp.server.lowlevel, mcp.server.stdio, mcp_types"
    works: dict[str, Callable[[], object]] = {
        "python -c pass": process([sys.executable, "-c", "pass"], env),
        'python -c "import mcp"': process([sys.executable, "-c", "import mcp"], env),
        f'python -c "{server}"': process([sys.executable, "-c", server], env),
        "satchel mcp: spawn to initialize result": lambda: initialize(tmp_path / "home", env),
    }
    for name, samples in in_turn(works, TIMES).items():
        section.add(f"`{name}`", *samples.columns())
        section.raw[f"`{name}`"] = samples.raw()
    section.write()


def initialize(home: Path, env: dict[str, str]) -> None:
    """Spawn a server, read its first answer and kill it."""
    command = [SATCHEL, "--home", home, "mcp"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(ASKED).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.kill()
    assert answer["id"] == 1
    assert "serverInfo" in answer["result"]
