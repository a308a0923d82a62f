"""A signature as a document carries it, and the statements that are signed.

What is signed is `satchel\\0` + purpose + `\\0` + data, so that a signature for one purpose is none
for another.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import Any

from satchel_crypto.algorithms import PUBLIC_BYTES, SIGNATURE_BYTES, Hash, Signature
from satchel_crypto.errors import SignatureInvalid
from satchel_crypto.provider import Provider

KEY_ID_BYTES = 16


def key_id(provider: Provider, algorithm: str, public: bytes) -> bytes:
    """16 bytes that name a public key: the head of SHA-256 over algorithm and key."""
    named = b"satchel key\0" + algorithm.encode("ascii") + b"\0" + public
    return provider.digest(Hash.SHA256, named)[:KEY_ID_BYTES]


def statement(purpose: str, data: bytes) -> bytes:
    """The bytes that a signature for `purpose` (ASCII, no NUL) stands over."""
    return b"satchel\0" + purpose.encode("ascii") + b"\0" + data


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A signature with the public key that it fits."""

    algorithm: Signature
    public: bytes
    value: bytes

    def fits(self, provider: Provider, purpose: str, data: bytes) -> bool:
        """Whether it stands over `data` for `purpose`; who the signer is, is another question.

        Raises AlgorithmRefused where the provider lacks the algorithm.
        """
        said = statement(purpose, data)
        return provider.verify(self.algorithm, self.public, said, self.value)

    def as_dict(self, provider: Provider) -> dict[str, str]:
        """As a JSON document carries it."""
        return {
            "algorithm": self.algorithm.value,
            "key_id": key_id(provider, self.algorithm, self.public).hex(),
            "public_key": b64encode(self.public).decode("ascii"),
            "value": b64encode(self.value).decode("ascii"),
        }

    @staticmethod
    def parse(document: Any, provider: Provider) -> Signed:
        """Inverse of `as_dict`. Raises SignatureInvalid, also for the id of another key."""
        if not isinstance(document, dict):
            raise SignatureInvalid("there is no signature")
        try:
            algorithm = Signature(str(document.get("algorithm")))
            public = b64decode(document.get("public_key", ""), validate=True)
            value = b64decode(document.get("value", ""), validate=True)
        except (ValueError, TypeError, Base64Error):
            raise SignatureInvalid("the signature is none that satchel writes") from None
        if len(public) != PUBLIC_BYTES[algorithm] or len(value) != SIGNATURE_BYTES[algorithm]:
            raise SignatureInvalid("the signature, or its public key, has a wrong length")
        if document.get("key_id") != key_id(provider, algorithm, public).hex():
            raise SignatureInvalid("the signature names the id of another key than its own")
        return Signed(algorithm=algorithm, public=public, value=value)
