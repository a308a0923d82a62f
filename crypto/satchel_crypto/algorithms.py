"""Every algorithm of satchel: its name, sizes in bytes, and whether FIPS approves of it.

This is the one table. A name stands in files and answers; a code stands in envelopes. Neither is
ever given to anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Hash(StrEnum):
    """Digests (FIPS 180-4)."""

    SHA256 = "sha-256"
    SHA384 = "sha-384"


class Derivation(StrEnum):
    """Key derivation: HKDF (RFC 5869), PBKDF2 (RFC 8018), Argon2id (RFC 9106)."""

    HKDF_SHA256 = "hkdf-sha-256"
    PBKDF2_SHA256 = "pbkdf2-hmac-sha-256"
    ARGON2ID = "argon2id"


class Mac(StrEnum):
    """Message authentication (FIPS 198-1)."""

    HMAC_SHA256 = "hmac-sha-256"


class Cipher(StrEnum):
    """Authenticated encryption with associated data; the tag of 16 bytes stands at the end.

    AES-256-GCM (NIST SP 800-38D), XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03).
    """

    AES_256_GCM = "aes-256-gcm"
    XCHACHA20_POLY1305 = "xchacha20-poly1305"


class Signature(StrEnum):
    """Signatures: ECDSA (FIPS 186-5) with r ‖ s of fixed length, Ed25519 (RFC 8032).

    Public keys: an uncompressed point (SEC 1, 2.3.3), or the 32 bytes of RFC 8032. Private keys:
    the big-endian scalar, or the 32 bytes of the seed.
    """

    ECDSA_P256 = "ecdsa-p256-sha256"
    ECDSA_P384 = "ecdsa-p384-sha384"
    ED25519 = "ed25519"


class Agreement(StrEnum):
    """Key agreement: ECDH (NIST SP 800-56A), X25519 (RFC 7748); keys as in `Signature`.

    The shared secret is the x coordinate (32 or 48 bytes), or the 32 bytes of RFC 7748.
    """

    ECDH_P256 = "ecdh-p256"
    ECDH_P384 = "ecdh-p384"
    X25519 = "x25519"


Algorithm = Hash | Derivation | Mac | Cipher | Signature | Agreement

KEY_BYTES = 32
"""Of every symmetric key."""
TAG_BYTES = 16
NONCE_BYTES = {Cipher.AES_256_GCM: 12, Cipher.XCHACHA20_POLY1305: 24}
PUBLIC_BYTES: dict[Signature | Agreement, int] = {
    Signature.ECDSA_P256: 65,
    Signature.ECDSA_P384: 97,
    Signature.ED25519: 32,
    Agreement.ECDH_P256: 65,
    Agreement.ECDH_P384: 97,
    Agreement.X25519: 32,
}
PRIVATE_BYTES: dict[Signature | Agreement, int] = {
    Signature.ECDSA_P256: 32,
    Signature.ECDSA_P384: 48,
    Signature.ED25519: 32,
    Agreement.ECDH_P256: 32,
    Agreement.ECDH_P384: 48,
    Agreement.X25519: 32,
}
SIGNATURE_BYTES = {Signature.ECDSA_P256: 64, Signature.ECDSA_P384: 96, Signature.ED25519: 64}
PBKDF2_ITERATIONS_MIN = 600_000
"""OWASP Password Storage Cheat Sheet for PBKDF2-HMAC-SHA-256."""

APPROVED: frozenset[Algorithm] = frozenset(
    {
        Hash.SHA256,
        Hash.SHA384,
        Mac.HMAC_SHA256,
        Derivation.HKDF_SHA256,
        Derivation.PBKDF2_SHA256,
        Cipher.AES_256_GCM,
        Signature.ECDSA_P256,
        Signature.ECDSA_P384,
        Agreement.ECDH_P256,
        Agreement.ECDH_P384,
    }
)
"""What exists in FIPS mode. Ed25519 is in FIPS 186-5, but not in the module of OpenSSL 3.1.2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Algorithms that go together; `code` stands in an envelope, `name` (ASCII, ≤ 16) in a bundle.

    Between two machines: `agreement`, then HKDF, then `cipher`; signed by `signature`.
    """

    code: int
    name: str
    cipher: Cipher
    signature: Signature
    agreement: Agreement

    @property
    def approved(self) -> bool:
        """Whether every part of it exists in FIPS mode."""
        return {self.cipher, self.signature, self.agreement} <= APPROVED


P256 = Suite(
    code=1,
    name="p256-aes256gcm",
    cipher=Cipher.AES_256_GCM,
    signature=Signature.ECDSA_P256,
    agreement=Agreement.ECDH_P256,
)
P384 = Suite(
    code=2,
    name="p384-aes256gcm",
    cipher=Cipher.AES_256_GCM,
    signature=Signature.ECDSA_P384,
    agreement=Agreement.ECDH_P384,
)
X25519 = Suite(
    code=3,
    name="x25519-xchacha",
    cipher=Cipher.XCHACHA20_POLY1305,
    signature=Signature.ED25519,
    agreement=Agreement.X25519,
)
SUITES = (P256, P384, X25519)
BY_CODE = {suite.code: suite for suite in SUITES}
BY_NAME = {suite.name: suite for suite in SUITES}
