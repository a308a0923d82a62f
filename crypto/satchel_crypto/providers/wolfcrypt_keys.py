"""Signatures and key agreement with wolfSSL, keys as raw bytes.

The arguments have the right lengths already. Each call has a random generator of its own: one may
not be used by two threads, and two signatures with one nonce give the private key away.
"""

from __future__ import annotations

from typing import Any

from wolfcrypt.ciphers import (
    ECC_SECP256R1,
    ECC_SECP384R1,
    EccPrivate,
    EccPublic,
    Ed25519Private,
    Ed25519Public,
)
from wolfcrypt.exceptions import WolfCryptError
from wolfcrypt.random import Random

from satchel_crypto.algorithms import PRIVATE_BYTES, Agreement, Signature
from satchel_crypto.providers.arguments import private_invalid, public_invalid
from satchel_crypto.providers.wolfcrypt_library import is_on_curve, make_public, use_generator

_P256 = (ECC_SECP256R1, bytes.fromhex("30310201010420"), bytes.fromhex("a00a06082a8648ce3d030107"))
_P384 = (ECC_SECP384R1, bytes.fromhex("303e0201010430"), bytes.fromhex("a00706052b81040022"))
_CURVES: dict[Signature | Agreement, tuple[int, bytes, bytes]] = {
    Signature.ECDSA_P256: _P256,
    Signature.ECDSA_P384: _P384,
    Agreement.ECDH_P256: _P256,
    Agreement.ECDH_P384: _P384,
}
"""A curve's number, and what stands before and after the scalar in an ECPrivateKey (RFC 5915)."""


def new_key(algorithm: Signature | Agreement) -> tuple[bytes, bytes]:
    """A new (private, public) pair."""
    random = Random()
    if algorithm is Signature.ED25519:
        private, public = Ed25519Private.make_key(PRIVATE_BYTES[algorithm], random).encode_key()
        return private, public
    key = EccPrivate.make_key(PRIVATE_BYTES[algorithm], random)
    x, y, scalar = key.encode_key_raw()
    size = PRIVATE_BYTES[algorithm]
    return scalar.rjust(size, b"\0"), b"\4" + x.rjust(size, b"\0") + y.rjust(size, b"\0")


def public_of(algorithm: Signature | Agreement, private: bytes) -> bytes:
    """The public key of a private one. Raises KeyInvalid."""
    if algorithm is Signature.ED25519:
        _, public = Ed25519Private(private).encode_key()
    else:
        public = _private(algorithm, private).export_x963()
    exported: bytes = public
    return exported


def sign_edwards(private: bytes, data: bytes) -> bytes:
    """Ed25519."""
    signature: bytes = Ed25519Private(private).sign(data)
    return signature


def verify_edwards(public: bytes, data: bytes, signature: bytes) -> bool:
    """Whether an Ed25519 signature fits."""
    try:
        return bool(Ed25519Public(public).verify(signature, data))
    except WolfCryptError:  # the public key is no point, or R or S is out of range
        return False


def sign_digest(algorithm: Signature, private: bytes, digest: bytes) -> bytes:
    """ECDSA as r ‖ s. Raises KeyInvalid.

    Out of the DER form: `sign_raw` of the binding moves a number with leading zeros to the left.
    """
    der: bytes = _private(algorithm, private).sign(digest, Random())
    middle = 4 + der[3]  # 30 length, 02 length r, 02 length s; all shorter than 128 bytes
    size = PRIVATE_BYTES[algorithm]
    r, s = int.from_bytes(der[4:middle]), int.from_bytes(der[middle + 2 :])
    return r.to_bytes(size) + s.to_bytes(size)


def verify_digest(algorithm: Signature, public: bytes, digest: bytes, signature: bytes) -> bool:
    """Whether an ECDSA signature fits."""
    size = PRIVATE_BYTES[algorithm]
    key = _public(algorithm, public)
    try:
        return key is not None and bool(key.verify_raw(signature[:size], signature[size:], digest))
    except WolfCryptError:  # r or s is out of range
        return False


def agree(algorithm: Agreement, private: bytes, public: bytes) -> bytes:
    """The shared secret. Raises KeyInvalid."""
    key, random = _private(algorithm, private), Random()
    point = _public(algorithm, public)
    if point is None:
        raise public_invalid()
    use_generator(key, random)
    secret: bytes = key.shared_secret(point)
    return secret.rjust(PRIVATE_BYTES[algorithm], b"\0")


def _private(algorithm: Signature | Agreement, private: bytes) -> Any:
    _, before, after = _CURVES[algorithm]
    key = EccPrivate()
    key.decode_key(before + private + after)
    if not make_public(key):
        raise private_invalid()
    return key


def _public(algorithm: Signature | Agreement, public: bytes) -> Any | None:
    """A key that is validated: importing one does not look whether it is on its curve."""
    size = PRIVATE_BYTES[algorithm]
    curve, _, _ = _CURVES[algorithm]
    key = EccPublic()
    try:
        key.decode_key_raw(public[1 : 1 + size], public[1 + size :], curve)
    except WolfCryptError:
        return None
    return key if is_on_curve(key) else None
