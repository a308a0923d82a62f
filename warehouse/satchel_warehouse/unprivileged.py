"""Postgres refuses to run as root: the account that runs it instead, in containers and CI."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel_warehouse.errors import EmbeddedFailed

_NAMES = ("postgres", "nobody")


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs the server: a user and group id, or None for ourselves."""

    uid: int | None = None
    gid: int | None = None

    def process(self) -> dict[str, Any]:
        """Arguments for subprocess."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Hand a path over."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def account_for(data_dir: Path) -> Account:
    """Ourselves; under root the folder's owner, or `postgres`, or `nobody`, who then owns it."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return Account()
    import pwd

    owner = data_dir.stat()
    if owner.st_uid != 0:
        return Account(owner.st_uid, owner.st_gid)
    for name in _NAMES:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        account = Account(found.pw_uid, found.pw_gid)
        account.own(data_dir)
        return account
    raise EmbeddedFailed(
        "root cannot run Postgres, and this system has no user to run it as",
        hint=f"make one of the users {', '.join(_NAMES)}, or run as another user",
    )


def make_reachable(path: Path, account: Account) -> None:
    """Let the account pass through the folders above `path`: search (o+x) only, no reading."""
    if account.uid is None:
        return
    for parent in path.parents:
        mode = parent.stat().st_mode
        if parent.stat().st_uid != account.uid and not mode & stat.S_IXOTH:
            parent.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
