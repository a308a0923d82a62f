"""CryptoError and its family.

CryptoError
└── NetworkRefused       4  the network policy keeps this path closed
"""

from __future__ import annotations


class CryptoError(Exception):
    """The crypto provider or its policy said no. `hint` tells how to mend it."""

    code = "crypto_failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class NetworkRefused(CryptoError):
    """A network path is closed; no socket was opened."""

    code = "network_refused"
    exit_code = 4
