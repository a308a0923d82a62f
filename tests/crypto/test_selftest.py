"""The self-test passes with every provider, and finds each answer that a broken library gives."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, cast

import pytest
from fix_providers import provider_named

from satchel_crypto import selftest
from satchel_crypto.algorithms import Cipher, Derivation, Hash, Mac, Signature
from satchel_crypto.errors import SelfTestFailed
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES


class Broken:
    """A provider one method of which gives another answer."""

    def __init__(self, inner: Provider, method: str, answer: Callable[..., Any]) -> None:
        self.inner, self.method, self.answer = inner, method, answer

    def __getattr__(self, name: str) -> Any:
        had = getattr(self.inner, name)
        if name != self.method:
            return had
        return lambda *given, **named: self.answer(had(*given, **named))


def changed(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def failed(_: object) -> bytes:
    raise RuntimeError("the library broke")


BREAKS: dict[str, tuple[str, Callable[..., Any], set[str]]] = {
    "digest": ("digest", changed, {*Hash}),
    "mac": ("mac", changed, {*Mac}),
    "hkdf": ("hkdf", changed, {Derivation.HKDF_SHA256}),
    "pbkdf2": ("pbkdf2", changed, {Derivation.PBKDF2_SHA256}),
    "argon2id": ("argon2id", changed, {Derivation.ARGON2ID}),
    "seal": ("seal", changed, {*Cipher}),
    "open": ("open", changed, {*Cipher}),
    "sign": ("sign", changed, {*Signature}),
    "verify says yes": ("verify", lambda _: True, {*Signature}),
    "verify says no": ("verify", lambda _: False, {*Signature}),
    "public_of": ("public_of", changed, {"all keys"}),
    "agree": ("agree", changed, {"all agreements"}),
    "agree fails": ("agree", failed, {"all agreements"}),
    "random": ("random", lambda data: bytes(len(data)), {"random"}),
    "random repeats": ("random", lambda data: bytes(range(len(data))), {"random"}),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_passes_in_time(name: str) -> None:
    provider = provider_named(name)
    selftest.run(provider)  # what is loaded or cached once
    started = time.perf_counter()
    found = selftest.run(provider)
    took = time.perf_counter() - started
    assert {result.name for result in found} == {*provider.algorithms, "random"}
    assert all(result.ok for result in found)
    assert took < 2, "it runs at the start of each process in FIPS mode"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("method", "answer", "finds"), BREAKS.values(), ids=BREAKS.keys())
def test_a_broken_library_is_found(
    name: str, method: str, answer: Callable[..., Any], finds: set[str]
) -> None:
    whole = provider_named(name)
    broken = cast(Provider, Broken(whole, method, answer))
    wrong = {result.name for result in selftest.results(broken) if not result.ok}
    had = {*whole.algorithms, "random"}
    agreements = {algorithm for algorithm in had if "ecdh" in algorithm or algorithm == "x25519"}
    expected = {
        "all agreements": agreements,
        "all keys": agreements | {*Signature},
    }.get(next(iter(finds)), finds)
    assert wrong == expected & had
    if wrong:
        with pytest.raises(SelfTestFailed) as refused:
            selftest.run(broken)
        assert all(algorithm in str(refused.value) for algorithm in wrong)


def test_a_tag_that_is_not_checked_is_found() -> None:
    whole = provider_named("openssl")

    class Unchecked:
        def __getattr__(self, name: str) -> Any:
            return getattr(whole, name)

        def open(self, *given: Any) -> bytes:
            return bytes.fromhex("85fc3dfad9b5a8d3258e4fc44571bd3b")

    found = selftest.results(cast(Provider, Unchecked()))
    assert [result.name for result in found if not result.ok] == [Cipher.AES_256_GCM]


def test_an_algorithm_without_a_test_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(selftest._TESTS, Hash.SHA384)
    with pytest.raises(SelfTestFailed, match="sha-384"):
        selftest.run(provider_named("openssl"))
