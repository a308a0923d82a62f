"""What it costs to make a key of a passphrase: the parameters, their bounds, the key."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from satchel_crypto.algorithms import PBKDF2_ITERATIONS_MIN, Derivation
from satchel_crypto.errors import KeyInvalid, VaultDamaged
from satchel_crypto.provider import Provider

SALT_BYTES = 16
PASSPHRASE_CHARACTERS_MIN = 8
PASSPHRASE_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Parameters of a key derivation; `passes` are PBKDF2's iterations."""

    derivation: Derivation
    passes: int
    memory_kib: int = 0

    def key(self, provider: Provider, passphrase: bytes, salt: bytes) -> bytes:
        """32 bytes. Raises AlgorithmRefused where the provider does not derive that way."""
        if self.derivation is Derivation.ARGON2ID:
            return provider.argon2id(
                passphrase, salt=salt, passes=self.passes, memory_kib=self.memory_kib
            )
        return provider.pbkdf2(passphrase, salt=salt, iterations=self.passes)


PBKDF2 = Cost(derivation=Derivation.PBKDF2_SHA256, passes=PBKDF2_ITERATIONS_MIN)
ARGON2 = Cost(derivation=Derivation.ARGON2ID, passes=3, memory_kib=64 * 1024)
"""RFC 9106, 4: the second recommended option, with one lane."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Between which costs a file is believed: below it is weak, above it is meant to hang us.

    The floor of Argon2id is OWASP's: 19 MiB, 2 passes.
    """

    iterations_min: int = PBKDF2_ITERATIONS_MIN
    iterations_max: int = 10_000_000
    passes_min: int = 2
    passes_max: int = 10
    memory_kib_min: int = 19 * 1024
    memory_kib_max: int = 256 * 1024

    def require(self, cost: Cost) -> None:
        """Raises VaultDamaged for a cost outside."""
        if cost.derivation is Derivation.PBKDF2_SHA256:
            fits = self.iterations_min <= cost.passes <= self.iterations_max
            fits = fits and cost.memory_kib == 0
        elif cost.derivation is Derivation.ARGON2ID:
            fits = self.passes_min <= cost.passes <= self.passes_max
            fits = fits and self.memory_kib_min <= cost.memory_kib <= self.memory_kib_max
        else:
            fits = False
        if not fits:
            raise VaultDamaged(
                "the vault asks for a key derivation that satchel would not have written"
            )


BOUNDS = Bounds()


def best_of(provider: Provider) -> Cost:
    """Argon2id where the provider has it, else PBKDF2."""
    return ARGON2 if Derivation.ARGON2ID in provider.algorithms else PBKDF2


def prepared(passphrase: str, *, new: bool = False) -> bytes:
    """UTF-8 of a passphrase in NFC, as two keyboards may spell one letter in two ways.

    Raises KeyInvalid for one that cannot be used, or a new one that is too short.
    """
    text = unicodedata.normalize("NFC", passphrase)
    if not text or any("\ud800" <= one <= "\udfff" or one == "\0" for one in text):
        raise KeyInvalid("the passphrase is empty, or has a NUL or a lone surrogate")
    if new and len(text) < PASSPHRASE_CHARACTERS_MIN:
        raise KeyInvalid(
            f"the passphrase is too short: {PASSPHRASE_CHARACTERS_MIN} characters or more",
            hint="five words or more, drawn at random, are a good one",
        )
    encoded = text.encode("utf-8")
    if len(encoded) > PASSPHRASE_BYTES_MAX:
        raise KeyInvalid(f"the passphrase has more than {PASSPHRASE_BYTES_MAX} bytes")
    return encoded
