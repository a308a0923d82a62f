"""How a host starts satchel: the server over MCP, and the commands of its hooks."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from satchel.errors import Refused

NAME = "satchel"
"""The name of our server in every host's settings."""
_OURS = re.compile(r"(?:^|[\s\"'/\\])satchel(?:\.exe)?(?=[\s\"']|$)")


class Program(NamedTuple):
    """This satchel, by its full path: a host with a window has no PATH of a shell.

    `home` is said where it is not the default one; `agent` where all hosts shall be one agent.
    """

    command: str
    arguments: tuple[str, ...] = ()
    home: str | None = None
    agent: str | None = None
    windows: bool = False

    def server(self, host: str) -> list[str]:
        """The arguments of the server that this host starts."""
        return [*self.arguments, "mcp", *self._who(host)]

    def hook(self, host: str, *words: str) -> str:
        """The command of a hook, as a shell reads it."""
        said = [*self.arguments, *words, "--hook", host, *self._who(host)]
        if not self.windows:
            return shlex.join([self.command, *said])
        # One of three shells reads it, by the host: forward slashes mean the same to all.
        return " ".join(map(_quoted, [self.command.replace("\\", "/"), *said]))

    def _who(self, host: str) -> list[str]:
        home = ["--home", self.home] if self.home else []
        return [*home, "--agent", self.agent or host]


def this_program(
    home: Path | None,
    agent: str | None,
    *,
    python: str = sys.executable,
    system: str = sys.platform,
) -> Program:
    """The satchel that runs now. Raises Refused where it cannot be told which that is."""
    if not python:
        raise Refused("it is not known where this Python is", hint="start satchel by its full path")
    windows = system == "win32"
    script = Path(python).absolute().with_name("satchel.exe" if windows else "satchel")
    said = str(home) if home else None
    for path in (str(script), said or ""):
        if any(ord(character) < 32 or character == "\x7f" for character in path):
            raise Refused(
                f"{path!r} has a control character, which no host's settings can hold",
                hint="move it to a path without one",
            )
    if script.exists():
        return Program(str(script), (), said, agent, windows)
    # -P: what lies in the folder where a host works must not stand in for satchel.
    return Program(str(Path(python).absolute()), ("-P", "-m", NAME), said, agent, windows)


def is_server(entry: Any) -> bool:
    """Whether a server's entry starts satchel, however it was written."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args")
    words = [*_texts(command), *_texts(arguments)]
    return any(_OURS.search(word) for word in words[:1]) or NAME in words


def is_hook(command: Any, host: str) -> bool:
    """Whether a hook's command is one of ours for this host."""
    if not isinstance(command, str) or not _OURS.search(command):
        return False
    return re.search(rf"--hook[= ]+[\"']?{re.escape(host)}\b", command) is not None


def _texts(value: Any) -> Sequence[str]:
    many = value if isinstance(value, list) else [value]
    return [one for one in many if isinstance(one, str)]


def _quoted(word: str) -> str:
    return f'"{word}"' if re.search(r"[\s&()'^;,]", word) else word
