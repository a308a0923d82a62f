"""Foreign bytes at the primitives of every provider: a signature that fits nothing, no point, no
ciphertext. The answer is False or a typed error, whatever the library behind would have raised."""

from __future__ import annotations

import pytest
from fix_fuzz import EXAMPLES, changed, require_told
from fix_providers import having
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto.algorithms import (
    NONCE_BYTES,
    PRIVATE_BYTES,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    Agreement,
    Cipher,
    Signature,
)
from satchel_crypto.errors import CryptoError, KeyInvalid, SealedInvalid
from satchel_crypto.provider import Provider

SAID = b"what was signed"
EDGES = [b"\0", b"\xff", b"\x04", b"\x02", b"\x01"]


def of_length(length: int) -> st.SearchStrategy[bytes]:
    """Bytes that are as long as they have to be, mostly."""
    return st.one_of(
        st.binary(min_size=length, max_size=length),
        st.sampled_from([edge * length for edge in EDGES]),
        st.binary(min_size=length - 1, max_size=length - 1).map(lambda rest: b"\x04" + rest),
        st.binary(max_size=2 * length),
    )


def require_silent(error: CryptoError, key: bytes) -> None:
    """It has words, and nothing of the key is among them."""
    require_told(error)
    assert len(key) < 8 or key.hex() not in str(error)
    assert len(key) < 8 or repr(key)[2:-1] not in str(error)


@pytest.mark.parametrize("algorithm", Signature)
@EXAMPLES
@given(data=st.data())
def test_signatures(provider: Provider, algorithm: Signature, data: st.DataObject) -> None:
    if algorithm not in provider.algorithms:
        pytest.skip(f"{provider.name} does not sign with {algorithm}")
    private, public = provider.signing_key(algorithm)
    good = provider.sign(algorithm, private, SAID)
    assert provider.verify(algorithm, public, SAID, good)
    value = data.draw(st.one_of(of_length(SIGNATURE_BYTES[algorithm]), changed(good)))
    assert value == good or not provider.verify(algorithm, public, SAID, value)
    other = data.draw(st.one_of(of_length(PUBLIC_BYTES[algorithm]), changed(public)))
    assert other == public or not provider.verify(algorithm, other, SAID, good)


@pytest.mark.parametrize("algorithm", Agreement)
@EXAMPLES
@given(data=st.data())
def test_public_keys_of_strangers(
    provider: Provider, algorithm: Agreement, data: st.DataObject
) -> None:
    if algorithm not in provider.algorithms:
        pytest.skip(f"{provider.name} does not agree by {algorithm}")
    private, public = provider.agreement_key(algorithm)
    value = data.draw(st.one_of(of_length(PUBLIC_BYTES[algorithm]), changed(public)))
    try:
        shared = provider.agree(algorithm, private, value)
    except KeyInvalid as error:
        require_silent(error, value)
    else:
        assert any(shared)
        assert len(value) == PUBLIC_BYTES[algorithm]


@EXAMPLES
@given(data=st.data())
def test_private_keys_of_files(provider: Provider, data: st.DataObject) -> None:
    kinds = having(provider, [*Signature, *Agreement])
    algorithm = data.draw(st.sampled_from(kinds))
    value = data.draw(of_length(PRIVATE_BYTES[algorithm]))
    try:
        public = provider.public_of(algorithm, value)
    except KeyInvalid as error:
        require_silent(error, value)
    else:
        assert len(public) == PUBLIC_BYTES[algorithm]


@EXAMPLES
@given(data=st.data())
def test_ciphertexts(provider: Provider, data: st.DataObject) -> None:
    cipher = data.draw(st.sampled_from(having(provider, Cipher)))
    key, nonce = b"k" * 32, b"n" * NONCE_BYTES[cipher]
    good = provider.seal(cipher, key, nonce, SAID, b"context")
    value = data.draw(st.one_of(st.binary(max_size=80), changed(good)))
    if value != good:
        with pytest.raises(SealedInvalid):
            provider.open(cipher, key, nonce, value, b"context")
    with pytest.raises(CryptoError):
        provider.open(cipher, data.draw(st.binary(max_size=31)), nonce, good, b"context")
