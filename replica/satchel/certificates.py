"""Checking a certificate of erasure: what it says, and who signed it. It needs no store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import InvalidInput
from satchel.plain_file import opener
from satchel.protection import key_store

if TYPE_CHECKING:
    from satchel.config import Settings


def verify(settings: Settings, path: Path) -> dict[str, Any]:
    """The certificate in a file (or in the answer of `memory forget`), and whose it is.

    `signer.who` is `this machine`, `trusted` or `unknown`: the signature of an unknown one, or of
    one who is trusted for another machine, fits and proves nothing. Raises SignatureInvalid for one
    that was changed or is none, InvalidInput for a file that cannot be read, AlgorithmRefused.
    """
    from satchel_crypto.certificate import Certificate
    from satchel_crypto.signer import signer_of

    keys = key_store(settings)
    found = Certificate.parse(_read(path), keys.provider)
    return {
        "file": str(path),
        "signature": "fits",
        "signer": signer_of(keys, found.signed, speaking_for=found.replica_id).as_dict(),
        "certificate": {name: one for name, one in found.document.items() if name != "signature"},
    }


def _read(path: Path) -> bytes:
    from satchel_crypto.certificate import BYTES_MAX

    try:
        with open(path, "rb", opener=opener) as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{path} cannot be read: {reason}", field="file") from error
