"""What a store of secrets does, and which names and values it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from satchel_crypto.errors import CryptoError, SecretMissing

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
NAMES_MAX = 1000
VALUE_BYTES_MAX = 64 * 1024
VERSION_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What may be told of a secret: never its value. `version` counts its values from 1."""

    name: str
    version: int
    updated_at: int
    """UTC, ms."""


class SecretStore(Protocol):
    """Secrets by name; any number of processes may use one at once."""

    @property
    def place(self) -> str:
        """Where they lie, in words."""
        ...

    def set(self, name: str, value: str) -> Listed:
        """Keep a value, in place of an older one of that name."""
        ...

    def get(self, name: str) -> str:
        """The value. Raises SecretMissing."""
        ...

    def list(self) -> list[Listed]:
        """Every name in order; needs no passphrase."""
        ...

    def delete(self, name: str) -> Listed:
        """Remove a name and its value. Raises SecretMissing."""
        ...


def require_name(name: str) -> str:
    """`name`, if it can be one; the message does not repeat it: it may be a mistyped secret."""
    if NAME.fullmatch(name):
        return name
    raise CryptoError(
        "that cannot be the name of a secret",
        hint="1 to 63 of a-z 0-9 . _ -, a letter or digit first: `warehouse.password`",
        field="name",
    )


def require_value(value: str) -> str:
    """`value`, if it can be kept: some text without NUL. No message repeats any of it."""
    for position, character in enumerate(value):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            what = "NUL" if character == "\0" else "a lone surrogate"
            raise CryptoError(f"the secret has {what} at position {position}", field="value")
    if not value:
        raise CryptoError("the secret is empty", hint="nothing was kept", field="value")
    if len(value.encode("utf-8")) > VALUE_BYTES_MAX:
        raise CryptoError(f"a secret has at most {VALUE_BYTES_MAX} bytes", field="value")
    return value


def missing(name: str, place: str) -> SecretMissing:
    """The error of a name that is not there."""
    return SecretMissing(
        f"{place} has no secret {name!r}",
        hint=f"`satchel secret set {name}` keeps one; `satchel secret list` shows what is there",
        field="name",
    )
