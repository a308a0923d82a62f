"""`vault.json` in its folder: read whole, replaced whole, one writer at a time, never an older one.

`vault.seen` beside it remembers vault, revision and MAC of the last change, so that an older file
put back is found, one that was forged before a passphrase is asked, and one that was deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from satchel_crypto import private_file
from satchel_crypto.canonical import canonical
from satchel_crypto.errors import CryptoError, VaultDamaged
from satchel_crypto.provider import Provider
from satchel_crypto.vault.cost import Bounds
from satchel_crypto.vault.document import FILE_BYTES_MAX, Document, parse

NAME = "vault.json"
SEEN = "vault.seen"
LOCK = "vault.lock"
_SEEN_BYTES_MAX = 1024


@dataclass(frozen=True, slots=True)
class VaultFile:
    """The vault of one folder."""

    folder: Path
    provider: Provider
    bounds: Bounds

    @property
    def path(self) -> Path:
        """Of the vault."""
        return self.folder / NAME

    @property
    def there(self) -> bool:
        """Whether a vault is, or was, in this folder."""
        return self.path.exists() or (self.folder / SEEN).exists()

    def read(self) -> Document | None:
        """The vault, or None where there never was one.

        Raises VaultDamaged for a file that is damaged, foreign, older than the last change or gone;
        KeyInvalid for one that others may read.
        """
        seen = self._seen()  # first: a writer replaces the vault, then this
        data = private_file.read(self.path, FILE_BYTES_MAX)
        if data is None:
            if seen is not None:
                raise self._damaged("it is gone, and there was one", self._forget())
            return None
        try:
            found = parse(data, self.provider, self.bounds)
        except VaultDamaged as error:
            raise self._damaged(str(error), error.hint) from None
        if seen is not None:
            self._require_newest(found, *seen)
        return found

    def replace(self, document: Document) -> None:
        """Write it, whole and durable, mode 0600; its revision is the last one from now on.

        To be called under `locked`.
        """
        data = document.to_bytes(self.provider)
        if len(data) > FILE_BYTES_MAX:
            raise CryptoError(f"the vault is full: it would have more than {FILE_BYTES_MAX} bytes")
        self._sweep()
        private_file.replace(self.path, data)
        told = [document.vault_id.hex(), document.revision, document.mac.hex()]
        private_file.replace(self.folder / SEEN, canonical(told))

    def _sweep(self) -> None:
        """Remove what a writer that was killed has left; there is no other while we are locked."""
        for part in [*self.folder.glob(f".{NAME}.*"), *self.folder.glob(f".{SEEN}.*")]:
            part.unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time, of all threads and processes."""
        with one_writer(self.folder):
            yield

    def damaged(self, error: VaultDamaged) -> VaultDamaged:
        """An error with the path of the vault before it."""
        return self._damaged(str(error), error.hint)

    def _seen(self) -> tuple[str, int, str] | None:
        data = private_file.read(self.folder / SEEN, _SEEN_BYTES_MAX)
        if data is None:
            return None
        try:
            match json.loads(data):
                case [str(vault_id), int(revision), str(mac)]:
                    return vault_id, revision, mac
        except (ValueError, RecursionError):
            pass
        raise self._damaged(f"{SEEN} beside it is not as satchel wrote it", self._forget())

    def _require_newest(self, found: Document, vault_id: str, revision: int, mac: str) -> None:
        if found.vault_id.hex() != vault_id:
            raise self._damaged("another vault stands in its place", self._forget())
        if found.revision < revision:
            raise self._damaged(
                f"it is older than this machine's last change to it"
                f" ({found.revision}, not {revision})",
                self._forget(),
            )
        if found.revision == revision and found.mac.hex() != mac:
            raise self._damaged("it is not what satchel wrote last", self._forget())

    def _forget(self) -> str:
        return (
            f"restore the newest backup; if you put this state here yourself, remove"
            f" {self.folder / SEEN}"
        )

    def _damaged(self, why: str, hint: str) -> VaultDamaged:
        return VaultDamaged(f"{self.path}: {why}", hint=hint or "restore it from a backup")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """One writer of the secrets in a folder at a time, of all threads and processes."""
    with private_file.locked(folder / LOCK):
        yield
