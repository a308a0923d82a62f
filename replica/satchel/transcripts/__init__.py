"""Transcripts: what Claude Code, Codex and Gemini CLI write of a conversation, read into turns.

`reading.read` is the door: a file in, `Turn`s and `Fault`s out. Each host has a parser of its own
(`claude_code`, `codex`, `gemini_cli`); `finding` knows where each keeps its files. Nothing here
writes, and nothing of a damaged file is fatal: the line is told, the rest is read.
"""
