"""The provider `openssl`: OpenSSL as the library `cryptography` binds it.

In FIPS mode it has the approved algorithms and no other. That the OpenSSL in use is a validated
module is proved by `satchel_crypto.fips` before the registry constructs one; here it is taken as
proved.
"""

from __future__ import annotations

import os
from _operator import _compare_digest  # of `hmac`, which would load Python's OpenSSL too

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.hmac import HMAC

from satchel_crypto.algorithms import (
    APPROVED,
    P256,
    Agreement,
    Algorithm,
    Cipher,
    Derivation,
    Hash,
    Signature,
    Suite,
)
from satchel_crypto.providers import arguments

_HASHES: dict[Hash, hashes.HashAlgorithm] = {
    Hash.SHA256: hashes.SHA256(),
    Hash.SHA384: hashes.SHA384(),
}


class OpenSsl:
    """OpenSSL behind our names."""

    name = "openssl"
    suite: Suite = P256

    def __init__(self, *, fips: bool = False) -> None:
        arguments.require_mode(self.name, fips=fips)
        self.fips = fips
        others: set[Algorithm] = set() if fips else {Signature.ED25519, Agreement.X25519}
        self.algorithms: frozenset[Algorithm] = APPROVED | others
        # A copy of one that was begun saves OpenSSL the search for the algorithm each time.
        self._hashers = {one: hashes.Hash(hash_) for one, hash_ in _HASHES.items()}

    def version(self) -> str:
        """Library and version, in words."""
        import cryptography
        from cryptography.hazmat.backends.openssl import backend

        return f"cryptography {cryptography.__version__}, {backend.openssl_version_text()}"

    def random(self, count: int) -> bytes:
        """From the kernel; in FIPS mode from the module's generator (NIST SP 800-90A)."""
        if not self.fips:
            return os.urandom(count)
        from satchel_crypto.fips import mode

        return mode.random(count)

    def digest(self, algorithm: Hash, data: bytes) -> bytes:
        """FIPS 180-4."""
        self._require(algorithm)
        hasher = self._hashers[algorithm].copy()
        hasher.update(data)
        return hasher.finalize()

    def mac(self, key: bytes, data: bytes) -> bytes:
        """HMAC-SHA-256 (FIPS 198-1)."""
        arguments.require_mac_key(key)
        hasher = HMAC(key, _HASHES[Hash.SHA256])
        hasher.update(data)
        return hasher.finalize()

    def same(self, left: bytes, right: bytes) -> bool:
        """Constant-time comparison; only a difference in length shows."""
        return _compare_digest(left, right)

    def hkdf(self, key: bytes, *, salt: bytes, info: bytes, length: int = 32) -> bytes:
        """RFC 5869."""
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        arguments.require_mac_key(key)
        arguments.require_derived(length, arguments.HKDF_BYTES_MAX)
        return HKDF(_HASHES[Hash.SHA256], length, salt, info).derive(key)

    def pbkdf2(self, password: bytes, *, salt: bytes, iterations: int, length: int = 32) -> bytes:
        """RFC 8018; in FIPS mode within the bounds of NIST SP 800-132."""
        from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

        arguments.require_derived(length)
        arguments.require_iterations(iterations)
        if self.fips:
            arguments.require_fips_pbkdf2(salt, iterations)
        return PBKDF2HMAC(_HASHES[Hash.SHA256], length, salt, iterations).derive(password)

    def argon2id(
        self, password: bytes, *, salt: bytes, passes: int, memory_kib: int, length: int = 32
    ) -> bytes:
        """Refused: not every OpenSSL has it, and none that is validated."""
        raise arguments.refused(Derivation.ARGON2ID, self.name)

    def seal(self, cipher: Cipher, key: bytes, nonce: bytes, plain: bytes, context: bytes) -> bytes:
        """AES-256-GCM (NIST SP 800-38D)."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._require(cipher)
        arguments.require_seal(cipher, key, nonce, plain, context)
        return AESGCM(key).encrypt(nonce, plain, context)

    def open(
        self, cipher: Cipher, key: bytes, nonce: bytes, sealed: bytes, context: bytes
    ) -> bytes:
        """Inverse of `seal`."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._require(cipher)
        arguments.require_open(cipher, key, nonce, sealed, context)
        try:
            return AESGCM(key).decrypt(nonce, sealed, context)
        except InvalidTag:
            raise arguments.sealed_invalid() from None

    def signing_key(self, algorithm: Signature) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        return self._new_key(algorithm)

    def sign(self, algorithm: Signature, private: bytes, data: bytes) -> bytes:
        """ECDSA as r ‖ s, or Ed25519."""
        from satchel_crypto.providers import openssl_keys

        self._require(algorithm)
        arguments.require_private(algorithm, private)
        return openssl_keys.sign(algorithm, private, data)

    def verify(self, algorithm: Signature, public: bytes, data: bytes, signature: bytes) -> bool:
        """Whether the signature fits."""
        from satchel_crypto.providers import openssl_keys

        self._require(algorithm)
        if not arguments.can_verify(algorithm, public, signature):
            return False
        return openssl_keys.verify(algorithm, public, data, signature)

    def agreement_key(self, algorithm: Agreement) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        return self._new_key(algorithm)

    def agree(self, algorithm: Agreement, private: bytes, public: bytes) -> bytes:
        """ECDH, or X25519."""
        from satchel_crypto.providers import openssl_keys

        self._require(algorithm)
        arguments.require_private(algorithm, private)
        arguments.require_public(algorithm, public)
        return openssl_keys.agree(algorithm, private, public)

    def public_of(self, algorithm: Signature | Agreement, private: bytes) -> bytes:
        """The public key of a private one."""
        from satchel_crypto.providers import openssl_keys

        self._require(algorithm)
        arguments.require_private(algorithm, private)
        return openssl_keys.public_of(algorithm, private)

    def _new_key(self, algorithm: Signature | Agreement) -> tuple[bytes, bytes]:
        from satchel_crypto.providers import openssl_keys

        self._require(algorithm)
        return openssl_keys.new_key(algorithm)

    def _require(self, algorithm: Algorithm) -> None:
        arguments.require_algorithm(algorithm, self.algorithms, self.name)
