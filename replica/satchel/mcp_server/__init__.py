"""The tools over the Model Context Protocol; nothing else of satchel imports `mcp`."""
