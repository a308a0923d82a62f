"""Signatures and key agreement with OpenSSL, keys as raw bytes; apart, for it loads slower.

The arguments have the right lengths already.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from satchel_crypto.algorithms import PRIVATE_BYTES, Agreement, Signature
from satchel_crypto.providers.arguments import private_invalid, public_invalid

_CURVES: dict[Signature | Agreement, ec.EllipticCurve] = {
    Signature.ECDSA_P256: ec.SECP256R1(),
    Signature.ECDSA_P384: ec.SECP384R1(),
    Agreement.ECDH_P256: ec.SECP256R1(),
    Agreement.ECDH_P384: ec.SECP384R1(),
}
_ECDSA = {
    Signature.ECDSA_P256: ec.ECDSA(hashes.SHA256()),
    Signature.ECDSA_P384: ec.ECDSA(hashes.SHA384()),
}


def new_key(algorithm: Signature | Agreement) -> tuple[bytes, bytes]:
    """A new (private, public) pair."""
    if algorithm is Signature.ED25519:
        edwards = Ed25519PrivateKey.generate()
        return edwards.private_bytes_raw(), edwards.public_key().public_bytes_raw()
    if algorithm is Agreement.X25519:
        montgomery = X25519PrivateKey.generate()
        return montgomery.private_bytes_raw(), montgomery.public_key().public_bytes_raw()
    private = ec.generate_private_key(_CURVES[algorithm])
    scalar = private.private_numbers().private_value
    return scalar.to_bytes(PRIVATE_BYTES[algorithm]), _point(private)


def public_of(algorithm: Signature | Agreement, private: bytes) -> bytes:
    """The public key of a private one. Raises KeyInvalid."""
    if algorithm is Signature.ED25519:
        return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    if algorithm is Agreement.X25519:
        return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()
    return _point(_private(algorithm, private))


def sign(algorithm: Signature, private: bytes, data: bytes) -> bytes:
    """A signature over `data`. Raises KeyInvalid."""
    if algorithm is Signature.ED25519:
        return Ed25519PrivateKey.from_private_bytes(private).sign(data)
    size = PRIVATE_BYTES[algorithm]
    r, s = decode_dss_signature(_private(algorithm, private).sign(data, _ECDSA[algorithm]))
    return r.to_bytes(size) + s.to_bytes(size)


def verify(algorithm: Signature, public: bytes, data: bytes, signature: bytes) -> bool:
    """Whether the signature fits."""
    try:
        if algorithm is Signature.ED25519:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, data)
            return True
        point = ec.EllipticCurvePublicKey.from_encoded_point(_CURVES[algorithm], public)
        size = PRIVATE_BYTES[algorithm]
        r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
        point.verify(encode_dss_signature(r, s), data, _ECDSA[algorithm])
    except (InvalidSignature, ValueError):  # a ValueError tells of a public key that is none
        return False
    return True


def agree(algorithm: Agreement, private: bytes, public: bytes) -> bytes:
    """The shared secret. Raises KeyInvalid."""
    if algorithm is Agreement.X25519:
        own = X25519PrivateKey.from_private_bytes(private)
        try:
            return own.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:  # all zeros: a point of low order
            raise public_invalid() from None
    key = _private(algorithm, private)
    try:
        point = ec.EllipticCurvePublicKey.from_encoded_point(_CURVES[algorithm], public)
    except ValueError:
        raise public_invalid() from None
    return key.exchange(ec.ECDH(), point)


def _private(algorithm: Signature | Agreement, private: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        return ec.derive_private_key(int.from_bytes(private), _CURVES[algorithm])
    except ValueError:
        raise private_invalid() from None


def _point(private: ec.EllipticCurvePrivateKey) -> bytes:
    return private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
