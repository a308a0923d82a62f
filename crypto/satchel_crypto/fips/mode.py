"""The mode of this process: decided once, by the first that asks for cryptography, irreversible.

undecided ─> plain                         ordinary providers
          └> FIPS ─> locked                a self-test failed: nothing is computed any more
"""

from __future__ import annotations

from enum import Enum
from functools import wraps
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, cast

from satchel_crypto.errors import CryptoError, FipsRefused, SelfTestFailed

if TYPE_CHECKING:
    from satchel_crypto.fips.attested import Attestation
    from satchel_crypto.fips.proof import Proof
    from satchel_crypto.provider import Provider


class Mode(Enum):
    """What this process may compute with."""

    UNDECIDED = "undecided"
    PLAIN = "plain"
    FIPS = "fips"
    LOCKED = "locked"


_lock = RLock()
_mode = Mode.UNDECIDED
_proof: Proof | None = None
_fault = ""
_folder: Path | None = None
_attestation: Attestation | None = None


def active() -> bool:
    """Whether this process is in FIPS mode, locked or not."""
    return _mode in (Mode.FIPS, Mode.LOCKED)


def proof() -> Proof | None:
    """What was proved when FIPS mode began; None outside of it."""
    return _proof


def configure(folder: Path, attestation: Attestation | None = None) -> None:
    """Where the module lies and what the operator recorded of a wolfCrypt; before FIPS mode begins.

    Raises FipsRefused where this process is in FIPS mode with something else.
    """
    global _folder, _attestation
    with _lock:
        if active() and (folder.resolve(), attestation) != (_resolved(_folder), _attestation):
            raise FipsRefused(f"this process is in FIPS mode with the module in {_folder}")
        _folder, _attestation = folder, attestation


def plain() -> None:
    """Decide against FIPS mode. Raises FipsRefused where this process is in it."""
    global _mode
    with _lock:
        require_unlocked()
        if active():
            raise FipsRefused("this process is in FIPS mode: it does no other cryptography")
        _mode = Mode.PLAIN


def require(name: str, *, wanted: bool) -> None:
    """Enter FIPS mode if it is `wanted`, for the provider `name`; refuse to go on without it.

    Raises FipsRefused where the mode cannot be proved, where this process did other cryptography
    before, or where the mode was entered before and is not wanted now.
    """
    if not wanted:
        plain()
        return
    if name == "nacl":
        raise FipsRefused(
            "the crypto provider nacl has no validated module: FIPS mode never takes it",
            hint='set crypto.provider = "openssl"',
            field="crypto.provider",
        )
    if name == "wolfcrypt":
        from satchel_crypto.fips import attested

        attested.require(_attestation)
    enter()


def enter() -> Proof:
    """Begin FIPS mode with the configured module, or the one that is loaded, once it is proved.

    Raises FipsRefused; SelfTestFailed where this process is locked.
    """
    global _mode, _proof, _folder
    with _lock:
        require_unlocked()
        if _mode is Mode.PLAIN:
            raise FipsRefused(
                "FIPS mode was asked for after this process began without it",
                hint="decide it at the start: SATCHEL_FIPS=1 in the environment of the process",
                field="crypto.fips_mode",
            )
        if _proof is None:
            from satchel_crypto.fips.proof import prove

            _proof = prove(_folder)
            _folder, _mode = _proof.folder, Mode.FIPS
        return _proof


def require_unlocked() -> None:
    """Raises SelfTestFailed once a self-test has failed in this process."""
    if _mode is Mode.LOCKED:
        raise SelfTestFailed(
            f"this process does no more cryptography: {_fault}",
            hint="start it again; if it fails again, install the FIPS module anew",
        )


def lock(fault: str) -> None:
    """Do no more cryptography in this process; `fault` says which self-test failed."""
    global _mode, _fault
    with _lock:
        _mode, _fault = Mode.LOCKED, fault


def tested(made: Provider) -> Provider:
    """A provider of FIPS mode: self-tested now, and refusing everything once one has failed.

    Raises SelfTestFailed.
    """
    from satchel_crypto import selftest

    try:
        selftest.run(made)
    except CryptoError as error:
        lock(str(error))
        raise
    return cast("Provider", _Guarded(made))


def random(count: int) -> bytes:
    """`count` bytes from the module's generator. Raises ValueError for a negative count."""
    require_unlocked()
    import ssl  # proved when the mode began

    return ssl.RAND_bytes(count)


def _resolved(folder: Path | None) -> Path | None:
    return folder.resolve() if folder else None


class _Guarded:
    """A provider whose every use first asks whether the process is locked."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        require_unlocked()
        found = getattr(self._inner, name)
        if not callable(found):
            return found

        @wraps(found)
        def call(*arguments: Any, **named: Any) -> Any:
            require_unlocked()
            return found(*arguments, **named)

        return call
