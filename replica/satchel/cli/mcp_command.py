"""`satchel mcp`: serve the tools over the Model Context Protocol on stdin and stdout."""

from __future__ import annotations

from typing import Any

from satchel.cli.command import command
from satchel.cli.door import Door


def make() -> Any:
    """The command."""
    return command("mcp", mcp)


def mcp(door: Door) -> None:
    """Serve MCP over stdio; the caller is --agent, else the name the client gives itself."""
    door.settings.require_built()
    from satchel.mcp_server.server import serve

    serve(door.settings)
