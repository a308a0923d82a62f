"""Worker processes that import nothing: they come from a server that has, by multiprocessing."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

PRELOADED = [
    *("pytest", "hypothesis", "apsw", "alembic.context", "cryptography.x509"),
    *("satchel.replica", "satchel.memory.write", "satchel_warehouse.endpoint"),
    "satchel_warehouse.admin",
]
"""Installed ones: the server does not look into the folder of the tests."""


def workers() -> Any:
    """The context to make processes, queues and barriers of; nothing is shared but imports."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context
