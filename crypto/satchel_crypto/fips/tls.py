"""TLS that Python speaks: which cipher suites a context would offer, held against FIPS mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from satchel_crypto.errors import FipsRefused, KeyInvalid
from satchel_crypto.fips import mode

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

_APPROVED = re.compile(
    # TLS 1.3 (RFC 8446), and of 1.2 what agrees by ephemeral keys and authenticates by AES-GCM.
    r"TLS_AES_(128|256)_GCM_SHA(256|384)|(ECDHE-(ECDSA|RSA)|DHE-RSA)-AES(128|256)-GCM-SHA(256|384)"
)
CIPHERS_1_2 = "ECDHE+AESGCM:DHE+AESGCM:!aNULL:!PSK:!DSS"
"""For `set_ciphers`, so that a context passes; those of TLS 1.3 are what the module has."""


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS of a server that shows this certificate: 1.2 or newer, AES-GCM with ephemeral keys.

    Raises KeyInvalid for files that cannot be used, FipsRefused.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS_1_2)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    try:
        # A password would be asked for at a terminal, where a server has none.
        context.load_cert_chain(certificate, key, password=lambda: "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or "it is sealed"
        raise KeyInvalid(
            f"the certificate {certificate} with the key {key} cannot be used: {why}",
            hint="both are PEM files, and the key has no passphrase",
        ) from error
    require_approved(context)
    return context


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
