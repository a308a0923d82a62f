"""What satchel would find on macOS: no /proc, no machine-id, none of what only Linux has."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from seen_module import Shown, require_there, show
from seen_names import LINUX_OS

_real_open, _real_io_open = os.open, io.open


def install() -> None:
    """Show macOS to every module of ours that is imported from now on."""
    io.open = _io_open  # type: ignore[assignment]
    shown = {"sys": Shown(sys, platform="darwin"), "os": Shown(os, LINUX_OS, open=_open)}
    show(shown, frozenset({"spwd"}))


def _open(path: Any, *given: Any, **more: Any) -> int:
    require_there(path)
    return _real_open(path, *given, **more)


def _io_open(file: Any, *given: Any, **more: Any) -> Any:
    """pathlib opens by this one."""
    require_there(file)
    return _real_io_open(file, *given, **more)
