"""satchel in a process of its own and a clean environment, and what a command did.

The first process of each command imports what it needs, as the user's does; those that follow are
forked from one that has (`fix_forked`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import fix_forked

COMMAND = [sys.executable, "-m", "satchel"]
KEPT = ("PATH", "SYSTEMROOT", "LANG", "HOME", "TMPDIR")
TIMEOUT_S = 100
_seen: set[tuple[str | bytes, ...]] = set()


@dataclass(frozen=True, slots=True)
class Run:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error: the last line on stderr."""
        shown: dict[str, str] = json.loads(self.err.splitlines()[-1])["error"]
        return shown


def environment(**variables: str) -> dict[str, str]:
    """Nothing of the tester's own satchel gets in; `variables` stand above all."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "SATCHEL_EMBEDDING": "off", **variables}


def run(*arguments: str | bytes, stdin: str | bytes = b"", **variables: str) -> Run:
    """`satchel ARGUMENTS` to its end, in an environment with these variables."""
    given, variables_of_it = _bytes(stdin), environment(**variables)
    if arguments[:2] in _seen and fix_forked.fits(arguments, variables):
        done = fix_forked.forked(arguments, variables_of_it, given, TIMEOUT_S)
    else:
        _seen.add(arguments[:2])
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=given,
            capture_output=True,
            env=variables_of_it,
            timeout=TIMEOUT_S,
            check=False,
        )
    return Run(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
