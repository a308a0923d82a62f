"""The envelope: what one key sealed for one place opens there, whole, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from satchel_crypto import envelope
from satchel_crypto.algorithms import BY_CODE, SUITES
from satchel_crypto.envelope import Envelope, Keys, Purpose, SymmetricKey
from satchel_crypto.errors import (
    AlgorithmRefused,
    CryptoError,
    KeyInvalid,
    KeyMissing,
    ProviderUnavailable,
    SealedInvalid,
)
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES
from satchel_crypto.registry import provider as provider_named

PLAIN = b"the secret of this test"
CONTEXT = b"vault: github, version 3"


@cache
def available(name: str) -> Provider | None:
    try:
        return provider_named(name)
    except ProviderUnavailable:
        return None


@pytest.fixture
def key(provider: Provider) -> SymmetricKey:
    return SymmetricKey.new(provider)


@pytest.fixture
def sealed(provider: Provider, key: SymmetricKey) -> bytes:
    return envelope.seal(provider, key, PLAIN, Purpose.VAULT_SECRET, CONTEXT)


def opened(provider: Provider, key: SymmetricKey, sealed: bytes) -> bytes:
    return envelope.open(provider, Keys(key), sealed, Purpose.VAULT_SECRET, CONTEXT)


# ---- what opens ---------------------------------------------------------------------------------


@pytest.mark.parametrize("plain", [b"", b"\0", b"x" * 65_536, bytes(range(256))])
def test_what_was_sealed_comes_back(provider: Provider, key: SymmetricKey, plain: bytes) -> None:
    sealed = envelope.seal(provider, key, plain, Purpose.COLUMN, b"")
    assert envelope.open(provider, Keys(key), sealed, Purpose.COLUMN, b"") == plain
    assert plain not in sealed or len(plain) < 2
    assert key.secret not in sealed


@settings(max_examples=50, deadline=None)
@given(
    name=st.sampled_from(NAMES), plain=st.binary(max_size=300), context=st.binary(max_size=100),
    purpose=st.sampled_from(Purpose),
)  # fmt: skip
def test_any_plain_any_context(name: str, plain: bytes, context: bytes, purpose: Purpose) -> None:
    provider = available(name)
    if provider is None:
        return
    key = SymmetricKey.new(provider)
    sealed = envelope.seal(provider, key, plain, purpose, context)
    assert envelope.open(provider, Keys(key), sealed, purpose, context) == plain
    with pytest.raises(SealedInvalid):
        envelope.open(provider, Keys(key), sealed, purpose, context + b"\0")


def test_the_layout_is_the_one_of_the_table(provider: Provider, key: SymmetricKey) -> None:
    sealed = envelope.seal(provider, key, PLAIN, Purpose.VAULT_SECRET, CONTEXT)
    nonce_bytes = {1: 12, 2: 12, 3: 24}[provider.suite.code]
    assert sealed[:7] == b"SATE\x01" + bytes([provider.suite.code, 1])
    assert sealed[7:23] == key.id
    assert len(sealed) == 39 + nonce_bytes + len(PLAIN) + 16
    found = Envelope.parse(sealed)
    assert found.header + found.sealed == sealed
    assert (found.salt, found.nonce) == (sealed[23:39], sealed[39 : 39 + nonce_bytes])


def test_the_same_twice_looks_different(provider: Provider, key: SymmetricKey) -> None:
    made = [
        Envelope.parse(envelope.seal(provider, key, PLAIN, Purpose.COLUMN, b"")) for _ in range(50)
    ]
    assert len({(one.salt, one.nonce) for one in made}) == 50
    assert len({one.salt for one in made}) == len({one.nonce for one in made}) == 50
    assert len({one.sealed for one in made}) == 50


def test_each_envelope_has_a_key_of_its_own(provider: Provider, key: SymmetricKey) -> None:
    """So the bare key opens nothing: no envelope spends its random nonces (SP 800-38D, 8.3)."""
    sealed = envelope.seal(provider, key, PLAIN, Purpose.COLUMN, b"")
    found = Envelope.parse(sealed)
    own = provider.hkdf(key.secret, salt=sealed[23:39], info=sealed[:23], length=32)
    context = found.header
    assert provider.open(found.suite.cipher, own, found.nonce, found.sealed, context) == PLAIN
    with pytest.raises(SealedInvalid):
        provider.open(found.suite.cipher, key.secret, found.nonce, found.sealed, context)


# ---- rotation -----------------------------------------------------------------------------------


def test_after_a_rotation_old_and_new_open(provider: Provider) -> None:
    keys = Keys(SymmetricKey.new(provider))
    written = []
    for number in range(3):
        plain = bytes([number])
        sealed = envelope.seal(provider, keys.sealing, plain, Purpose.COLUMN, b"row")
        written.append((plain, sealed))
        assert Envelope.parse(sealed).key_id == keys.sealing.id
        keys = keys.rotated(SymmetricKey.new(provider))
    for plain, sealed in written:
        assert envelope.open(provider, keys, sealed, Purpose.COLUMN, b"row") == plain
    assert len(list(keys)) == 4


def test_a_key_that_is_not_here_is_named(provider: Provider, key: SymmetricKey) -> None:
    sealed = envelope.seal(provider, key, PLAIN, Purpose.COLUMN, b"")
    others = Keys(SymmetricKey.new(provider)).rotated(SymmetricKey.new(provider))
    with pytest.raises(KeyMissing, match=key.id.hex()) as raised:
        envelope.open(provider, others, sealed, Purpose.COLUMN, b"")
    assert raised.value.exit_code == 3


def test_another_key_under_the_same_id_opens_nothing(
    provider: Provider, key: SymmetricKey, sealed: bytes
) -> None:
    impostor = SymmetricKey(key.id, SymmetricKey.new(provider).secret)
    with pytest.raises(SealedInvalid, match=key.id.hex()):
        opened(provider, impostor, sealed)


def test_two_keys_of_one_id_are_refused(provider: Provider, key: SymmetricKey) -> None:
    with pytest.raises(KeyInvalid, match="same id"):
        Keys(key).rotated(key)


@pytest.mark.parametrize(("id_bytes", "secret_bytes"), [(15, 32), (17, 32), (16, 31), (16, 0)])
def test_keys_of_a_wrong_length(id_bytes: int, secret_bytes: int) -> None:
    with pytest.raises(KeyInvalid):
        SymmetricKey(b"i" * id_bytes, b"s" * secret_bytes)


def test_no_repr_shows_a_key(provider: Provider, key: SymmetricKey, sealed: bytes) -> None:
    shown = repr(key) + repr(Keys(key)) + str(key) + f"{Keys(key)}" + repr(Envelope.parse(sealed))
    assert key.id.hex() in shown
    assert key.secret.hex() not in shown
    assert repr(key.secret)[2:-1] not in shown


# ---- what does not open -------------------------------------------------------------------------


def test_every_bit_counts(provider: Provider, key: SymmetricKey, sealed: bytes) -> None:
    assert opened(provider, key, sealed) == PLAIN
    for place in range(len(sealed)):
        for bit in range(8):
            changed = bytearray(sealed)
            changed[place] ^= 1 << bit
            with pytest.raises((SealedInvalid, KeyMissing, AlgorithmRefused)) as raised:
                opened(provider, key, bytes(changed))
            assert raised.type is expected_error(place, changed[place], provider), (place, bit)


def expected_error(place: int, value: int, provider: Provider) -> type[CryptoError]:
    """Which error a changed byte brings."""
    if 7 <= place < 23:
        return KeyMissing
    if place == 5 and not (
        value in BY_CODE and BY_CODE[value].cipher in provider.algorithms
    ):  # fmt: skip
        return AlgorithmRefused
    return SealedInvalid


def test_cut_and_lengthened(provider: Provider, key: SymmetricKey, sealed: bytes) -> None:
    for length in range(len(sealed)):
        with pytest.raises(SealedInvalid):
            opened(provider, key, sealed[:length])
    for tail in (b"\0", sealed, b"x" * 1000):
        with pytest.raises(SealedInvalid):
            opened(provider, key, sealed + tail)


@pytest.mark.parametrize(
    "context", [b"", CONTEXT[:-1], CONTEXT + b"\0", b"vault: github, version 2"]
)
def test_moved_to_another_place(
    provider: Provider, key: SymmetricKey, sealed: bytes, context: bytes
) -> None:
    with pytest.raises(SealedInvalid, match="another place"):
        envelope.open(provider, Keys(key), sealed, Purpose.VAULT_SECRET, context)


def test_moved_to_another_purpose(provider: Provider, key: SymmetricKey, sealed: bytes) -> None:
    for purpose in set(Purpose) - {Purpose.VAULT_SECRET}:
        with pytest.raises(SealedInvalid, match="holds a vault secret, not a"):
            envelope.open(provider, Keys(key), sealed, purpose, CONTEXT)
        relabelled = sealed[:6] + bytes([purpose]) + sealed[7:]
        with pytest.raises(SealedInvalid, match="was changed"):
            envelope.open(provider, Keys(key), relabelled, purpose, CONTEXT)


def test_bytes_moved_between_header_and_context_do_not_open(
    provider: Provider, key: SymmetricKey
) -> None:
    """Header ‖ context is read in one way only: the header's length follows from its suite."""
    sealed = envelope.seal(provider, key, PLAIN, Purpose.COLUMN, b"ab")
    body_at = len(Envelope.parse(sealed).header)
    longer = sealed[:body_at] + b"a" + sealed[body_at:]
    with pytest.raises(SealedInvalid):
        envelope.open(provider, Keys(key), longer, Purpose.COLUMN, b"b")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no envelope"),
        (b"S", "cut off: it ends at byte 1 of at least 39"),
        (b"SATE\x01\x01\x01", "cut off: it ends at byte 7"),
        (b"PK\x03\x04" + b"\0" * 100, "no envelope"),
        (b"SATE\x02\x01\x01" + b"\0" * 100, "version 2, this satchel reads 1"),
        (b"SATE\x00\x01\x01" + b"\0" * 100, "version 0"),
        (b"SATE\x01\x01\x00" + b"\0" * 100, "purpose 0: there is none"),
        (b"SATE\x01\x01\xff" + b"\0" * 100, "purpose 255"),
        (b"SATE\x01\x01\x01" + b"\0" * 59, "ends at byte 66 of at least 67"),
        (b"SATE\x01\x03\x01" + b"\0" * 71, "ends at byte 78 of at least 79"),
    ],
)
def test_what_is_no_envelope(data: bytes, says: str) -> None:
    with pytest.raises(SealedInvalid, match=says):
        Envelope.parse(data)


