"""The sealer that seals nothing: bundles of the suite `plain` can be read and made by anybody.

Its hashes find damage, not forgery. It is used where somebody asked for it in so many words.
"""

from __future__ import annotations


class PlainSealer:
    """`Sealer` and `Opener` of bundles in the clear; its signature is a hash."""

    name = "plain"
    recipients: tuple[tuple[bytes, bytes], ...] = ()

    def digest(self, data: bytes) -> bytes:
        """SHA-256 of `data`."""
        from hashlib import sha256  # it loads OpenSSL

        return sha256(data).digest()

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """`plain` as it is."""
        return plain

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """`sealed` as it is."""
        return sealed

    def sign(self, data: bytes) -> bytes:
        """The hash of `data`."""
        return self.digest(data)

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether `signature` is the hash of `data`."""
        return self.digest(data) == signature
