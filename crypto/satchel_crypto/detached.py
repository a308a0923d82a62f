"""A signature that lies beside a file, in the forms that `openssl` takes without satchel.

It stands over the file's bytes and nothing else: ECDSA as DER, Ed25519 as 64 bytes, the public key
as PEM. Every other signature of satchel stands over a statement, which begins with `satchel\\0`; a
file that begins so is refused, so neither is ever taken for the other.
"""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from satchel_crypto.algorithms import PRIVATE_BYTES, Signature
from satchel_crypto.errors import AlgorithmRefused, KeyInvalid, SignatureInvalid
from satchel_crypto.keystore import SigningKey
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed

FILE_BYTES_MAX = 16 * 1024 * 1024
"""Of a file that is signed: sign a list of the sums of larger ones."""
PEM_BYTES_MAX = 4096
SIGNATURE_BYTES_MAX = 256
_STATEMENT = b"satchel\0"
_CURVES: dict[Signature, ec.EllipticCurve] = {
    Signature.ECDSA_P256: ec.SECP256R1(),
    Signature.ECDSA_P384: ec.SECP384R1(),
}


def sign(provider: Provider, key: SigningKey, data: bytes) -> Signed:
    """A signature over the bytes of a file. Raises SignatureInvalid for one that is a statement."""
    _refuse_statement(data)
    value = provider.sign(key.algorithm, key.private, data)
    return Signed(algorithm=key.algorithm, public=key.public, value=value)


def fits(provider: Provider, signed: Signed, data: bytes) -> bool:
    """Whether it stands over the file's bytes. Raises AlgorithmRefused, SignatureInvalid."""
    _refuse_statement(data)
    return provider.verify(signed.algorithm, signed.public, data, signed.value)


def write(signed: Signed) -> tuple[bytes, bytes]:
    """(what lies in the signature's file, the public key as PEM)."""
    curve = _CURVES.get(signed.algorithm)
    public: ec.EllipticCurvePublicKey | Ed25519PublicKey
    if curve is None:
        public, value = Ed25519PublicKey.from_public_bytes(signed.public), signed.value
    else:
        public = ec.EllipticCurvePublicKey.from_encoded_point(curve, signed.public)
        size = PRIVATE_BYTES[signed.algorithm]
        r, s = int.from_bytes(signed.value[:size]), int.from_bytes(signed.value[size:])
        value = encode_dss_signature(r, s)
    return value, public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def read(signature: bytes, pem: bytes) -> Signed:
    """Inverse of `write`.

    Raises KeyInvalid for a key of another kind, SignatureInvalid for what is no signature of it,
    AlgorithmRefused for a kind that this OpenSSL does not have (Ed25519 in FIPS mode).
    """
    try:
        public = load_pem_public_key(pem)
    except UnsupportedAlgorithm as error:
        raise AlgorithmRefused("the signer's key is of a kind that is not had here") from error
    except ValueError as error:
        raise KeyInvalid("the signer's key is no public key in PEM") from error
    if isinstance(public, Ed25519PublicKey):
        if len(signature) != 64:
            raise _no_signature()
        return Signed(
            algorithm=Signature.ED25519, public=public.public_bytes_raw(), value=signature
        )
    if not isinstance(public, ec.EllipticCurvePublicKey):
        raise KeyInvalid("the signer's key is neither one of ECDSA nor of Ed25519")
    named = (one for one, curve in _CURVES.items() if curve.name == public.curve.name)
    algorithm = next(named, None)
    if algorithm is None:
        raise KeyInvalid(f"the signer's key is on the curve {public.curve.name}")
    return Signed(
        algorithm=algorithm,
        public=public.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint),
        value=_fixed(signature, PRIVATE_BYTES[algorithm]),
    )


def _fixed(signature: bytes, size: int) -> bytes:
    """r ‖ s of a DER signature."""
    try:
        r, s = decode_dss_signature(signature)
        return r.to_bytes(size) + s.to_bytes(size)
    except (ValueError, OverflowError):
        raise _no_signature() from None


def _no_signature() -> SignatureInvalid:
    return SignatureInvalid("the signature's file holds none that fits a key of this kind")


def _refuse_statement(data: bytes) -> None:
    if data.startswith(_STATEMENT):
        raise SignatureInvalid("a file that begins with `satchel\\0` is neither signed nor checked")
