"""The contract of a crypto provider: primitives over bytes, nothing that stores or decides.

A provider has the algorithms it names in `algorithms`; any other raises AlgorithmRefused. All
arguments of wrong length raise KeyInvalid before the library sees them. No method logs, and no
error carries what it was given.
"""

from __future__ import annotations

from typing import Protocol

from satchel_crypto.algorithms import Agreement, Algorithm, Cipher, Hash, Signature, Suite


class Provider(Protocol):
    """One library behind our names; its instances hold no key and are shared by threads."""

    @property
    def name(self) -> str:
        """`openssl`, `nacl` or `wolfcrypt`."""
        ...

    @property
    def algorithms(self) -> frozenset[Algorithm]:
        """What this provider has in this process: in FIPS mode nothing outside `APPROVED`."""
        ...

    @property
    def suite(self) -> Suite:
        """The suite that it writes; it reads every one whose algorithms it has."""
        ...

    @property
    def fips(self) -> bool:
        """Whether it was constructed in FIPS mode, proof included."""
        ...

    def version(self) -> str:
        """Library and version, in words, as `crypto status` shows them."""
        ...

    def random(self, count: int) -> bytes:
        """`count` bytes for keys and nonces. Raises ValueError for a negative count."""
        ...

    def digest(self, algorithm: Hash, data: bytes) -> bytes:
        """The digest, 32 or 48 bytes."""
        ...

    def mac(self, key: bytes, data: bytes) -> bytes:
        """HMAC-SHA-256, 32 bytes; the key has 16 or more."""
        ...

    def same(self, left: bytes, right: bytes) -> bool:
        """Whether both are equal, in a time that does not tell where they differ."""
        ...

    def hkdf(self, key: bytes, *, salt: bytes, info: bytes, length: int = 32) -> bytes:
        """HKDF-SHA-256 (RFC 5869); `length` ≤ 8160."""
        ...

    def pbkdf2(self, password: bytes, *, salt: bytes, iterations: int, length: int = 32) -> bytes:
        """PBKDF2-HMAC-SHA-256 (RFC 8018); at most 10,000,000 iterations."""
        ...

    def argon2id(
        self, password: bytes, *, salt: bytes, passes: int, memory_kib: int, length: int = 32
    ) -> bytes:
        """Argon2id (RFC 9106), one lane; the salt has 16 bytes."""
        ...

    def seal(self, cipher: Cipher, key: bytes, nonce: bytes, plain: bytes, context: bytes) -> bytes:
        """Ciphertext and tag; `context` is authenticated, not stored."""
        ...

    def open(
        self, cipher: Cipher, key: bytes, nonce: bytes, sealed: bytes, context: bytes
    ) -> bytes:
        """Inverse of `seal`. Raises SealedInvalid, whatever of the four does not fit.

        Also for a nonce or text of a wrong length: both come from where the text came from.
        """
        ...

    def signing_key(self, algorithm: Signature) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        ...

    def sign(self, algorithm: Signature, private: bytes, data: bytes) -> bytes:
        """A signature over `data`."""
        ...

    def verify(self, algorithm: Signature, public: bytes, data: bytes, signature: bytes) -> bool:
        """Whether the signature fits; False for bytes that are no signature or no public key.

        ECDSA: (r, n - s) fits where (r, s) does, so a signature is no name of what it stands under.
        """
        ...

    def agreement_key(self, algorithm: Agreement) -> tuple[bytes, bytes]:
        """A new (private, public) pair."""
        ...

    def agree(self, algorithm: Agreement, private: bytes, public: bytes) -> bytes:
        """The shared secret. Raises KeyInvalid for a public key that is no point, or all zeros."""
        ...

    def public_of(self, algorithm: Signature | Agreement, private: bytes) -> bytes:
        """The public key of a private one. Raises KeyInvalid."""
        ...
