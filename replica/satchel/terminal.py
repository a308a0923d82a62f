"""Whether somebody sits at a stream: what is shown then is for eyes, and questions may be asked.

Windows calls its `NUL` a terminal too (isatty of its C library: any character device). Hosts, the
Task Scheduler and services start programs on it: a question there would never be answered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO


def is_terminal(
    stream: TextIO | None,
    platform: str = sys.platform,
    is_console: Callable[[int], bool] | None = None,
) -> bool:
    """Whether this stream is a terminal. `is_console` asks Windows about a descriptor."""
    if stream is None or not stream.isatty():
        return False
    if platform != "win32":
        return True
    try:
        descriptor = stream.fileno()
    except OSError:  # it is no file of the system, and says of itself what it is
        return True
    return (is_console or _is_console)(descriptor)


def _is_console(descriptor: int) -> bool:
    """GetConsoleMode answers for consoles only, not for `NUL`."""
    import ctypes
    import importlib

    handles: Any = importlib.import_module("msvcrt")
    windows: Any = getattr(ctypes, "windll")  # noqa: B009 - ctypes has it on Windows only
    mode = ctypes.c_uint32()
    handle = ctypes.c_void_p(handles.get_osfhandle(descriptor))
    return bool(windows.kernel32.GetConsoleMode(handle, ctypes.byref(mode)))
