"""Certificates of erasure: what was forgotten, by ids and digests only, signed by the machine.

A JSON map of the format `satchel-erasure-1`: at, replica_id, hub_id, actor, rows: [{kind, key,
digest}], wiped, backups, and `signature`, which stands over the canonical form of all the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from satchel_crypto.canonical import canonical
from satchel_crypto.documents import read_document
from satchel_crypto.errors import CryptoError, SignatureInvalid
from satchel_crypto.keystore import SigningKey
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed

FORMAT = "satchel-erasure-1"
"""What its keys mean does not change under this name."""
PURPOSE = "certificate"
BYTES_MAX = 32 * 1024 * 1024
_HEX = re.compile(r"[0-9a-f]*")
_ROW = {"kind", "key", "digest"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A certificate whose signature fits; whether its signer is trusted is another question."""

    document: dict[str, Any]
    signed: Signed

    @property
    def replica_id(self) -> str:
        """The machine that forgot, 32 hex digits."""
        return str(self.document["replica_id"])

    @staticmethod
    def parse(data: bytes, provider: Provider) -> Certificate:
        """Read and check one, or the answer of `memory forget` that holds it.

        Raises SignatureInvalid, which says what is wrong; AlgorithmRefused where the provider does
        not have the signer's algorithm.
        """
        found = read_document(
            data, what="the certificate", bytes_max=BYTES_MAX, error=SignatureInvalid
        )
        if isinstance(found.get("certificate"), dict):
            found = found["certificate"]
        _require_certificate(found)
        if found["signature"] is None:
            raise SignatureInvalid("the certificate is not signed: anybody could have written it")
        signed = Signed.parse(found["signature"], provider)
        if not signed.fits(provider, PURPOSE, _said(found)):
            raise SignatureInvalid(
                "the certificate was changed: it is not what its signer signed",
                hint="get it again from who made it; what it says proves nothing",
            )
        return Certificate(document=found, signed=signed)


def certified(provider: Provider, key: SigningKey, document: dict[str, Any]) -> dict[str, Any]:
    """A certificate of all that `document` says: with format and signature.

    Raises CryptoError for a value that has no canonical form.
    """
    unsigned = {"format": FORMAT, **document}
    signed = key.sign(provider, PURPOSE, canonical(unsigned))
    return unsigned | {"signature": signed.as_dict(provider)}


def _said(found: dict[str, Any]) -> bytes:
    try:
        return canonical({name: found[name] for name in found if name != "signature"})
    except CryptoError as error:
        raise SignatureInvalid(f"the certificate is not as satchel writes it: {error}") from None


def _require_certificate(found: dict[str, Any]) -> None:
    if found.get("format") != FORMAT:
        raise SignatureInvalid(f"this is no certificate of the format {FORMAT}")
    if set(found) != {*_FIELDS, "format", "signature"}:
        raise SignatureInvalid("the certificate lacks a key, or has one that certificates have not")
    for name, fits in _FIELDS.items():
        if not fits(found[name]):
            raise SignatureInvalid(f"the certificate's {name!r} is not as it has to be")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_hex(value: Any) -> bool:
    return isinstance(value, str) and len(value) % 2 == 0 and _HEX.fullmatch(value) is not None


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and set(one) == _ROW
        and _is_text(one["kind"])
        and _is_text(one["key"])
        and _is_hex(one["digest"])
        for one in value
    )


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "at": _is_text,
    "replica_id": lambda value: _is_hex(value) and len(value) == 32,
    "hub_id": lambda value: value is None or (_is_hex(value) and len(value) == 32),
    "actor": lambda value: value is None or _is_text(value),
    "rows": _is_rows,
    "wiped": lambda value: isinstance(value, bool),
    "backups": lambda value: isinstance(value, list) and all(map(_is_text, value)),
}
