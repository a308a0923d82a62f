"""Secrets of this machine that need no passphrase: the audit key and its private keys.

A hook cannot ask for a passphrase, and deriving a key takes 0.3 s; so these lie in files that only
their owner can read, one secret a file, in `keys/` of the home. Not in the keyring: to load its
library takes 0.1 s and its daemon may ask somebody, both of which every hook would pay for. On
Windows a file has no mode: who may read it is what the ACL of the user's profile says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from satchel_crypto import private_file
from satchel_crypto.errors import KeyInvalid

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
SECRET_BYTES_MAX = 4096


@dataclass(frozen=True)
class DeviceSecrets:
    """The secrets in one folder; any number of processes may ask at once."""

    folder: Path

    def get(self, name: str) -> bytes | None:
        """A secret, or None. Raises KeyInvalid for a file that others may read, or no file."""
        path = self._path(name)
        return _whole(path, private_file.read(path, SECRET_BYTES_MAX))

    def get_or_make(self, name: str, make: Callable[[], bytes]) -> bytes:
        """A secret, made where there is none; of several processes at once the first one wins."""
        path = self._path(name)
        found = private_file.read(path, SECRET_BYTES_MAX)
        if not found:
            private_file.add(path, make())
            found = private_file.read(path, SECRET_BYTES_MAX)
        secret = _whole(path, found)
        if secret is None:
            raise KeyInvalid(f"the key {path} vanished while it was made")
        return secret

    def remove(self, name: str) -> None:
        """Remove a secret, if there is one; what only it opens is lost. Raises KeyInvalid."""
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise KeyInvalid(f"the key {path} cannot be removed: {error.strerror}") from error
        private_file.settle(path.parent)

    def names(self) -> list[str]:
        """The names of all secrets."""
        suffix = ".key"
        found = sorted(self.folder.glob(f"*{suffix}"))
        return [path.name.removesuffix(suffix) for path in found]

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise KeyInvalid(f"{name!r} cannot be the name of a key")
        return self.folder / f"{name}.key"


def _whole(path: Path, secret: bytes | None) -> bytes | None:
    """The secret as it was read. Raises KeyInvalid for one that no satchel made."""
    if secret is not None and not 16 <= len(secret) <= SECRET_BYTES_MAX:
        raise KeyInvalid(
            f"the key {path} is damaged: it has {len(secret)} bytes",
            hint="restore it from a backup; what only it opens is lost without it",
        )
    return secret
