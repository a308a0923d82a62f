"""`satchel` with or without its audit: `python unaudited.py audited|bare ARGUMENTS`, to compare."""

from __future__ import annotations

import sys

from satchel.audit.auditor import MachineAuditor
from satchel.cli.main import run


def nothing(*_: object) -> None:
    """In place of what records."""


if __name__ == "__main__":
    _, kind, *arguments = sys.argv
    if kind == "bare":
        MachineAuditor.append = nothing  # type: ignore[method-assign]
        MachineAuditor.append_read = nothing  # type: ignore[method-assign]
        MachineAuditor.prepare = nothing  # type: ignore[method-assign]
    sys.argv = ["satchel", *arguments]
    run()
