"""Whatever bytes stand where an envelope should: a typed error, at no great cost."""

from __future__ import annotations

import pytest
from fix_fuzz import EXAMPLES, MEGABYTE, NOISE, bounded, changed, cuts, refused
from hypothesis import given
from hypothesis import strategies as st

from satchel_crypto import envelope
from satchel_crypto.algorithms import BY_CODE
from satchel_crypto.envelope import Envelope, Keys, Purpose, SymmetricKey
from satchel_crypto.errors import AlgorithmRefused, KeyMissing, SealedInvalid
from satchel_crypto.registry import provider

REFUSALS = (SealedInvalid, KeyMissing, AlgorithmRefused)
OPENSSL = provider("openssl")
KEY = SymmetricKey(b"i" * 16, b"s" * 32)
PLAIN, CONTEXT = b"what is sealed" * 4, b"where it lies"
GOOD = envelope.seal(OPENSSL, KEY, PLAIN, Purpose.COLUMN, CONTEXT)


def opened(data: bytes) -> bytes:
    return envelope.open(OPENSSL, Keys(KEY), data, Purpose.COLUMN, CONTEXT)


@EXAMPLES
@given(NOISE)
def test_noise(data: bytes) -> None:
    assert refused(opened, data, *REFUSALS)


@EXAMPLES
@given(changed(GOOD, (b"SATE", b"SATE\x01\x01\x03", KEY.id)))
def test_a_good_one_that_was_changed(data: bytes) -> None:
    if data != GOOD:
        assert refused(opened, data, *REFUSALS)
    assert opened(GOOD) == PLAIN


@EXAMPLES
@given(
    version=st.integers(0, 255), suite=st.integers(0, 255), purpose=st.integers(0, 255),
    rest=st.binary(max_size=200),
)  # fmt: skip
def test_any_header(version: int, suite: int, purpose: int, rest: bytes) -> None:
    data = b"SATE" + bytes([version, suite, purpose]) + rest
    assert refused(opened, data, *REFUSALS)
    if refused(Envelope.parse, data, SealedInvalid, AlgorithmRefused) is None:
        found = Envelope.parse(data)
        assert (version, suite in BY_CODE, purpose in set(Purpose)) == (1, True, True)
        assert found.header + found.sealed == data


def test_every_beginning_of_one() -> None:
    for data in cuts(GOOD):
        assert isinstance(refused(opened, data, *REFUSALS), SealedInvalid)


@pytest.mark.parametrize("head", [b"", b"SATE", b"SATE\x01\x01\x03" + KEY.id])
def test_one_of_a_hundred_megabytes_is_refused_unread(head: bytes) -> None:
    data = head + bytes(100 * MEGABYTE)
    with bounded(b""), pytest.raises(SealedInvalid):
        opened(data)
