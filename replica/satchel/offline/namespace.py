"""A network namespace without interfaces and routes, where Linux lets this user make one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TIMEOUT_S = 10
WAYS = (("--net",), ("--user", "--map-root-user", "--net"))
"""As root, or as somebody who becomes root in a user namespace of his own."""


def without_network() -> tuple[list[str], str]:
    """(words to put before a command so that it runs without a network, why there are none)."""
    if not sys.platform.startswith("linux"):
        return [], f"{sys.platform} has no network namespaces"
    program = shutil.which("unshare")
    if program is None:
        return [], "the program `unshare` (util-linux) is not here"
    said = ""
    for way in WAYS if os.geteuid() == 0 else WAYS[1:]:
        said = _refusal([program, *way])
        if not said:
            return [program, *way], ""
    return [], f"this system does not let this user make one ({said})"


def interfaces() -> list[str]:
    """The network interfaces that this process sees, and `route` for each route; Linux only."""
    lines = Path("/proc/self/net/dev").read_text("ascii").splitlines()[2:]
    routes = Path("/proc/self/net/route").read_text("ascii").splitlines()[1:]
    return [line.split(":")[0].strip() for line in lines] + ["route"] * len(routes)


def _refusal(prefix: list[str]) -> str:
    """What stands against it; empty if it works."""
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-I", "-S", "-c", ""],
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip()[-200:] or f"exit {done.returncode}"
