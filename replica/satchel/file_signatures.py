"""Signatures that lie beside a file: `FILE.sig`, and the signer's public key in `signer.pem`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel.errors import ConfirmationNeeded, InvalidInput, OutputFailed
from satchel.plain_file import opener
from satchel.protection import key_store
from satchel.whole_file import whole_file

if TYPE_CHECKING:
    from satchel.config import Settings

SIGNATURE = ".sig"
SIGNER = "signer.pem"


def sign(settings: Settings, file: Path, *, overwrite: bool = False) -> dict[str, Any]:
    """Sign a file with this machine's key; both files beside it are written anew.

    Raises InvalidInput, ConfirmationNeeded (one is there), OutputFailed, KeyInvalid.
    """
    from satchel_crypto import detached
    from satchel_crypto.signed import key_id

    keys = key_store(settings)
    signed = detached.sign(keys.provider, keys.signing(), _read(file, detached.FILE_BYTES_MAX))
    signature, pem = detached.write(signed)
    written = {_beside(file): signature, file.with_name(SIGNER): pem}
    there = [path for path in written if path.exists()]
    if there and not overwrite:
        raise ConfirmationNeeded(f"{there[0]} is there already", hint="--yes writes over it")
    for path, data in written.items():
        _write(path, data)
    return {
        "file": str(file),
        "signature": str(_beside(file)),
        "public_key": str(file.with_name(SIGNER)),
        "algorithm": signed.algorithm.value,
        "key_id": key_id(keys.provider, signed.algorithm, signed.public).hex(),
    }


def verify(settings: Settings, file: Path) -> dict[str, Any]:
    """Whose signature lies beside a file; `signer.who` is `this machine`, `trusted` or `unknown`.

    Raises SignatureInvalid where it does not fit, InvalidInput for a file that cannot be read,
    KeyInvalid, AlgorithmRefused.
    """
    from satchel_crypto import detached
    from satchel_crypto.errors import SignatureInvalid
    from satchel_crypto.signer import signer_of

    keys = key_store(settings)
    data = _read(file, detached.FILE_BYTES_MAX)
    signature = _read(_beside(file), detached.SIGNATURE_BYTES_MAX)
    pem = _read(file.with_name(SIGNER), detached.PEM_BYTES_MAX)
    signed = detached.read(signature, pem)
    if not detached.fits(keys.provider, signed, data):
        raise SignatureInvalid(
            f"{file} is not what the signer of {_beside(file).name} signed",
            hint="get both again from who made them",
        )
    return {
        "file": str(file),
        "signature": "fits",
        "signer": signer_of(keys, signed).as_dict(),
    }


def _beside(file: Path) -> Path:
    return file.with_name(file.name + SIGNATURE)


def _read(path: Path, bytes_max: int) -> bytes:
    try:
        with open(path, "rb", opener=opener) as opened:
            found = opened.read(bytes_max + 1)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{path} cannot be read: {reason}", field="file") from error
    if len(found) > bytes_max:
        raise InvalidInput(f"{path} has more than {bytes_max} bytes", field="file")
    return found


def _write(path: Path, data: bytes) -> None:
    try:
        with whole_file(path, overwrite=True) as out:
            out.write(data)
    except OSError as error:
        raise OutputFailed(f"{path} cannot be written: {error.strerror}", field="file") from error
