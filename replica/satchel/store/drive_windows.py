"""Whether a drive letter of Windows stands for a share of another machine: GetDriveTypeW."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

REMOTE = 4
"""DRIVE_REMOTE of fileapi.h."""


def _asked(root: str) -> int:
    windows: Any = getattr(ctypes, "windll")  # noqa: B009 - ctypes has it on Windows only
    return int(windows.kernel32.GetDriveTypeW(ctypes.c_wchar_p(root)))


def is_remote(drive: str, ask: Callable[[str], int] = _asked) -> bool:
    """Whether `C:` or a share's `\\\\server\\share` is of another machine."""
    return drive.startswith("\\\\") or (drive != "" and ask(f"{drive}\\") == REMOTE)
