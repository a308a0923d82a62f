"""A pytest plugin: the tests of the cryptography get the openssl provider of FIPS mode."""

from __future__ import annotations

import pytest

from satchel_crypto import registry
from satchel_crypto.fips import mode
from satchel_crypto.provider import Provider

PROOF = mode.enter()  # before anything loads an OpenSSL of its own
_real = registry.provider
_in_fips_mode = _real("openssl", fips=True)._inner  # type: ignore[attr-defined]
"""The provider itself, without its guard: tests look at its class."""


def _provider(name: str = "openssl", *, fips: bool = True) -> Provider:
    return _in_fips_mode if name == "openssl" else _real(name, fips=True)


import fix_providers  # noqa: E402

fix_providers._made = lambda name: _provider(name) if name == "openssl" else None  # type: ignore[assignment]
registry.provider = _provider  # type: ignore[assignment]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the tests ran on, by the proof of it."""
    name = "fips" if _in_fips_mode.fips else "plain"
    terminalreporter.write_line(f"{name}: {PROOF.module.name} {PROOF.module.version}")
