"""TLS that Python speaks: which cipher suites a context would offer, held against FIPS mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from satchel_crypto.errors import FipsRefused
from satchel_crypto.fips import mode

if TYPE_CHECKING:
    import ssl

_APPROVED = re.compile(
    # TLS 1.3 (RFC 8446), and of 1.2 what agrees by ephemeral keys and authenticates by AES-GCM.
    r"TLS_AES_(128|256)_GCM_SHA(256|384)|(ECDHE-(ECDSA|RSA)|DHE-RSA)-AES(128|256)-GCM-SHA(256|384)"
)
CIPHERS_1_2 = "ECDHE+AESGCM:DHE+AESGCM:!aNULL:!PSK:!DSS"
"""For `set_ciphers`, so that a context passes; those of TLS 1.3 are what the module has."""


def tls_ciphers(context: ssl.SSLContext) -> tuple[str, ...]:
    """The suites that a context would offer, by name."""
    return tuple(one["name"] for one in context.get_ciphers())


def require_approved(context: ssl.SSLContext) -> None:
    """Refuse a context that offers a suite which FIPS mode does not know, or an old version of TLS.

    Outside of FIPS mode it does nothing. Raises FipsRefused.
    """
    if mode.active():
        refuse_others(context)


def refuse_others(context: ssl.SSLContext) -> None:
    """The same in any mode. Raises FipsRefused naming the suites."""
    import ssl

    offered = tls_ciphers(context)
    others = [name for name in offered if not _APPROVED.fullmatch(name)]
    if others or not offered:
        raise FipsRefused(
            f"TLS would offer what FIPS mode does not know: {', '.join(others) or 'nothing'}",
            hint=f"context.set_ciphers({CIPHERS_1_2!r}), in a process in FIPS mode",
        )
    if context.minimum_version < ssl.TLSVersion.TLSv1_2:
        raise FipsRefused("TLS older than 1.2 would be taken", hint="set `minimum_version`")
