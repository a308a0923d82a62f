"""Hooks: what hosts of agents (Claude Code, Codex, Gemini CLI) call us with, and what they want.

A host starts a command at certain moments, gives it one JSON object on stdin and reads one from
stdout. `call` reads the first, `answer` writes the second, `block` marks the text that goes into
a model's context, `failures` keeps what went wrong, since a hook never fails its host.
"""
