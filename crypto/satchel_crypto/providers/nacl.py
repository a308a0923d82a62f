"""The provider `nacl`: libsodium as pynacl binds it; never in FIPS mode.

libsodium gives XChaCha20-Poly1305, Ed25519, X25519 and Argon2id. SHA-2, HMAC and PBKDF2 come from
the standard library (the OpenSSL or HACL* that Python was built with), and HKDF is composed of that
HMAC: pynacl binds none of them.
"""

from __future__ import annotations

import hashlib
import hmac
import os

from satchel_crypto.algorithms import (
    SIGNATURE_BYTES,
    X25519,
    Agreement,
    Algorithm,
    Cipher,
    Derivation,
    Hash,
    Mac,
    Signature,
    Suite,
)
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.providers import arguments, hkdf

try:
    from nacl import bindings, exceptions
except ImportError as error:
    raise ProviderUnavailable(
        f"the crypto provider nacl cannot be loaded: {error}", hint="pip install pynacl"
    ) from error

_HASHES = {Hash.SHA256: "sha256", Hash.SHA384: "sha384"}


class Nacl:
    """libsodium behind our names."""

    name = "nacl"
    suite: Suite = X25519
    fips = False
    algorithms: frozenset[Algorithm] = frozenset(
        {
            *Hash,
            *Mac,
            *Derivation,
            Cipher.XCHACHA20_POLY1305,
            Signature.ED25519,
            Agreement.X25519,
        }
    )

    def __init__(self) -> None:
        arguments.require_mode(self.name, fips=False)

    def version(self) -> str:
        """Library and version, in words."""
        import nacl

        return f"pynacl {nacl.__version__} and the libsodium that it was built with"

    def random(self, count: int) -> bytes:
        """From the kernel."""
        return os.urandom(count)

    def digest(self, algorithm: Hash, data: bytes) -> bytes:
        """FIPS 180-4, by the standard library."""
        self._require(algorithm)
        return hashlib.new(_HASHES[algorithm], data).digest()

    def mac(self, key: bytes, data: bytes) -> bytes:
        """HMAC-SHA-256 (FIPS 198-1), by the standard library."""
        arguments.require_mac_key(key)
        return _mac(key, data)

    def same(self, left: bytes, right: bytes) -> bool:
        """Constant-time comparison; only a difference in length shows."""
        return hmac.compare_digest(left, right)

    def hkdf(self, key: bytes, *, salt: bytes, info: bytes, length: int = 32) -> bytes:
        """RFC 5869."""
        arguments.require_mac_key(key)
        arguments.require_derived(length, arguments.HKDF_BYTES_MAX)
        return hkdf.derive(_mac, key, salt, info, length)

    def pbkdf2(self, password: bytes, *, salt: bytes, iterations: int, length: int = 32) -> bytes:
        """RFC 8018, by the standard library."""
        arguments.require_derived(length)
        arguments.require_iterations(iterations)
        return hashlib.pbkdf2_hmac("sha256", password, salt, iterations, length)

    def argon2id(
        self, password: bytes, *, salt: bytes, passes: int, memory_kib: int, length: int = 32
    ) -> bytes:
        """RFC 9106, version 0x13."""
        arguments.require_argon2(salt, passes, memory_kib, length)
        return bindings.crypto_pwhash_alg(
            length, password, salt, passes, memory_kib * 1024,
            bindings.crypto_pwhash_ALG_ARGON2ID13,
        )  # fmt: skip

    def seal(self, cipher: Cipher, key: bytes, nonce: bytes, plain: bytes, context: bytes) -> bytes:
        """XChaCha20-Poly1305."""
        self._require(cipher)
        arguments.require_seal(cipher, key, nonce, plain, context)
        return bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, context, nonce, key)

    def open(
        self, cipher: Cipher, key: bytes, nonce: bytes, sealed: bytes, context: bytes
    ) -> bytes:
        """Inverse of `seal`."""
        self._require(cipher)
        arguments.require_open(cipher, key, nonce, sealed, context)
        try:
            return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, context, nonce, key)
        except exceptions.TypeError:  # to pynacl it is a CryptoError as well
            raise
        except exceptions.CryptoError:
            raise arguments.sealed_invalid() from None

    def signing_key(self, algorithm: Signature) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        return self._new_key(algorithm)

    def sign(self, algorithm: Signature, private: bytes, data: bytes) -> bytes:
        """Ed25519."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        _, pair = bindings.crypto_sign_seed_keypair(private)
        return bindings.crypto_sign(data, pair)[: SIGNATURE_BYTES[algorithm]]

    def verify(self, algorithm: Signature, public: bytes, data: bytes, signature: bytes) -> bool:
        """Whether the signature fits."""
        self._require(algorithm)
        if not arguments.can_verify(algorithm, public, signature):
            return False
        try:
            bindings.crypto_sign_open(signature + data, public)
        except exceptions.BadSignatureError:
            return False
        return True

    def agreement_key(self, algorithm: Agreement) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        return self._new_key(algorithm)

    def agree(self, algorithm: Agreement, private: bytes, public: bytes) -> bytes:
        """X25519."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        arguments.require_public(algorithm, public)
        try:
            return bindings.crypto_scalarmult(private, public)
        except exceptions.RuntimeError:  # all zeros: a point of low order
            raise arguments.public_invalid() from None

    def public_of(self, algorithm: Signature | Agreement, private: bytes) -> bytes:
        """The public key of a private one."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        if algorithm is Agreement.X25519:
            return bindings.crypto_scalarmult_base(private)
        public, _ = bindings.crypto_sign_seed_keypair(private)
        return public

    def _new_key(self, algorithm: Signature | Agreement) -> tuple[bytes, bytes]:
        self._require(algorithm)  # both private keys are any 32 bytes
        private = self.random(32)
        return private, self.public_of(algorithm, private)

    def _require(self, algorithm: Algorithm) -> None:
        arguments.require_algorithm(algorithm, self.algorithms, self.name)


def _mac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")
