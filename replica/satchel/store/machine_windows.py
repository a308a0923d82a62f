"""The id of a Windows machine: `MachineGuid` in the registry, drawn when Windows was installed."""

from __future__ import annotations

import importlib
from typing import Any

PLACE = r"SOFTWARE\Microsoft\Cryptography"


def machine_guid(winreg: Any = None) -> str:
    """The GUID as text; "" where the registry has none. `winreg` is the module of that name."""
    registry = winreg or importlib.import_module("winreg")
    # A 32-bit program must look where the 64-bit system wrote.
    access = registry.KEY_READ | registry.KEY_WOW64_64KEY
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, PLACE, 0, access) as key:
            return str(registry.QueryValueEx(key, "MachineGuid")[0])
    except OSError:
        return ""
