"""wolfCrypt in FIPS mode: only a build that the operator attested, and only the very file.

wolfSSL's FIPS builds are sold, and what `wolfCrypt_GetVersion_fips` answers proves nothing: a
library of sixty lines can answer the same. The operator records the library's SHA-256 and the
number of its certificate; what is loaded must be that file, and call itself a FIPS build.
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from pathlib import Path

from satchel_crypto.errors import FipsRefused, ProviderUnavailable
from satchel_crypto.fips.mapped import Mapped, loaded

HINT = (
    "record them in the config: [crypto] wolfcrypt_sha256 and wolfcrypt_certificate,"
    ' or set provider = "openssl"'
)
_FIPS_FUNCTIONS = ("wolfCrypt_GetStatus_fips", "wolfCrypt_GetVersion_fips")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attestation:
    """What the operator recorded: SHA-256 of the library in hex, number of its certificate."""

    sha256: str
    certificate: str


def require(attestation: Attestation | None) -> None:
    """Refuse a wolfCrypt that is loaded and is not the attested FIPS build.

    Raises FipsRefused, ProviderUnavailable.
    """
    try:
        binding = importlib.import_module("wolfcrypt._ffi").__file__
    except ImportError as error:
        raise ProviderUnavailable(
            f"wolfcrypt is not installed: {error}", hint="docs/CRYPTO.md says how"
        ) from None
    require_library(_wolfssl(str(binding)), attestation)


def require_library(library: Mapped, attestation: Attestation | None) -> None:
    """The same for a library that is loaded."""
    if not _says_so(library.path):
        raise _refused(f"{library.path} is no FIPS build of wolfSSL")
    if attestation is None or not attestation.sha256 or not attestation.certificate.strip():
        raise _refused(f"the operator has not attested {library.path}", HINT)
    if _sha256(library.content()) != attestation.sha256.lower():
        raise _refused(f"{library.path} is not the library that the operator attested", HINT)


def _wolfssl(binding: str) -> Mapped:
    """The file whose functions the binding calls: libwolfssl, or itself where it is linked in."""
    files = loaded()
    address = ctypes.cast(ctypes.CDLL(binding).wolfCrypt_Init, ctypes.c_void_p).value
    found = next((one for one in files.values() if one.holds(address, code=True)), None)
    if found is None:
        raise _refused(f"the wolfSSL of {binding} is no file")
    return found


def _says_so(path: Path) -> bool:
    library = ctypes.CDLL(str(path))
    if not all(hasattr(library, name) for name in _FIPS_FUNCTIONS):
        return False
    return bool(library.wolfCrypt_GetStatus_fips() == 0)


def _refused(why: str, hint: str = 'set crypto.provider = "openssl"') -> FipsRefused:
    return FipsRefused(f"FIPS mode refuses wolfcrypt: {why}", hint=hint, field="crypto.provider")


def _sha256(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data, usedforsecurity=False).hexdigest()
