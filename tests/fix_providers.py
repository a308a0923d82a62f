"""The crypto providers under test, and the published vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest

from satchel_crypto.algorithms import NONCE_BYTES, Algorithm, Cipher
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES

VECTORS = Path(__file__).parent / "vectors" / "crypto"
KEY = bytes(range(32))
SALT = bytes(16)
Case = dict[str, Any]
Kind = TypeVar("Kind", bound=Algorithm)


@cache
def _made(name: str) -> Provider | None:
    """One outside FIPS mode, past the registry, whose mode is decided once a process."""
    if name == "openssl":
        from satchel_crypto.providers.openssl import OpenSsl

        return OpenSsl()
    if name == "nacl":
        from satchel_crypto.providers.nacl import Nacl

        return Nacl()
    try:
        from satchel_crypto.providers.wolfcrypt import WolfCrypt
    except ProviderUnavailable:
        return None
    return WolfCrypt()


def provider_named(name: str) -> Provider:
    """That provider; the test is skipped where wolfSSL is missing, in CI it fails."""
    made = _made(name)
    if made is None:
        pytest.skip("needs the system package libwolfssl-dev")
    return made


@pytest.fixture(params=NAMES, scope="session")
def provider(request: pytest.FixtureRequest) -> Provider:
    """Each provider in turn."""
    return provider_named(request.param)


def having(provider: Provider, algorithms: Iterable[Kind]) -> list[Kind]:
    """Those of `algorithms` that the provider has."""
    return [algorithm for algorithm in algorithms if algorithm in provider.algorithms]


@cache
def vectors(name: str) -> tuple[Case, ...]:
    """The cases of a file; `origin` says where each was published."""
    cases: list[Case] = json.loads((VECTORS / f"{name}.json").read_bytes())["cases"]
    return tuple(cases)


def cipher_of(provider: Provider) -> tuple[Cipher, bytes]:
    """The cipher that a provider writes with, and a nonce for it."""
    cipher = provider.suite.cipher
    return cipher, bytes(range(NONCE_BYTES[cipher]))


def flipped(data: bytes, bit: int) -> bytes:
    """`data` with one bit changed."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
