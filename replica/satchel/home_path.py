"""Which folder is the home, and whether it can be: Windows makes more of names than others do.

https://learn.microsoft.com/windows/win32/fileio/naming-a-file, …/maximum-file-path-limitation
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any

from satchel.errors import ConfigInvalid
from satchel.setting_values import refuse_blank, refuse_nul

PATH_CHARS_MAX = 259
"""Of a whole path on Windows, unless its registry allows long ones."""
BELOW_CHARS_MAX = 140
"""What the longest name below a home has, its folder with it: a vector file that is being made."""
_DEVICE = r"(?i:con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³])(\..*)?"
_NEVER = r'[<>"|?*\x00-\x1f]'
_SETTING = r"SYSTEM\CurrentControlSet\Control\FileSystem"


def home_of(flag: str | None, environ: Mapping[str, str]) -> tuple[Path, str]:
    """The replica's folder, and who said so. Raises ConfigInvalid."""
    if flag is not None:
        refuse_blank(flag, "home")
    given, origin = (flag, "flag") if flag else (environ.get("SATCHEL_HOME"), "env SATCHEL_HOME")
    if given and given.strip():
        refuse_nul(given, "home", origin)
        home = Path(given).expanduser().absolute()
        why, hint = refusal(home)
        if why:
            raise ConfigInvalid(f"{home} ({origin}): {why}", hint=hint, field="home")
        return home, origin
    from platformdirs import user_data_path  # 10 ms, and most processes are told their home

    return user_data_path("satchel", appauthor=False), "default"


def refusal(
    home: PurePath,
    platform: str = sys.platform,
    long_paths: Callable[[], bool] | None = None,
) -> tuple[str, str]:
    """Why this cannot be a home and what to do about it; two empty texts where it can.

    `long_paths` tells whether Windows allows long paths; it is asked only for a long one.
    """
    if platform != "win32":
        return "", ""
    for part in home.parts[1:]:
        if re.fullmatch(_DEVICE, part):
            return f"{part!r} is a device on Windows, not a folder", "give the folder another name"
        if part.endswith((".", " ")):
            return f"Windows drops the end of {part!r}", "give a name without a dot or blank at it"
        if found := re.search(_NEVER, part):
            return f"{part!r} has {found[0]!r}, which no name on Windows has", "leave it out"
    if len(str(home)) + BELOW_CHARS_MAX <= PATH_CHARS_MAX or (long_paths or _long_paths)():
        return "", ""
    room = PATH_CHARS_MAX - BELOW_CHARS_MAX
    return (
        f"a home on Windows has {room} characters at most, this one {len(str(home))}",
        "choose a shorter one, or set LongPathsEnabled = 1 in the registry of Windows",
    )


def _long_paths(winreg: Any = None) -> bool:
    """Whether Windows allows long paths; python.exe says by itself that it can take them."""
    registry = winreg or importlib.import_module("winreg")
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, _SETTING) as key:
            return bool(registry.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return False


def outside_profile(home: PurePath, profile: PurePath, platform: str = sys.platform) -> str:
    """Why other users of a Windows machine may read this home; "" where they may not.

    There a mode says nothing: a new folder takes over the rights of the one that it lies in, and
    only those below the user's profile are for the user alone.
    """
    if platform != "win32" or home.is_relative_to(profile):
        return ""
    return f"{home} is outside of {profile}: other users of this machine may read it"


def closing_command(home: PurePath, user: str) -> str:
    """What shuts others out of a home on Windows."""
    return f'icacls "{home}" /inheritance:r /grant:r "{user}:(OI)(CI)F"'
