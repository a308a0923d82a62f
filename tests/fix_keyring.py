"""Keyrings in memory that behave and misbehave, registered where the session's would be."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError, PasswordSetError

SESSION = keyring.get_keyring()
"""Asked for before there are others: the library knows every class of a backend."""


class Memory(KeyringBackend):
    """A keyring that keeps what it is given while the test runs."""

    priority = 5  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.entries:
            raise PasswordDeleteError("not found")
        del self.entries[service, username]


class Plaintext(Memory):
    """As the keyrings of keyrings.alt are: better than none, they say of themselves."""

    priority = 0.5  # type: ignore[assignment]


class Refusing(Memory):
    """Says no, and quotes what it was given."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise PasswordSetError(f"cannot store {password}")


class Silent(Memory):
    """Waits for a user that is not there."""

    def get_password(self, service: str, username: str) -> str | None:
        sleep(5)
        return None


class Forgetful(Memory):
    """Takes all and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        return


@pytest.fixture
def session() -> Iterator[None]:
    """The session's keyring, put back."""
    yield
    keyring.set_keyring(SESSION)


@pytest.fixture
def memory(session: None) -> Memory:
    made = Memory()
    keyring.set_keyring(made)
    return made
