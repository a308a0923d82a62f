"""CryptoError and its family: what the crypto package refuses or finds wrong.

CryptoError                 1
├── SealedInvalid           1  sealed bytes are damaged, forged, or were sealed for something else
├── KeyMissing              3  no key with that id is here
├── KeyInvalid              1  a key, or the file that holds it, cannot be used
├── SignatureInvalid        1  a signature does not fit what it stands under
├── SignerUnknown           4  a signature fits, and its signer is not trusted here
├── AlgorithmRefused        4  this provider, or the FIPS mode, does not have that algorithm
├── ProviderUnavailable     1  the library of a provider is not installed or cannot be loaded
├── FipsRefused             4  FIPS mode was asked for and cannot be proved
│   └── SelfTestFailed      4  a known answer came out wrong: this process does no more crypto
├── SecretMissing           3  the vault holds no secret of that name
├── VaultLocked             4  the vault needs a passphrase and none was given
│   └── PassphraseWrong     4  the passphrase does not open this vault
├── VaultDamaged            1  the vault is not as satchel wrote it
├── AuditBroken             1  the audit chain was changed, cut or forged
└── NetworkRefused          4  the network policy keeps this path closed
"""

from __future__ import annotations


class CryptoError(Exception):
    """The crypto provider or its policy said no. `hint` tells how to mend it.

    No message, hint or field ever holds a key, a secret, a passphrase or a plaintext.
    """

    code = "crypto_failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.field = field


class SealedInvalid(CryptoError):
    """Sealed bytes are damaged, forged, or were sealed for something else."""

    code = "sealed_invalid"


class KeyMissing(CryptoError):
    """No key with that id is here."""

    code = "key_missing"
    exit_code = 3


class KeyInvalid(CryptoError):
    """A key, or the file that holds it, cannot be used."""

    code = "key_invalid"


class SignatureInvalid(CryptoError):
    """A signature does not fit what it stands under."""

    code = "signature_invalid"


class SignerUnknown(CryptoError):
    """A signature fits, and its signer is not trusted here."""

    code = "signer_unknown"
    exit_code = 4


class AlgorithmRefused(CryptoError):
    """This provider, or the FIPS mode, does not have that algorithm."""

    code = "algorithm_refused"
    exit_code = 4


class ProviderUnavailable(CryptoError):
    """The library of a provider is not installed or cannot be loaded."""

    code = "provider_unavailable"


class FipsRefused(CryptoError):
    """FIPS mode was asked for and cannot be proved."""

    code = "fips_refused"
    exit_code = 4


class SelfTestFailed(FipsRefused):
    """A known answer came out wrong: this process does no more crypto."""

    code = "selftest_failed"


class SecretMissing(CryptoError):
    """The vault holds no secret of that name."""

    code = "secret_missing"
    exit_code = 3


class VaultLocked(CryptoError):
    """The vault needs a passphrase and none was given."""

    code = "vault_locked"
    exit_code = 4


class PassphraseWrong(VaultLocked):
    """The passphrase does not open this vault."""

    code = "passphrase_wrong"


class VaultDamaged(CryptoError):
    """The vault is not as satchel wrote it."""

    code = "vault_damaged"


class AuditBroken(CryptoError):
    """The audit chain was changed, cut or forged."""

    code = "audit_broken"


class NetworkRefused(CryptoError):
    """A network path is closed; no socket was opened."""

    code = "network_refused"
    exit_code = 4
