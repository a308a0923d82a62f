"""satchel in a process of its own and a clean environment, and what a command did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

COMMAND = [sys.executable, "-m", "satchel"]
KEPT = ("PATH", "SYSTEMROOT", "LANG", "HOME", "TMPDIR")
TIMEOUT_S = 100


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
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=environment(**variables),
        timeout=TIMEOUT_S,
        check=False,
    )
    return Run(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
