"""The machine as the hosts see it: its system, its user's folders, the variables they heed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from satchel import config

EDITORS = ("Code", "Code - Insiders", "VSCodium")
"""Folders of Visual Studio Code and its kin; the first is where a new file goes."""


class Machine(NamedTuple):
    """`system` is as in `sys.platform`; `finds` tells whether a program is on the PATH."""

    system: str
    home: Path
    variables: Mapping[str, str]
    finds: Callable[[str], bool]

    @property
    def application_data(self) -> Path:
        """Where programs with a window keep their settings."""
        if self.system == "win32":
            return self._folder("APPDATA", self.home / "AppData" / "Roaming")
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        return self.xdg_config

    @property
    def xdg_config(self) -> Path:
        """Where programs of the terminal keep theirs, on every system."""
        return self._folder("XDG_CONFIG_HOME", self.home / ".config")

    def dotfolder(self, variable: str, name: str) -> Path:
        """`~/name`, unless a variable names another folder."""
        return self._folder(variable, self.home / name)

    def editors(self) -> list[Path]:
        """The user folders of the editors that are here; of the usual one if there is none."""
        users = [self.application_data / name / "User" for name in EDITORS]
        return [one for one in users if one.is_dir()] or users[:1]

    def _folder(self, variable: str, default: Path) -> Path:
        said = self.variables.get(variable, "").strip()
        return Path(said).expanduser() if said else default


def this_machine() -> Machine:
    """The one that we run on."""
    return Machine(
        sys.platform, Path.home(), config.environment(), lambda name: shutil.which(name) is not None
    )
