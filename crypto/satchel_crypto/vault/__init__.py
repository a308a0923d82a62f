"""The vault: named secrets of one machine, in its keyring or in one encrypted file; never synced.

Start at `vault.Vault`. docs/CRYPTO.md has the file's format and what it protects from.
"""

from satchel_crypto.vault.keyring_store import KeyringStore
from satchel_crypto.vault.store import Listed, SecretStore
from satchel_crypto.vault.vault import Passphrases, Vault

__all__ = ["KeyringStore", "Listed", "Passphrases", "SecretStore", "Vault"]
