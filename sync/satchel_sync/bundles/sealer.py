"""The contract of what hashes, seals and signs a bundle: sync has no cryptography of its own."""

from __future__ import annotations

from typing import Protocol


class Sealer(Protocol):
    """One suite of algorithms with the keys to use it; named in the header of a bundle."""

    @property
    def name(self) -> str:
        """1 to 16 characters of ASCII."""
        ...

    def digest(self, data: bytes) -> bytes:
        """SHA-256 of `data`, 32 bytes, whatever the suite."""
        ...

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """`plain` for the recipient's eyes; it opens under the same context only.

        At most 1 KiB longer than `plain`.
        """
        ...

    def open(self, sealed: bytes, context: bytes) -> bytes:
        """Inverse of `seal`. Raises BundleInvalid where it was changed or the context differs."""
        ...

    def sign(self, data: bytes) -> bytes:
        """A signature of the sender over `data`."""
        ...

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether a sender that is trusted here signed `data`."""
        ...
