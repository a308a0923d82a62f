"""Providers by name: the only place that constructs one."""

from __future__ import annotations

from functools import cache

from satchel_crypto.errors import AlgorithmRefused
from satchel_crypto.provider import Provider

NAMES = ("openssl", "nacl", "wolfcrypt")


@cache
def provider(name: str = "openssl", *, fips: bool = False) -> Provider:
    """The provider of that name; with `fips` in FIPS mode, proved and self-tested first.

    Raises ProviderUnavailable, AlgorithmRefused for an unknown name, FipsRefused where the mode
    cannot be proved. Once one was constructed in FIPS mode no other exists in this process.
    """
    from satchel_crypto.fips import mode

    mode.require(name, wanted=fips)
    made = _made(name, fips)
    return mode.tested(made) if fips else made


def _made(name: str, fips: bool) -> Provider:
    match name:
        case "openssl":
            from satchel_crypto.providers.openssl import OpenSsl

            return OpenSsl(fips=fips)
        case "nacl":
            from satchel_crypto.providers.nacl import Nacl

            return Nacl()
        case "wolfcrypt":
            from satchel_crypto.providers.wolfcrypt import WolfCrypt

            return WolfCrypt(fips=fips)
    raise AlgorithmRefused(
        f"there is no crypto provider {name!r}", hint=f"one of: {', '.join(NAMES)}"
    )
