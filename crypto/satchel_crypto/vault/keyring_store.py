"""Secrets in the keyring of the operating system; beside it an index of names, without values.

The library is imported when a value is needed. A backend that keeps nothing, or keeps it in the
clear, is no keyring. No call waits for longer than `timeout_s`: a locked keyring asks its user, and
where nobody sits that would be for ever.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from satchel_crypto import private_file
from satchel_crypto.canonical import INTEGER_MAX, canonical
from satchel_crypto.errors import CryptoError, SecretMissing, VaultDamaged, VaultLocked
from satchel_crypto.vault.file import one_writer
from satchel_crypto.vault.store import (
    NAME,
    NAMES_MAX,
    VERSION_MAX,
    Listed,
    missing,
    require_name,
    require_value,
)

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "satchel"
INDEX = "keyring.json"
PRIORITY_MIN = 1
"""What the library recommends; keyrings in plain files have less."""
_FORMAT = "satchel keyring index"
_INDEX_BYTES_MAX = 256 * 1024
Result = TypeVar("Result")


@dataclass(frozen=True)
class KeyringStore:
    """The keyring's entries of one home. `home` is in their names, as two homes may have one."""

    folder: Path
    home: Path
    timeout_s: float = 5.0
    now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000

    @property
    def place(self) -> str:
        """In words."""
        return "the keyring"

    @property
    def there(self) -> bool:
        """Whether this home keeps anything in it; the library is not asked."""
        return (self.folder / INDEX).exists()

    def set(self, name: str, value: str) -> Listed:
        """Keep a value. Raises VaultLocked where the keyring cannot be used now."""
        require_name(name)
        require_value(value)
        keyring = self._backend()
        with one_writer(self.folder):
            listed = self._index()
            if name not in listed and len(listed) >= NAMES_MAX:
                raise CryptoError(f"{self.place} holds {NAMES_MAX} secrets: no more fit")
            version = listed[name].version + 1 if name in listed else 1
            self._within(lambda: keyring.set_password(SERVICE, self._entry(name), value), "keep")
            kept = self._within(lambda: keyring.get_password(SERVICE, self._entry(name)), "read")
            if kept != value:
                raise CryptoError(
                    "the keyring does not give back what it was given",
                    hint='use the encrypted file: [secrets] store = "file"',
                )
            made = Listed(name=name, version=version, updated_at=self.now_ms())
            self._write({**listed, name: made})
        return made

    def get(self, name: str) -> str:
        """The value. Raises SecretMissing, VaultLocked."""
        require_name(name)
        if name not in self._index():
            raise missing(name, self.place)
        keyring = self._backend()
        value = self._within(lambda: keyring.get_password(SERVICE, self._entry(name)), "read")
        if value is None:
            raise SecretMissing(
                f"the secret {name!r} is gone from the keyring: it was deleted there",
                hint=f"`satchel secret set {name}` keeps it anew",
                field="name",
            )
        return value

    def list(self) -> list[Listed]:
        """Every name in order, by the index."""
        return sorted(self._index().values(), key=lambda one: one.name)

    def delete(self, name: str) -> Listed:
        """Remove a name and its value. Raises SecretMissing, VaultLocked."""
        require_name(name)
        keyring = self._backend()
        with one_writer(self.folder):
            listed = self._index()
            if name not in listed:
                raise missing(name, self.place)
            entry = self._entry(name)
            if self._within(lambda: keyring.get_password(SERVICE, entry), "read") is not None:
                self._within(lambda: keyring.delete_password(SERVICE, entry), "delete")
            self._write({other: one for other, one in listed.items() if other != name})
        return listed[name]

    def _entry(self, name: str) -> str:
        return f"{name} of {self.home}"

    def _backend(self) -> KeyringBackend:
        found = usable_backend(self.timeout_s)
        if found is None:
            raise VaultLocked(
                "there is no keyring in this session",
                hint="log in with a desktop session, or use the encrypted file: [secrets] store ="
                ' "file"',
            )
        return found

    def _within(self, call: Callable[[], Result], verb: str) -> Result:
        return within(self.timeout_s, call, f"the keyring cannot {verb} a secret")

    # ---- the index -------------------------------------------------------------------------------

    def _index(self) -> dict[str, Listed]:
        data = private_file.read(self.folder / INDEX, _INDEX_BYTES_MAX)
        if data is None:
            return {}
        try:
            document = json.loads(data)
            listed = [_listed(*one) for one in document["secrets"]]
            if document["format"] == _FORMAT and len(listed) <= NAMES_MAX:
                return {one.name: one for one in listed}
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
        raise VaultDamaged(
            f"{self.folder / INDEX} is not as satchel wrote it",
            hint="remove it and set the secrets anew; their values are in the keyring",
        )

    def _write(self, listed: dict[str, Listed]) -> None:
        rows = [[one.name, one.version, one.updated_at] for one in listed.values()]
        document = {"format": _FORMAT, "secrets": sorted(rows)}
        private_file.replace(self.folder / INDEX, canonical(document) + b"\n")


def usable_backend(timeout_s: float) -> KeyringBackend | None:
    """The session's keyring, or None where there is none that keeps secrets."""
    return within(timeout_s, _usable, "the keyring cannot be looked for")


def within(timeout_s: float, call: Callable[[], Result], failed: str) -> Result:
    """What `call` returns. Raises VaultLocked when it takes longer, or when the keyring refuses.

    Of an error of the keyring its kind is told and nothing else: it may quote what it was given.
    """
    answers: list[Result] = []
    kinds: list[str] = []

    def run() -> None:
        try:
            answers.append(call())
        except Exception as error:  # noqa: BLE001 (backends raise what they like: told below)
            kinds.append(type(error).__name__)

    # A daemon: a keyring that waits for its user must not keep the process from ending.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout_s)
    if answers:
        return answers[0]
    why = kinds[0] if kinds else f"no answer within {timeout_s:g} s"
    raise VaultLocked(
        f"{failed}: {why}",
        hint='unlock it in your session, or use the encrypted file: [secrets] store = "file"',
    )


def _usable() -> KeyringBackend | None:
    import keyring
    from keyring.backends.chainer import ChainerBackend

    found: Any = keyring.get_keyring()
    # The chain also tries keyrings in plain files; its first one is the session's.
    for one in found.backends if isinstance(found, ChainerBackend) else [found]:
        if _priority(one) >= PRIORITY_MIN:
            chosen: KeyringBackend = one
            return chosen
    return None


def _priority(backend: Any) -> float:
    try:
        return float(backend.priority)
    except RuntimeError:  # how a backend says that it does not work here
        return -1.0


def _listed(name: Any, version: Any, updated_at: Any) -> Listed:
    numbers = type(version) is int and type(updated_at) is int
    if not isinstance(name, str) or not NAME.fullmatch(name) or not numbers:
        raise ValueError("not as it was written")
    if not 1 <= version <= VERSION_MAX or not 0 <= updated_at <= INTEGER_MAX:
        raise ValueError("not as it was written")
    return Listed(name=name, version=version, updated_at=updated_at)
