"""What holds for whatever is sealed or signed, by every provider."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from fix_providers import KEY, cipher_of
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto.algorithms import Hash
from satchel_crypto.errors import KeyInvalid, SealedInvalid
from satchel_crypto.provider import Provider

KEYS = st.binary(min_size=32, max_size=32)
TEXTS = st.binary(max_size=300)


@given(key=KEYS, plain=TEXTS, context=TEXTS)
def test_round_trip(provider: Provider, key: bytes, plain: bytes, context: bytes) -> None:
    cipher, nonce = cipher_of(provider)
    sealed = provider.seal(cipher, key, nonce, plain, context)
    assert provider.open(cipher, key, nonce, sealed, context) == plain


@given(plain=TEXTS, contexts=st.lists(TEXTS, min_size=2, max_size=2, unique=True))
def test_another_context_opens_nothing(
    provider: Provider, plain: bytes, contexts: list[bytes]
) -> None:
    cipher, nonce = cipher_of(provider)
    sealed = provider.seal(cipher, KEY, nonce, plain, contexts[0])
    with pytest.raises(SealedInvalid):
        provider.open(cipher, KEY, nonce, sealed, contexts[1])


@given(plain=TEXTS, keys=st.lists(KEYS, min_size=2, max_size=2, unique=True))
def test_another_key_opens_nothing(provider: Provider, plain: bytes, keys: list[bytes]) -> None:
    cipher, nonce = cipher_of(provider)
    sealed = provider.seal(cipher, keys[0], nonce, plain, b"")
    with pytest.raises(SealedInvalid):
        provider.open(cipher, keys[1], nonce, sealed, b"")


@given(key=KEYS, nonce=st.binary(max_size=30), sealed=TEXTS, context=TEXTS)
def test_open_of_anything_is_refused(
    provider: Provider, key: bytes, nonce: bytes, sealed: bytes, context: bytes
) -> None:
    with pytest.raises(SealedInvalid):
        provider.open(provider.suite.cipher, key, nonce, sealed, context)


@given(public=st.binary(max_size=100), data=TEXTS, signature=st.binary(max_size=100))
def test_verify_of_anything_is_false(
    provider: Provider, public: bytes, data: bytes, signature: bytes
) -> None:
    assert provider.verify(provider.suite.signature, public, data, signature) is False


@given(data=TEXTS, other=TEXTS)
def test_a_signature_stands_over_what_was_signed(
    provider: Provider, data: bytes, other: bytes
) -> None:
    algorithm = provider.suite.signature
    private, public = provider.signing_key(algorithm)
    signature = provider.sign(algorithm, private, data)
    assert provider.verify(algorithm, public, data, signature)
    assert provider.verify(algorithm, public, other, signature) is (other == data)


@given(key=st.binary(min_size=16, max_size=200), data=TEXTS)
def test_digests_and_macs_are_those_of_the_standard_library(
    provider: Provider, key: bytes, data: bytes
) -> None:
    assert provider.digest(Hash.SHA256, data) == hashlib.sha256(data).digest()
    assert provider.digest(Hash.SHA384, data) == hashlib.sha384(data).digest()
    assert provider.mac(key, data) == hmac.digest(key, data, "sha256")


@given(key=st.binary(max_size=15))
def test_a_short_key_is_none(provider: Provider, key: bytes) -> None:
    with pytest.raises(KeyInvalid):
        provider.mac(key, b"data")
