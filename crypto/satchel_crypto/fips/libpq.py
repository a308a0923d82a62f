"""The OpenSSL that libpq opens its sockets with: proved before a remote connection in FIPS mode."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import mode
from satchel_crypto.fips.mapped import loaded
from satchel_crypto.fips.proof import Proof, prove_behind

HINT = "install psycopg[c], which uses the system's libpq: docs/CRYPTO.md says how"

_LIBPQ = re.compile(r"libpq[-.][\w.-]*")
_BUNDLED = "psycopg_binary.libs"
"""The folder of the libraries that psycopg's wheel brings along."""


def require_approved(path: str, *, attested: str = "") -> None:
    """Refuse a libpq whose TLS is not done by the FIPS module, unless the operator attests it.

    To be called after psycopg is imported and before it connects to another machine through the
    network path `path`; `attested` is the recorded reason of that path. Outside of FIPS mode it
    does nothing. Raises FipsRefused; no socket was opened.
    """
    proved = _proved()
    if proved is None:
        return
    if attested:
        offer_module()
        return
    try:
        for library in loaded_libpqs():
            if _BUNDLED in library.parts:
                raise FipsRefused(
                    f"{library} is the libpq of psycopg's wheel, with its own OpenSSL"
                )
            prove_behind(library, proved.folder)
    except FipsRefused as refused:
        raise FipsRefused(
            f"FIPS mode: the network path {path!r} stays closed, for {refused}",
            hint=f'{HINT}; or attest the path with a reason: [network."{path}"] attested = "why"',
            field=f"network.{path}",
        ) from None


def offer_module() -> None:
    """Let each libpq load a copy of the module, where it has none: a login needs an HMAC.

    For what is not refused, a server of this machine or an attested path: an OpenSSL that takes no
    copy has, in the environment of FIPS mode, no algorithm at all, and fails by itself.
    """
    proved = _proved()
    if proved is not None:
        with suppress(FipsRefused):
            for library in loaded_libpqs():
                prove_behind(library, proved.folder)


def loaded_libpqs() -> list[Path]:
    """Every libpq of this process. Raises FipsRefused where there is none."""
    found = [path for path in loaded() if _LIBPQ.fullmatch(path.name)]
    if not found:
        raise FipsRefused("no libpq is loaded that could be asked")
    return found


def _proved() -> Proof | None:
    """The proof of FIPS mode; None outside of it. Raises SelfTestFailed where it is locked."""
    mode.require_unlocked()
    return mode.proof()
