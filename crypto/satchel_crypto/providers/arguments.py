"""What every provider requires of its arguments before a library sees them.

No message holds an argument: it tells the length that came and the one that is wanted.
"""

from __future__ import annotations

from satchel_crypto.algorithms import (
    KEY_BYTES,
    NONCE_BYTES,
    PRIVATE_BYTES,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    TAG_BYTES,
    Agreement,
    Algorithm,
    Cipher,
    Signature,
)
from satchel_crypto.errors import AlgorithmRefused, FipsRefused, KeyInvalid, SealedInvalid
from satchel_crypto.fips import active
from satchel_crypto.providers import edwards

MAC_KEY_BYTES_MIN = 16
HKDF_BYTES_MAX = 255 * 32
"""RFC 5869, 2.3: 255 blocks of SHA-256."""
DERIVED_BYTES_MAX = 1024
ARGON2_SALT_BYTES = 16
ARGON2_DERIVED_BYTES_MIN = 16
ARGON2_PASSES_MAX = 64
ARGON2_MEMORY_KIB = (8, 2**20)
"""Least and most; a foreign file may ask for no more than 1 GiB."""
ITERATIONS_MAX = 10_000_000
"""Some seconds; a foreign file may ask for no more."""
FIPS_SALT_BYTES_MIN = 16
FIPS_ITERATIONS_MIN = 1000
"""Both NIST SP 800-132, 5.1 and 5.2."""
SEALED_BYTES_MAX = 2**31 - 1
"""The least that all three libraries take at once, tag included."""
_UNCOMPRESSED = 0x04
_POINTS = frozenset(PUBLIC_BYTES) - {Signature.ED25519, Agreement.X25519}


def require_mode(name: str, *, fips: bool) -> None:
    """Refuse a provider outside FIPS mode in a process that is in it. Raises FipsRefused."""
    if active() and not fips:
        raise FipsRefused(
            f"this process is in FIPS mode: the crypto provider {name} is not for it",
            hint='crypto.provider = "openssl" is the provider of FIPS mode',
        )


def require_algorithm(algorithm: Algorithm, had: frozenset[Algorithm], name: str) -> None:
    """Raises AlgorithmRefused for an algorithm that the provider `name` does not have here."""
    if algorithm not in had:
        raise refused(algorithm, name)


def refused(algorithm: Algorithm, name: str) -> AlgorithmRefused:
    """The error of an algorithm that the provider `name` does not have."""
    return AlgorithmRefused(
        f"the crypto provider {name} has no {algorithm} here",
        hint="`satchel crypto status` lists what each provider has",
    )


def require_mac_key(key: bytes) -> None:
    """Raises KeyInvalid for a key of HMAC or HKDF that is too short to be one."""
    if len(key) < MAC_KEY_BYTES_MIN:
        raise KeyInvalid(f"the key has {len(key)} bytes, not {MAC_KEY_BYTES_MIN} or more")


def require_derived(length: int, most: int = DERIVED_BYTES_MAX) -> None:
    """Raises KeyInvalid for a length that no key may have."""
    if not 1 <= length <= most:
        raise KeyInvalid(f"a key of {length} bytes cannot be derived, only of 1 to {most}")


def require_iterations(iterations: int) -> None:
    """Raises KeyInvalid for a count of iterations that cannot be."""
    if not 1 <= iterations <= ITERATIONS_MAX:
        raise KeyInvalid(f"there cannot be {iterations} iterations, only 1 to {ITERATIONS_MAX}")


def require_fips_pbkdf2(salt: bytes, iterations: int) -> None:
    """Raises KeyInvalid for what is approved of only with more salt or iterations."""
    if len(salt) < FIPS_SALT_BYTES_MIN or iterations < FIPS_ITERATIONS_MIN:
        raise KeyInvalid(
            f"FIPS mode wants a salt of {FIPS_SALT_BYTES_MIN} bytes or more,"
            f" and {FIPS_ITERATIONS_MIN} iterations or more"
        )


def require_argon2(salt: bytes, passes: int, memory_kib: int, length: int) -> None:
    """Raises KeyInvalid for what Argon2id cannot do, or what no file of ours asks for."""
    least, most = ARGON2_MEMORY_KIB
    _length("salt", salt, ARGON2_SALT_BYTES)
    if not 1 <= passes <= ARGON2_PASSES_MAX or not least <= memory_kib <= most:
        raise KeyInvalid(
            f"Argon2id takes 1 to {ARGON2_PASSES_MAX} passes over {least} to {most} KiB here"
        )
    require_derived(length)
    if length < ARGON2_DERIVED_BYTES_MIN:
        raise KeyInvalid(f"Argon2id derives {ARGON2_DERIVED_BYTES_MIN} bytes or more here")


def require_seal(cipher: Cipher, key: bytes, nonce: bytes, plain: bytes, context: bytes) -> None:
    """Raises KeyInvalid for a key, nonce, text or context of a length that cannot be."""
    _length("key", key, KEY_BYTES)
    _length("nonce", nonce, NONCE_BYTES[cipher])
    if max(len(plain) + TAG_BYTES, len(context)) > SEALED_BYTES_MAX:
        raise KeyInvalid(f"more than {SEALED_BYTES_MAX} bytes cannot be sealed at once")


def require_open(cipher: Cipher, key: bytes, nonce: bytes, sealed: bytes, context: bytes) -> None:
    """Raises KeyInvalid for a key of a wrong length, SealedInvalid for what came with the text."""
    _length("key", key, KEY_BYTES)
    if (
        len(nonce) != NONCE_BYTES[cipher]
        or not TAG_BYTES <= len(sealed) <= SEALED_BYTES_MAX
        or len(context) > SEALED_BYTES_MAX
    ):
        raise sealed_invalid()


def sealed_invalid() -> SealedInvalid:
    """The one error of `open`: it does not tell what of the four does not fit."""
    return SealedInvalid("the sealed bytes are damaged, or were sealed for something else")


def require_private(algorithm: Signature | Agreement, private: bytes) -> None:
    """Raises KeyInvalid for a private key of a wrong length."""
    _length("private key", private, PRIVATE_BYTES[algorithm])


def require_public(algorithm: Signature | Agreement, public: bytes) -> None:
    """Raises KeyInvalid for a public key of a wrong length or form."""
    _length("public key", public, PUBLIC_BYTES[algorithm])
    if not _formed(algorithm, public):
        raise public_invalid()


def public_invalid() -> KeyInvalid:
    """The error of a public key that is no point of its curve, or one without a secret."""
    return KeyInvalid("the public key is no point that can be used")


def private_invalid() -> KeyInvalid:
    """The error of a private key that is no scalar of its curve."""
    return KeyInvalid("the private key is outside its range")


def can_verify(algorithm: Signature, public: bytes, signature: bytes) -> bool:
    """Whether both have the length and form for it."""
    if len(signature) != SIGNATURE_BYTES[algorithm] or len(public) != PUBLIC_BYTES[algorithm]:
        return False
    if algorithm is Signature.ED25519:
        return edwards.takes(public, signature)
    return _formed(algorithm, public)


def _formed(algorithm: Signature | Agreement, public: bytes) -> bool:
    return algorithm not in _POINTS or public[0] == _UNCOMPRESSED


def _length(what: str, value: bytes, wanted: int) -> None:
    if len(value) != wanted:
        raise KeyInvalid(f"the {what} has {len(value)} bytes, not {wanted}")
