"""A signed head as a warehouse keeps it: whether the signature stands, and whose key it is by."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass

from satchel_crypto.audit_record import HEAD_PURPOSE, Head
from satchel_crypto.errors import CryptoError, SignatureInvalid
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed, key_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedHead:
    """A head with what its signature says. `fault` tells why that does not stand; "" if it does.

    `public_key` is base64, `key_id` 32 hex digits; both "" for what is no signature at all.
    """

    head: Head
    algorithm: str = ""
    public_key: str = ""
    key_id: str = ""
    fault: str = ""


def check(provider: Provider, head: Head, signature: str) -> SignedHead:
    """Check the JSON text of a signature over a head; nothing is raised, so that a walk goes on."""
    try:
        signed = Signed.parse(_read(signature), provider)
    except SignatureInvalid as error:
        return SignedHead(head=head, fault=str(error))
    fault = ""
    try:
        if not signed.fits(provider, HEAD_PURPOSE, head.data()):
            fault = "the signature does not fit the head"
    except CryptoError as error:
        fault = f"the signature cannot be checked here: {error}"
    return SignedHead(
        head=head,
        algorithm=signed.algorithm.value,
        public_key=b64encode(signed.public).decode("ascii"),
        key_id=key_id(provider, signed.algorithm, signed.public).hex(),
        fault=fault,
    )


def _read(signature: str) -> object:
    try:
        return json.loads(signature)
    except (ValueError, RecursionError):
        return None
