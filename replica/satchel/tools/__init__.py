"""The tools: one typed function each, read by both doors (CLI and MCP)."""
