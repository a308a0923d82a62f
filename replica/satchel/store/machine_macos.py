"""The id of a Mac: its hardware's UUID (`IOPlatformUUID`), asked by gethostuuid(2)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

WAIT_S = 1
"""gethostuuid(2) may have to ask the hardware; it takes no longer than this."""


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


def _gethostuuid() -> Callable[..., int]:
    function: Any = ctypes.CDLL(None).gethostuuid
    return function  # type: ignore[no-any-return]


def host_uuid(find: Callable[[], Callable[..., int]] = _gethostuuid) -> str:
    """32 hex digits; "" where the call is missing or fails (a sandbox may forbid it)."""
    uuid = (ctypes.c_ubyte * 16)()
    wait = _Timespec(WAIT_S, 0)
    try:
        failed = find()(uuid, ctypes.byref(wait))
    except (AttributeError, OSError):
        return ""
    return "" if failed else bytes(uuid).hex()
