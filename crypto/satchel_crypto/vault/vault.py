"""The vault as a file: secrets under a data key, which a passphrase or this machine opens.

The slow part, the key of the passphrase, is made before the lock is taken; under the lock the file
is read again, changed and replaced whole. A process killed at any step leaves the old file or the
new one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.envelope import SymmetricKey
from satchel_crypto.errors import CryptoError, VaultDamaged
from satchel_crypto.provider import Provider
from satchel_crypto.vault import sealing
from satchel_crypto.vault.cost import BOUNDS, Bounds, Cost, best_of, prepared
from satchel_crypto.vault.document import ID_BYTES, Document, Row
from satchel_crypto.vault.file import VaultFile
from satchel_crypto.vault.store import (
    NAMES_MAX,
    Listed,
    missing,
    require_name,
    require_value,
)

DEVICE_KEY = "vault"
_DEVICE_KEY_BYTES = 32


class Passphrases(Protocol):
    """Where passphrases come from; asked only when one is needed."""

    def current(self) -> str:
        """The one that opens the vault. Raises VaultLocked where none is to be had."""
        ...

    def new(self) -> str:
        """The one that shall open it. Raises VaultLocked where none is to be had."""
        ...


@dataclass(frozen=True)
class Vault:
    """The vault in one folder. `cost` and `bounds` are of tests: a derivation takes 0.2 s."""

    folder: Path
    provider: Provider
    passphrases: Passphrases = field(repr=False)
    cost: Cost | None = None
    bounds: Bounds = BOUNDS
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    @property
    def place(self) -> str:
        """Where it lies."""
        return str(self._file.path)

    @property
    def there(self) -> bool:
        """Whether there is, or was, one."""
        return self._file.there

    @property
    def opens_by_device(self) -> bool:
        """Whether this machine opens it without a passphrase. Raises VaultDamaged."""
        document = self._file.read()
        return document is not None and self._device_secret(document) is not None

    def set(self, name: str, value: str) -> Listed:
        """Keep a value; the first one makes the vault. Raises VaultLocked, VaultDamaged."""
        require_name(name)
        require_value(value)

        def change(document: Document, key: SymmetricKey) -> Document:
            old = document.rows.get(name)
            if old is None and len(document.rows) >= NAMES_MAX:
                raise CryptoError(f"the vault holds {NAMES_MAX} secrets: no more fit")
            version = 1 if old is None else old.version + 1
            row = Row(version=version, updated_at=self.now_ms(), sealed=b"")
            row = sealing.seal_row(self.provider, key, document.vault_id, name, value, row)
            return replace(document, rows={**document.rows, name: row})

        return _listed(name, self._changed(change, make=True).rows[name])

    def get(self, name: str) -> str:
        """The value. Raises SecretMissing, VaultLocked, PassphraseWrong, VaultDamaged."""
        require_name(name)
        document = self._file.read()
        if document is None or name not in document.rows:
            raise missing(name, self.place)
        try:
            key = self._key(document)
            row = document.rows[name]
            return sealing.open_row(self.provider, key, document.vault_id, name, row)
        except VaultDamaged as error:
            raise self._file.damaged(error) from None

    def list(self) -> list[Listed]:
        """Every name in order. Proved by nothing but the checksum: no key is asked for."""
        document = self._file.read()
        rows = {} if document is None else document.rows
        return [_listed(name, rows[name]) for name in sorted(rows)]

    def prove(self) -> None:
        """Open it, and prove every row. Raises VaultLocked, PassphraseWrong, VaultDamaged."""
        document = self._required()
        key = self._key(document)
        try:
            for name, row in document.rows.items():
                sealing.open_row(self.provider, key, document.vault_id, name, row)
        except VaultDamaged as error:
            raise self._file.damaged(error) from None

    def delete(self, name: str) -> Listed:
        """Remove a name and its value. Raises SecretMissing and as `get`."""
        require_name(name)
        if name not in {one.name for one in self.list()}:
            raise missing(name, self.place)  # before a passphrase is asked for
        removed: list[Listed] = []

        def change(document: Document, _: SymmetricKey) -> Document:
            if name not in document.rows:
                raise missing(name, self.place)
            removed.append(_listed(name, document.rows[name]))
            rest = {other: row for other, row in document.rows.items() if other != name}
            return replace(document, rows=rest)

        self._changed(change)
        return removed[-1]

    def unlock(self) -> None:
        """Let this machine open the vault without a passphrase from now on, for its timers."""

        def change(document: Document, key: SymmetricKey) -> Document:
            secret = self._secrets.get_or_make(
                DEVICE_KEY, lambda: self.provider.random(_DEVICE_KEY_BYTES)
            )
            return replace(document, device=self._wrapped_for_device(document, key, secret))

        self._changed(change)

    def lock(self) -> None:
        """Take `unlock` back: a new data key, that the passphrase alone opens."""
        self.rotate(device=False)
        self._secrets.remove(DEVICE_KEY)

    def rotate(self, *, new_passphrase: bool = False, device: bool = True) -> None:
        """A new data key and a new salt, and a new passphrase where wanted; all or nothing.

        The passphrase is needed even where this machine opens the vault: it wraps the new key.
        With `device` this machine still opens it, if it did.
        """
        before = self._required()
        old = prepared(self.passphrases.current())
        old_kek, key = self._by_passphrase(before, old)
        new = prepared(self.passphrases.new(), new=True) if new_passphrase else old
        cost = self.cost or best_of(self.provider)
        new_kek = sealing.new_kek(self.provider, cost, new)
        with self._file.locked():
            document = self._required()
            if document.passphrase.salt != old_kek.id:
                _, key = self._by_passphrase(document, old)
            else:
                key = self._unwrapped(document, old_kek)
            self._write(*self._rekeyed(document, key, new_kek, cost, device=device))

    # ---- one change ------------------------------------------------------------------------------

    def _changed(
        self, change: Callable[[Document, SymmetricKey], Document], *, make: bool = False
    ) -> Document:
        """Read, change and replace under the lock, the key made before; the vault as written."""
        before = self._file.read() if make else self._required()
        made = self._made() if before is None else None
        key = None if before is None else self._key(before)
        with self._file.locked():
            document = self._file.read()
            if document is None:
                document, key = made or self._made()
            elif key is None or key.id != document.key_id:
                key = self._key(document)  # another process has made the vault, or rotated it
            else:
                self._require_mac(document, key)
            return self._write(change(document, key), key)

    def _write(self, document: Document, key: SymmetricKey) -> Document:
        grown = replace(document, revision=document.revision + 1)
        written = sealing.with_mac(self.provider, key, grown)
        self._file.replace(written)
        return written

    def _made(self) -> tuple[Document, SymmetricKey]:
        """An empty vault that is not written yet, and its data key."""
        passphrase = prepared(self.passphrases.new(), new=True)
        cost = self.cost or best_of(self.provider)
        kek = sealing.new_kek(self.provider, cost, passphrase)
        key, vault_id = SymmetricKey.new(self.provider), self.provider.random(ID_BYTES)
        slot = sealing.slot(self.provider, cost, kek, key, vault_id)
        return Document(vault_id=vault_id, revision=0, key_id=key.id, passphrase=slot), key

    def _rekeyed(
        self, document: Document, key: SymmetricKey, kek: SymmetricKey, cost: Cost, *, device: bool
    ) -> tuple[Document, SymmetricKey]:
        """The same secrets under a new data key, wrapped by `kek`; and that data key."""
        new, vault_id = SymmetricKey.new(self.provider), document.vault_id
        rows = {}
        for name, row in document.rows.items():
            value = sealing.open_row(self.provider, key, vault_id, name, row)
            rows[name] = sealing.seal_row(self.provider, new, vault_id, name, value, row)
        secret = self._device_secret(document) if device else None
        wrapped = None if secret is None else self._wrapped_for_device(document, new, secret)
        slot = sealing.slot(self.provider, cost, kek, new, vault_id)
        made = replace(document, key_id=new.id, passphrase=slot, device=wrapped, rows=rows)
        return made, new

    # ---- ways to the data key --------------------------------------------------------------------

    def _key(self, document: Document) -> SymmetricKey:
        """The data key, by this machine if it may, else by the passphrase; the table is proved."""
        secret = self._device_secret(document)
        if secret is None or document.device is None:
            return self._by_passphrase(document, prepared(self.passphrases.current()))[1]
        by = sealing.device_key(self.provider, secret, document.vault_id)
        try:
            key = sealing.unwrap(self.provider, by, document, document.device, "device")
        except VaultDamaged as error:
            raise self._file.damaged(error) from None
        self._require_mac(document, key)
        return key

    def _by_passphrase(
        self, document: Document, passphrase: bytes
    ) -> tuple[SymmetricKey, SymmetricKey]:
        """(KEK, data key), the table proved. Raises PassphraseWrong, VaultDamaged."""
        slot = document.passphrase
        kek = sealing.kek(self.provider, slot.cost, slot.salt, passphrase)
        sealing.require_kek(self.provider, kek, document)
        return kek, self._unwrapped(document, kek)

    def _unwrapped(self, document: Document, kek: SymmetricKey) -> SymmetricKey:
        wrapped = document.passphrase.wrapped
        try:
            key = sealing.unwrap(self.provider, kek, document, wrapped, "passphrase")
        except VaultDamaged as error:
            raise self._file.damaged(error) from None
        self._require_mac(document, key)
        return key

    def _require_mac(self, document: Document, key: SymmetricKey) -> None:
        try:
            sealing.require_mac(self.provider, key, document)
        except VaultDamaged as error:
            raise self._file.damaged(error) from None

    def _device_secret(self, document: Document) -> bytes | None:
        """This machine's key, where the vault may be opened by it and it is here."""
        return None if document.device is None else self._secrets.get(DEVICE_KEY)

    def _wrapped_for_device(self, document: Document, key: SymmetricKey, secret: bytes) -> bytes:
        by = sealing.device_key(self.provider, secret, document.vault_id)
        return sealing.wrap(self.provider, by, key, document.vault_id, "device")

    def _required(self) -> Document:
        document = self._file.read()
        if document is None:
            raise CryptoError(
                f"there is no vault yet at {self.place}",
                hint="`satchel secret set NAME` makes one",
            )
        return document

    @property
    def _file(self) -> VaultFile:
        return VaultFile(self.folder, self.provider, self.bounds)

    @property
    def _secrets(self) -> DeviceSecrets:
        return DeviceSecrets(self.folder)


def _listed(name: str, row: Row) -> Listed:
    return Listed(name=name, version=row.version, updated_at=row.updated_at)