def test_an_unknown_suite_is_named() -> None:
    for code in set(range(256)) - set(BY_CODE):
        with pytest.raises(AlgorithmRefused, match=f"suite {code},"):
            Envelope.parse(b"SATE\x01" + bytes([code, 1]) + b"\0" * 100)


def test_too_much_is_refused_on_both_sides(
    provider: Provider, key: SymmetricKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope, "PLAIN_BYTES_MAX", 100)
    most = envelope.seal(provider, key, b"x" * 100, Purpose.FILE, b"")
    assert envelope.open(provider, Keys(key), most, Purpose.FILE, b"") == b"x" * 100
    with pytest.raises(SealedInvalid, match="101 bytes are too many"):
        envelope.seal(provider, key, b"x" * 101, Purpose.FILE, b"")
    with pytest.raises(SealedInvalid, match="more than any envelope"):
        envelope.open(provider, Keys(key), most + b"x" * 13, Purpose.FILE, b"")


# ---- between providers --------------------------------------------------------------------------


def test_what_one_seals_another_opens_where_it_has_the_cipher(provider: Provider) -> None:
    key = SymmetricKey.new(provider)
    sealed = envelope.seal(provider, key, PLAIN, Purpose.VAULT_SECRET, CONTEXT)
    for name in NAMES:
        other = available(name)
        if other is None:
            continue
        if provider.suite.cipher in other.algorithms:
            assert opened(other, key, sealed) == PLAIN
        else:
            with pytest.raises(AlgorithmRefused, match=provider.suite.name) as raised:
                opened(other, key, sealed)
            assert other.name in str(raised.value)
            assert provider.suite.cipher in str(raised.value)


def test_all_suites_of_one_cipher_are_read(provider: Provider, key: SymmetricKey) -> None:
    """P-384 and P-256 seal alike: their difference is between machines."""
    for suite in SUITES:
        if suite.cipher not in provider.algorithms:
            continue
        mark = Envelope(
            suite=suite, purpose=Purpose.VAULT_SECRET, key_id=key.id,
            salt=provider.random(16), nonce=b"", sealed=b"",
        )  # fmt: skip
        nonce = provider.random(24 if suite.code == 3 else 12)
        header = replace(mark, nonce=nonce).header
        own = provider.hkdf(key.secret, salt=header[23:39], info=header[:23], length=32)
        body = provider.seal(suite.cipher, own, nonce, PLAIN, header + CONTEXT)
        assert opened(provider, key, header + body) == PLAIN
