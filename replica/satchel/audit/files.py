"""Exported chains as files: a new one that only its owner reads, and one that is verified."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from satchel.audit.exported import LINE_CHARS_MAX, Read
from satchel.errors import ConfirmationNeeded, InvalidInput, OutputFailed
from satchel.plain_file import opener
from satchel.protection import key_store
from satchel.whole_file import whole_file
from satchel_crypto.errors import AuditBroken, SignerUnknown
from satchel_crypto.signer import Signer, signer_of

if TYPE_CHECKING:
    from satchel.config import Settings
    from satchel_crypto.keystore import KeyStore


@contextmanager
def new_file(path: Path) -> Iterator[IO[str]]:
    """A file to write, whole or not at all. Raises ConfirmationNeeded, OutputFailed."""
    try:
        with whole_file(path, overwrite=False) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=True)
            try:
                yield text
            finally:
                text.detach()
    except FileExistsError as error:
        raise ConfirmationNeeded(
            f"{path} is there already", hint="give another name", field="file"
        ) from error
    except OSError as error:
        raise OutputFailed(f"{path} cannot be written: {error.strerror}") from error


@contextmanager
def lines_of(path: Path) -> Iterator[Iterator[str]]:
    """The lines of a file, each cut where it is longer than any that satchel writes.

    Raises InvalidInput where it cannot be read.
    """
    try:
        raw = io.BufferedReader(io.FileIO(path, "r", opener=opener))
        with io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace") as file:
            yield iter(lambda: file.readline(LINE_CHARS_MAX + 1), "")
    except OSError as error:
        said = error.strerror or error
        raise InvalidInput(f"{path} cannot be read: {said}", field="file") from error


def shown(found: Sequence[Read], settings: Settings) -> dict[str, Any]:
    """The answer of `audit verify FILE`: what was walked, and by whom it is signed."""
    keys = key_store(settings)
    signers = [_signer(one, keys) for one in found]
    return {
        "ok": all(one.verdict.ok for one in found) and all(map(_is_trusted, signers)),
        "chains": [
            {
                "chain": one.verdict.chain,
                "replica_id": one.verdict.replica_id,
                "ok": one.verdict.ok,
                "records": one.verdict.records,
                "first": one.verdict.first,
                "last": one.verdict.last,
                "head": one.verdict.link.hex(),
                "signer": signer.as_dict() if signer else None,
            }
            for one, signer in zip(found, signers, strict=True)
        ],
    }


def require_trusted(found: Sequence[Read], settings: Settings) -> None:
    """Raise AuditBroken for the first break, SignerUnknown for a head that no friend signed."""
    keys = key_store(settings)
    for one in found:
        if (broken := one.verdict.broken) is not None:
            raise AuditBroken(
                f"{broken.chain} at record {broken.seq}: {broken.fault} ({broken.message})"
            )
        signer = _signer(one, keys)
        if not _is_trusted(signer):
            raise SignerUnknown(
                f"the head of {one.verdict.chain} is signed by {_told(signer)}",
                hint="`satchel key trust FILE` with the key file of the machine that exported it",
            )


def _signer(found: Read, keys: KeyStore) -> Signer | None:
    if found.signed is None:
        return None
    return signer_of(keys, found.signed, speaking_for=found.verdict.replica_id)


def _told(signer: Signer | None) -> str:
    if signer is None:
        return "nobody"
    if signer.name is None:
        return signer.key_id
    return f"{signer.name} ({signer.key_id}), who cannot speak for this replica"


def _is_trusted(signer: Signer | None) -> bool:
    return signer is not None and signer.trusted
