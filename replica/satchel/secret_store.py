"""The secrets of this home: which store keeps them, and what the warehouse's doors get of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from satchel.errors import Refused
from satchel.passphrases import TypedPassphrases
from satchel.protection import KEYS_FOLDER, provider_of
from satchel.terminal import is_terminal

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.vault import KeyringStore, SecretStore, Vault

ASKED_S = 60.0
"""For so long somebody may look for the dialog of a keyring."""
UNASKED_S = 5.0
"""For so long a keyring is waited for where nobody can answer it."""
_FILES = ("vault.json", "vault.seen", "keyring.json")
"""Without one of these no secret was ever kept here."""
PASSWORDS = {
    "dsn": "warehouse.password",
    "admin_dsn": "warehouse.admin_password",
    "report_dsn": "warehouse.report_password",
}
"""A DSN's key in [warehouse] -> the secret with its password. The whole DSN may be one as well."""


def vault_of(settings: Settings, passphrases: TypedPassphrases | None = None) -> Vault:
    """The encrypted file, there or not. Raises ProviderUnavailable, FipsRefused."""
    from satchel_crypto.vault import Vault

    said = passphrases or passphrases_of(settings, terminal=False)
    return Vault(settings.home / KEYS_FOLDER, provider_of(settings), said)


def keyring_of(settings: Settings) -> KeyringStore:
    """The keyring's entries of this home, there or not. Raises Refused in FIPS mode."""
    from satchel_crypto.vault import KeyringStore

    if settings.fips_mode and not settings.secrets_attested:
        raise Refused(
            "in FIPS mode secrets are kept in the encrypted file: no keyring is validated",
            hint='set [secrets] store = "file", or attest the keyring: attested = "why"',
            field="secrets.store",
        )
    timeout_s = ASKED_S if is_terminal(sys.stdin) else UNASKED_S
    home = settings.home.resolve()
    return KeyringStore(settings.home / KEYS_FOLDER, home, timeout_s=timeout_s)


def store_of(
    settings: Settings, passphrases: TypedPassphrases | None = None, *, making: bool = False
) -> SecretStore:
    """The store of this home. `auto` stays with what is in use; `making` lets it choose the first.

    Raises Refused for a keyring in FIPS mode that nobody attested.
    """
    vault = vault_of(settings, passphrases)
    if settings.secrets_store == "file" or (settings.secrets_store == "auto" and vault.there):
        return vault
    if settings.secrets_store == "keyring":
        return keyring_of(settings)
    if settings.fips_mode and not settings.secrets_attested:
        return vault
    keyring = keyring_of(settings)
    return keyring if keyring.there or (making and _has_keyring()) else vault


def passphrases_of(settings: Settings, *, terminal: bool) -> TypedPassphrases:
    """From the file that the settings name, else from somebody at the `terminal`."""
    file = settings.secrets_passphrase_file
    return TypedPassphrases(file=file, new_file=file, terminal=terminal)


def has_secret(settings: Settings, name: str) -> bool:
    """Whether a secret is there; asks for no passphrase, and costs nothing where there is none."""
    if not any((settings.home / KEYS_FOLDER / file).exists() for file in _FILES):
        return False
    return any(one.name == name for one in store_of(settings).list())


def secret_of(settings: Settings, name: str) -> Callable[[], str | None]:
    """Asks for a secret when it is called, and once: its value, or None where there is none.

    A passphrase is asked for at a terminal only. Raises VaultLocked, VaultDamaged.
    """
    lock = threading.Lock()
    found: list[str | None] = []

    def ask() -> str | None:
        with lock:
            if not found:
                found.append(_value(settings, name))
            return found[0]

    return ask


def _value(settings: Settings, name: str) -> str | None:
    if not has_secret(settings, name):
        return None
    said = passphrases_of(settings, terminal=is_terminal(sys.stdin))
    return store_of(settings, said).get(name)


def state(settings: Settings) -> dict[str, Any]:
    """{place, names, opens}: where secrets are kept, how many, and how they open, in words.

    `opens` is "", where there are none. The vault is really opened, if nobody has to be asked.
    """
    store = store_of(settings)
    listed = store.list()
    told = {"place": store.place, "names": len(listed)}
    if not listed:
        return told | {"opens": ""}
    vault = vault_of(settings)
    if store.place != vault.place:
        return told | {"opens": "by the session's keyring"}
    if vault.opens_by_device:
        vault.prove()
        return told | {"opens": "by this machine"}
    if settings.secrets_passphrase_file:
        vault.prove()
        return told | {"opens": f"by the passphrase in {settings.secrets_passphrase_file}"}
    return told | {"opens": "by a passphrase only"}


def notes_for_timers(settings: Settings) -> list[str]:
    """What stands in the way of a program that wants a secret and can ask nobody."""
    wanted = ("warehouse.dsn", PASSWORDS["dsn"])
    if not any(has_secret(settings, name) for name in wanted):
        return []
    vault = vault_of(settings)
    if store_of(settings).place != vault.place:
        return ["a timer reads the keyring only while you are logged in, and it is unlocked"]
    if vault.opens_by_device or settings.secrets_passphrase_file:
        return []
    return ["a timer cannot be asked for the vault's passphrase: run `satchel secret unlock`"]


def _has_keyring() -> bool:
    from satchel_crypto.errors import VaultLocked
    from satchel_crypto.vault.keyring_store import usable_backend

    try:
        return usable_backend(UNASKED_S) is not None
    except VaultLocked:  # it did not answer in time: a keyring like that is none
        return False
