"""The formats that can be imported: what each is read by, and what it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from satchel.errors import InvalidInput, did_you_mean
from satchel.importing.records import Source

LOGS = "logs"
"""The module of the formats that are session logs of a host."""
Opener = Callable[[Path | None], Source]


@dataclass(frozen=True, slots=True)
class Format:
    """`module` has `open_source`; `unique`: its refs mean the same in every source of it."""

    name: str
    module: str
    help: str
    unique: bool = False
    exact: bool = False

    def open(self, path: Path | None) -> Source:
        """The source at a path, or on stdin for None. Raises InvalidInput."""
        if self.module == LOGS:
            from satchel.importing import logs

            return logs.open_source(self.name, path)
        opener: Opener = import_module(f"satchel.importing.{self.module}").open_source
        return opener(path)


FORMATS = {
    one.name: one
    for one in (
        Format("jsonl", "jsonl", "satchel's own export", unique=True, exact=True),
        Format("markdown", "markdown", "a folder of Markdown files, or one"),
        Format("server-memory", "server_memory", "the file of the MCP knowledge-graph server"),
        Format("mem0", "mem0", "a JSON export of mem0 or OpenMemory", unique=True),
        Format("m3-memory", "m3", "a database of m3-memory", unique=True),
        Format("claude-code", LOGS, "sessions of Claude Code: a file or folder", unique=True),
        Format("codex", LOGS, "sessions of Codex: a file or folder", unique=True),
        Format("gemini-cli", LOGS, "chats of Gemini CLI: a file or folder", unique=True),
    )
}


def format_of(name: str) -> Format:
    """The format of that name. Raises InvalidInput."""
    found = FORMATS.get(name)
    if found is None:
        raise InvalidInput(
            f"no format {name[:60]!r}",
            hint=did_you_mean(name, FORMATS) or f"one of: {', '.join(FORMATS)}",
            field="format",
        )
    return found
