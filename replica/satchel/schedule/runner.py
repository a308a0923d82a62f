"""Programs of the operating system, run for real."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence

from satchel.schedule.contract import Ran

TIMEOUT_S = 60


class Programs:
    """A `Runner` that runs them; `code_page` is what they write in where it is no UTF-8."""

    def __init__(self, code_page: str = "oem" if sys.platform == "win32" else "utf-8") -> None:
        """Consoles of Windows have a code page of their own, which Python calls `oem`."""
        self._code_page = code_page

    def has(self, program: str) -> bool:
        """Whether it is on the PATH."""
        return shutil.which(program) is not None

    def run(self, command: Sequence[str]) -> Ran:
        """Run it to its end; one that does not start or end counts as failed."""
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, timeout=TIMEOUT_S,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except OSError as error:
            return Ran(code=127, err=f"{command[0]}: {error.strerror or error}")
        except subprocess.TimeoutExpired:
            return Ran(code=124, err=f"{command[0]} does not end after {TIMEOUT_S} s")
        return Ran(
            code=done.returncode,
            out=self._text(done.stdout),
            err=self._text(done.stderr),
        )

    def _text(self, said: bytes) -> str:
        try:
            return said.decode("utf-8")
        except UnicodeDecodeError:
            return said.decode(self._code_page, "replace")
