"""The contract of what hashes, seals and signs a bundle: sync has no cryptography of its own."""

from __future__ import annotations

from typing import Protocol

Wrap = tuple[bytes, bytes]
"""Id of a recipient's key (16 bytes), and the bundle's key as that recipient can open it."""


class Sealer(Protocol):
    """A suite of algorithms with the sender's keys, made for one bundle."""

    @property
    def name(self) -> str:
        """1 to 16 characters of ASCII; stands in the header."""
        ...

    @property
    def recipients(self) -> tuple[Wrap, ...]:
        """Who can open it; stands in the manifest. Nobody in particular where nothing is sealed."""
        ...

    def digest(self, data: bytes) -> bytes:
        """SHA-256 of `data`, 32 bytes, whatever the suite."""
        ...

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """`plain` for the recipients' eyes; it opens under the same context only.

        At most 1 KiB longer than `plain`.
        """
        ...

    def sign(self, data: bytes) -> bytes:
        """A signature of the sender over `data`."""
        ...


class Opener(Protocol):
    """The same suite with a recipient's keys."""

    def digest(self, data: bytes) -> bytes:
        """SHA-256 of `data`, 32 bytes, whatever the suite."""
        ...

    def open(self, sealed: bytes, context: bytes) -> bytes | None:
        """Inverse of `Sealer.seal`; None where it was changed or the context differs."""
        ...

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether the bundle's sender signed `data`; who that may be is asked before."""
        ...
