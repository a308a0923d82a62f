"""The provider `wolfcrypt`: wolfSSL as the binding wolfcrypt-py calls it.

What the binding (5.7.2) and wolfSSL (5.5.4) do not check themselves is checked here and in
`wolfcrypt_keys`: they take tags of 4 bytes, points off the curve and private keys of zero, read
behind a key that is too short, hash the repr of a bytearray, drop leading zeros of r and s, and
share one random generator between threads that run at once.
"""

from __future__ import annotations

import hmac
import os

from satchel_crypto.algorithms import (
    APPROVED,
    P256,
    TAG_BYTES,
    Agreement,
    Algorithm,
    Cipher,
    Derivation,
    Hash,
    Signature,
    Suite,
)
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.providers import arguments, hkdf

try:
    from wolfcrypt.ciphers import AesGcmStream
    from wolfcrypt.exceptions import WolfCryptError
    from wolfcrypt.hashes import HmacSha256, Sha256, Sha384
    from wolfcrypt.pwdbased import PBKDF2
    from wolfcrypt.random import Random

    from satchel_crypto.providers import wolfcrypt_keys
    from satchel_crypto.providers.wolfcrypt_library import library_version
except (ImportError, OSError, AttributeError) as error:  # a function that was not built in
    raise ProviderUnavailable(
        f"the crypto provider wolfcrypt cannot be loaded: {error}",
        hint="on Debian: apt-get install libwolfssl-dev, then"
        " USE_LOCAL_WOLFSSL=/usr pip install wolfcrypt==5.7.2.post0",
    ) from error

_HASHES = {Hash.SHA256: Sha256, Hash.SHA384: Sha384}
_SHA256_TYPE = 6
"""WC_HASH_TYPE_SHA256 of wolfssl/wolfcrypt/types.h."""
_UPDATE_BYTES = 2**30
"""wolfSSL counts a piece in 32 bits."""


