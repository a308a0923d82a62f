"""What one provider seals, signs or agrees on, another opens, verifies and agrees on."""

from __future__ import annotations

from itertools import permutations

import pytest
from fix_providers import KEY, SALT, provider_named
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto.algorithms import NONCE_BYTES, Agreement, Cipher, Hash, Signature
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES

PAIRS = list(permutations(NAMES, 2))


@pytest.fixture(params=PAIRS, ids="-".join, scope="session")
def pair(request: pytest.FixtureRequest) -> tuple[Provider, Provider]:
    """Two providers, in either order."""
    one, other = request.param
    return provider_named(one), provider_named(other)


def common(pair: tuple[Provider, Provider]) -> frozenset[object]:
    one, other = pair
    return one.algorithms & other.algorithms


def test_each_pair_has_something_to_share(pair: tuple[Provider, Provider]) -> None:
    kinds = {type(algorithm) for algorithm in common(pair)}
    if {one.name for one in pair} == {"openssl", "wolfcrypt"}:
        assert {Cipher, Signature, Agreement} <= kinds
    else:
        assert Signature in kinds


@given(data=st.binary(max_size=300))
def test_digests_macs_and_derived_keys(pair: tuple[Provider, Provider], data: bytes) -> None:
    one, other = pair
    for algorithm in Hash:
        assert one.digest(algorithm, data) == other.digest(algorithm, data)
    assert one.mac(KEY + data, data) == other.mac(KEY + data, data)
    length = 1 + len(data)
    assert one.hkdf(KEY, salt=data, info=data, length=length) == other.hkdf(
        KEY, salt=data, info=data, length=length
    )
    assert one.pbkdf2(data, salt=SALT, iterations=3, length=length) == other.pbkdf2(
        data, salt=SALT, iterations=3, length=length
    )


@given(plain=st.binary(max_size=200), context=st.binary(max_size=40))
def test_sealed_here_opened_there(
    pair: tuple[Provider, Provider], plain: bytes, context: bytes
) -> None:
    one, other = pair
    for cipher in Cipher:
        if cipher in common(pair):
            nonce = one.random(NONCE_BYTES[cipher])
            sealed = one.seal(cipher, KEY, nonce, plain, context)
            assert other.open(cipher, KEY, nonce, sealed, context) == plain
            assert other.seal(cipher, KEY, nonce, plain, context) == sealed


@pytest.mark.parametrize("algorithm", Signature)
def test_signed_here_verified_there(pair: tuple[Provider, Provider], algorithm: Signature) -> None:
    if algorithm not in common(pair):
        return
    one, other = pair
    for number in range(10):
        private, public = one.signing_key(algorithm)
        assert other.public_of(algorithm, private) == public
        data = b"%d" % number * 100
        assert other.verify(algorithm, public, data, one.sign(algorithm, private, data))
        assert one.verify(algorithm, public, data, other.sign(algorithm, private, data))
        assert not other.verify(algorithm, public, b"", one.sign(algorithm, private, data))


@pytest.mark.parametrize("algorithm", Agreement)
def test_agreed_here_and_there(pair: tuple[Provider, Provider], algorithm: Agreement) -> None:
    if algorithm not in common(pair):
        return
    one, other = pair
    for _ in range(10):
        mine, my_public = one.agreement_key(algorithm)
        theirs, their_public = other.agreement_key(algorithm)
        secret = one.agree(algorithm, mine, their_public)
        assert secret == other.agree(algorithm, theirs, my_public)
        assert secret == other.agree(algorithm, mine, their_public)
