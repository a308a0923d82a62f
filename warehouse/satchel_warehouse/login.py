"""A DSN and the password that goes with it, where the password is kept elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Login:
    """A DSN without a password. `password` is called once libpq has found none of its own.

    It may take a while, raise what it likes and say None; it is called for each connection.
    """

    dsn: str = field(repr=False)
    password: Callable[[], str | None] = field(repr=False)


Dsn = str | Login
"""What names a warehouse."""