class WolfCrypt:
    """wolfSSL behind our names. In FIPS mode its build is attested before this is constructed."""

    name = "wolfcrypt"
    suite: Suite = P256

    def __init__(self, *, fips: bool = False) -> None:
        arguments.require_mode(self.name, fips=fips)
        self.fips = fips
        others: set[Algorithm] = set() if fips else {Signature.ED25519}
        self.algorithms: frozenset[Algorithm] = APPROVED | others

    def version(self) -> str:
        """Library and version, in words."""
        import wolfcrypt

        return f"wolfcrypt {wolfcrypt.__version__}, wolfSSL {library_version()}"

    def random(self, count: int) -> bytes:
        """From the kernel; in FIPS mode from wolfSSL's Hash_DRBG, a new one seeded by it."""
        if not self.fips:
            return os.urandom(count)
        if count < 0:
            raise ValueError("negative argument not allowed")
        generated: bytes = Random().bytes(count)
        return generated

    def digest(self, algorithm: Hash, data: bytes) -> bytes:
        """FIPS 180-4."""
        self._require(algorithm)
        return _fed(_HASHES[algorithm](), _exact(data))

    def mac(self, key: bytes, data: bytes) -> bytes:
        """HMAC-SHA-256 (FIPS 198-1)."""
        arguments.require_mac_key(key)
        return _mac(key, data)

    def same(self, left: bytes, right: bytes) -> bool:
        """Constant-time comparison by the standard library; only a difference in length shows."""
        return hmac.compare_digest(left, right)

    def hkdf(self, key: bytes, *, salt: bytes, info: bytes, length: int = 32) -> bytes:
        """RFC 5869, of wolfSSL's HMAC."""
        arguments.require_mac_key(key)
        arguments.require_derived(length, arguments.HKDF_BYTES_MAX)
        return hkdf.derive(_mac, key, salt, info, length)

    def pbkdf2(self, password: bytes, *, salt: bytes, iterations: int, length: int = 32) -> bytes:
        """RFC 8018; in FIPS mode within the bounds of NIST SP 800-132."""
        arguments.require_derived(length)
        arguments.require_iterations(iterations)
        if self.fips:
            arguments.require_fips_pbkdf2(salt, iterations)
        derived: bytes = PBKDF2(_exact(password), _exact(salt), iterations, length, _SHA256_TYPE)
        return derived

    def argon2id(
        self, password: bytes, *, salt: bytes, passes: int, memory_kib: int, length: int = 32
    ) -> bytes:
        """Refused: wolfSSL has none."""
        raise arguments.refused(Derivation.ARGON2ID, self.name)

    def seal(self, cipher: Cipher, key: bytes, nonce: bytes, plain: bytes, context: bytes) -> bytes:
        """AES-256-GCM (NIST SP 800-38D)."""
        self._require(cipher)
        arguments.require_seal(cipher, key, nonce, plain, context)
        stream = _gcm(key, nonce, context)
        sealed: bytes = stream.encrypt(_exact(plain)) + stream.final()
        return sealed

    def open(
        self, cipher: Cipher, key: bytes, nonce: bytes, sealed: bytes, context: bytes
    ) -> bytes:
        """Inverse of `seal`; what the stream decrypts leaves only once its tag was right."""
        self._require(cipher)
        arguments.require_open(cipher, key, nonce, sealed, context)
        stream = _gcm(key, nonce, context)
        sealed = _exact(sealed)
        plain: bytes = stream.decrypt(sealed[:-TAG_BYTES])
        try:
            stream.final(sealed[-TAG_BYTES:])
        except WolfCryptError:
            raise arguments.sealed_invalid() from None
        return plain

    def signing_key(self, algorithm: Signature) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        self._require(algorithm)
        return wolfcrypt_keys.new_key(algorithm)

    def sign(self, algorithm: Signature, private: bytes, data: bytes) -> bytes:
        """ECDSA as r ‖ s, or Ed25519."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        if algorithm is Signature.ED25519:
            return wolfcrypt_keys.sign_edwards(_exact(private), _exact(data))
        return wolfcrypt_keys.sign_digest(algorithm, _exact(private), self._hash(algorithm, data))

    def verify(self, algorithm: Signature, public: bytes, data: bytes, signature: bytes) -> bool:
        """Whether the signature fits."""
        self._require(algorithm)
        if not arguments.can_verify(algorithm, public, signature):
            return False
        public, signature = _exact(public), _exact(signature)
        if algorithm is Signature.ED25519:
            return wolfcrypt_keys.verify_edwards(public, _exact(data), signature)
        said = self._hash(algorithm, data)
        return wolfcrypt_keys.verify_digest(algorithm, public, said, signature)

    def agreement_key(self, algorithm: Agreement) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        self._require(algorithm)
        return wolfcrypt_keys.new_key(algorithm)

    def agree(self, algorithm: Agreement, private: bytes, public: bytes) -> bytes:
        """ECDH."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        arguments.require_public(algorithm, public)
        return wolfcrypt_keys.agree(algorithm, _exact(private), _exact(public))

    def public_of(self, algorithm: Signature | Agreement, private: bytes) -> bytes:
        """The public key of a private one."""
        self._require(algorithm)
        arguments.require_private(algorithm, private)
        return wolfcrypt_keys.public_of(algorithm, _exact(private))

    def _hash(self, algorithm: Signature, data: bytes) -> bytes:
        hashed = {Signature.ECDSA_P256: Hash.SHA256, Signature.ECDSA_P384: Hash.SHA384}
        return self.digest(hashed[algorithm], data)

    def _require(self, algorithm: Algorithm) -> None:
        arguments.require_algorithm(algorithm, self.algorithms, self.name)


def _mac(key: bytes, data: bytes) -> bytes:
    return _fed(HmacSha256(_exact(key)), _exact(data))


def _fed(hasher: Sha256 | Sha384 | HmacSha256, data: bytes) -> bytes:
    for start in range(0, len(data), _UPDATE_BYTES):
        hasher.update(data[start : start + _UPDATE_BYTES])
    digest: bytes = hasher.digest()
    return digest


def _gcm(key: bytes, nonce: bytes, context: bytes) -> AesGcmStream:
    stream = AesGcmStream(_exact(key), _exact(nonce), TAG_BYTES)
    stream.set_aad(_exact(context))
    return stream


def _exact(data: bytes | bytearray | memoryview) -> bytes:
    """The binding would take the repr of anything that is not `bytes`."""
    return data if isinstance(data, bytes) else memoryview(data).tobytes()
