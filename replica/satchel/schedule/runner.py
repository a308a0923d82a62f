"""Programs of the operating system, run for real."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from satchel.schedule.contract import Ran

TIMEOUT_S = 60


class Programs:
    """A `Runner` that runs them."""

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
            out=done.stdout.decode("utf-8", "replace"),
            err=done.stderr.decode("utf-8", "replace"),
        )
