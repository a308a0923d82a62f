"""What the binding of wolfSSL gets wrong by itself, so that what stands in between is needed."""

from __future__ import annotations

from typing import Any

import pytest
from fix_providers import provider_named

from satchel_crypto.algorithms import Signature
from satchel_crypto.provider import Provider


@pytest.fixture(scope="module")
def wolfcrypt() -> Provider:
    return provider_named("wolfcrypt")


def test_the_version_is_that_of_the_library_not_of_the_headers(wolfcrypt: Provider) -> None:
    from satchel_crypto.providers.wolfcrypt_library import library_version

    loaded = library_version()
    assert loaded.count(".") == 2
    assert wolfcrypt.version().endswith(f"wolfSSL {loaded}")


def test_a_point_off_the_curve_is_found_by_our_check_alone(wolfcrypt: Provider) -> None:
    from wolfcrypt.ciphers import ECC_SECP256R1, EccPublic

    from satchel_crypto.providers.wolfcrypt_library import is_on_curve

    key = EccPublic()
    key.decode_key_raw(bytes([1] * 32), bytes([2] * 32), ECC_SECP256R1)  # it does not mind
    assert not is_on_curve(key)


def test_each_call_has_a_generator_of_its_own(
    wolfcrypt: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    from satchel_crypto.providers import wolfcrypt_keys

    made: list[Any] = []
    real = wolfcrypt_keys.Random

    def counted() -> Any:
        made.append(real())
        return made[-1]

    monkeypatch.setattr(wolfcrypt_keys, "Random", counted)
    private, _ = wolfcrypt.signing_key(Signature.ECDSA_P256)
    for _ in range(3):
        wolfcrypt.sign(Signature.ECDSA_P256, private, b"data")
    assert len(made) == 4
