"""Which key seals what in a vault, and what each ciphertext is bound to.

data key  random; seals the secrets (a name and its version each), MACs the table
KEK       of the passphrase, its id is the salt; seals an empty check and the data key
device    of a file of this machine, its id is the vault's; seals the data key
"""

from __future__ import annotations

from dataclasses import replace

from satchel_crypto import envelope
from satchel_crypto.canonical import canonical
from satchel_crypto.envelope import Keys, Purpose, SymmetricKey
from satchel_crypto.errors import KeyMissing, PassphraseWrong, SealedInvalid, VaultDamaged
from satchel_crypto.provider import Provider
from satchel_crypto.vault.cost import SALT_BYTES, Cost
from satchel_crypto.vault.document import Document, Row, Slot


def kek(provider: Provider, cost: Cost, salt: bytes, passphrase: bytes) -> SymmetricKey:
    """The key of a passphrase: 0.3 s of work."""
    return SymmetricKey(salt, cost.key(provider, passphrase, salt))


def new_kek(provider: Provider, cost: Cost, passphrase: bytes) -> SymmetricKey:
    """The key of a passphrase with a fresh salt."""
    return kek(provider, cost, provider.random(SALT_BYTES), passphrase)


def slot(
    provider: Provider, cost: Cost, by: SymmetricKey, data_key: SymmetricKey, vault_id: bytes
) -> Slot:
    """The data key, wrapped by a KEK."""
    check = envelope.seal(provider, by, b"", Purpose.WRAPPED_KEY, _context(vault_id, "check"))
    wrapped = wrap(provider, by, data_key, vault_id, "passphrase")
    return Slot(cost=cost, salt=by.id, check=check, wrapped=wrapped)


def require_kek(provider: Provider, by: SymmetricKey, document: Document) -> None:
    """Raises PassphraseWrong where the check does not open."""
    context = _context(document.vault_id, "check")
    sealed = document.passphrase.check
    if _opened(provider, by, sealed, Purpose.WRAPPED_KEY, context) is None:
        raise PassphraseWrong(
            "the passphrase does not open this vault",
            hint="try again; without it, and without a backup, what the vault holds is lost",
            field="passphrase",
        )


def wrap(
    provider: Provider, by: SymmetricKey, data_key: SymmetricKey, vault_id: bytes, way: str
) -> bytes:
    """The data key, sealed for one `way` to it."""
    context = _context(vault_id, way, data_key.id.hex())
    return envelope.seal(provider, by, data_key.secret, Purpose.WRAPPED_KEY, context)


def unwrap(
    provider: Provider, by: SymmetricKey, document: Document, wrapped: bytes, way: str
) -> SymmetricKey:
    """The data key. Raises VaultDamaged."""
    context = _context(document.vault_id, way, document.key_id.hex())
    found = _opened(provider, by, wrapped, Purpose.WRAPPED_KEY, context)
    if found is None:
        raise VaultDamaged(f"the vault's key does not open by its {way}: the file was changed")
    return SymmetricKey(document.key_id, found)


def device_key(provider: Provider, secret: bytes, vault_id: bytes) -> SymmetricKey:
    """The key that a secret of this machine gives for one vault."""
    made = provider.hkdf(secret, salt=vault_id, info=b"satchel vault device")
    return SymmetricKey(vault_id, made)


def seal_row(
    provider: Provider, key: SymmetricKey, vault_id: bytes, name: str, value: str, row: Row
) -> Row:
    """`row` with the value sealed for this name and version."""
    context = _context(vault_id, "secret", key.id.hex(), name, row.version)
    plain = value.encode("utf-8")
    return replace(row, sealed=envelope.seal(provider, key, plain, Purpose.VAULT_SECRET, context))


def open_row(provider: Provider, key: SymmetricKey, vault_id: bytes, name: str, row: Row) -> str:
    """The value. Raises VaultDamaged."""
    context = _context(vault_id, "secret", key.id.hex(), name, row.version)
    plain = _opened(provider, key, row.sealed, Purpose.VAULT_SECRET, context)
    if plain is None:
        raise VaultDamaged(f"the secret {name!r} does not open: it was changed or moved")
    return plain.decode("utf-8")


def with_mac(provider: Provider, key: SymmetricKey, document: Document) -> Document:
    """The document with the MAC of its table."""
    return replace(document, mac=_mac(provider, key, document))


def require_mac(provider: Provider, key: SymmetricKey, document: Document) -> None:
    """Raises VaultDamaged where a row, a version or the revision is not as it was written."""
    if not provider.same(_mac(provider, key, document), document.mac):
        raise VaultDamaged("the vault's table was changed by somebody who does not have its key")


def _mac(provider: Provider, key: SymmetricKey, document: Document) -> bytes:
    own = provider.hkdf(key.secret, salt=document.vault_id, info=b"satchel vault table")
    return provider.mac(own, document.table())


def _opened(
    provider: Provider, key: SymmetricKey, sealed: bytes, purpose: Purpose, context: bytes
) -> bytes | None:
    """The plaintext, or None where the envelope, its key or its context does not fit."""
    try:
        return envelope.open(provider, Keys(key), sealed, purpose, context)
    except (SealedInvalid, KeyMissing):
        return None


def _context(vault_id: bytes, *parts: str | int) -> bytes:
    return canonical(["satchel vault", vault_id.hex(), *parts])
