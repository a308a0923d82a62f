"""An agent's memory that lives on this machine: store, search, tools, MCP server and CLI."""

__version__ = "0.1.0"
