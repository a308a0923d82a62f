"""Shows modules of ours another Python than the one that runs them; libraries keep theirs."""

from __future__ import annotations

import builtins
import errno
import os
import re
import sys
import types
import warnings
from collections.abc import Mapping
from typing import Any

LINUX_FILES = ("/proc/", "/sys/", "/run/", "/etc/machine-id", "/var/lib/dbus")
OURS = ("satchel", "satchel_crypto", "satchel_sync", "satchel_warehouse")


class Shown(types.ModuleType):
    """A module as another system has it: some names stand for others, some are missing."""

    def __init__(self, real: types.ModuleType, missing: str = "(?!)", **others: Any) -> None:
        super().__init__(real.__name__)
        object.__setattr__(self, "_real", real)
        object.__setattr__(self, "_missing", re.compile(missing))
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        if self._missing.fullmatch(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r} there")
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


def show(shown: Mapping[str, types.ModuleType], missing: frozenset[str]) -> None:
    """From now on modules of ours import these instead, and those not at all."""
    real_import = builtins.__import__

    def imported(name: str, importer: Any = None, *given: Any, **more: Any) -> Any:
        if importer is not None and is_ours(importer.get("__name__", "")):
            if name in missing:
                raise ModuleNotFoundError(f"No module named {name!r} there", name=name)
            if name in shown:
                return shown[name]
        return real_import(name, importer, *given, **more)

    builtins.__import__ = imported
    warnings.filterwarnings("ignore", category=EncodingWarning)
    warnings.filterwarnings("error", category=EncodingWarning, module=r"satchel")


def require_there(path: Any) -> None:
    """Raises OSError for a file of the system that only Linux has."""
    if not isinstance(path, int) and os.fsdecode(path).startswith(LINUX_FILES):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))


def is_ours(module: str) -> bool:
    """Whether a module is of satchel's packages."""
    return module.partition(".")[0] in OURS


def is_ours_calling(depth: int = 1) -> bool:
    """Whether the function that called the caller is in a module of ours."""
    return is_ours(sys._getframe(depth + 1).f_globals.get("__name__", ""))
