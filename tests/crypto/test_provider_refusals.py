"""What every provider refuses: wrong lengths, what it does not have, what is no bytes."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest
from fix_providers import KEY, SALT, cipher_of, provider_named

from satchel_crypto.algorithms import (
    APPROVED,
    NONCE_BYTES,
    PRIVATE_BYTES,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    Agreement,
    Cipher,
    Hash,
    Signature,
)
from satchel_crypto.errors import AlgorithmRefused, CryptoError, FipsRefused, KeyInvalid
from satchel_crypto.provider import Provider
from satchel_crypto.providers import arguments
from satchel_crypto.providers.openssl import OpenSsl
from satchel_crypto.registry import NAMES, provider

Call = Callable[[Provider], object]

# ---- arguments ----------------------------------------------------------------------------------

BAD_LENGTHS: dict[str, Call] = {
    "mac, key of 15": lambda p: p.mac(bytes(15), b""),
    "mac, no key": lambda p: p.mac(b"", b""),
    "hkdf, key of 15": lambda p: p.hkdf(bytes(15), salt=b"", info=b""),
    "hkdf, nothing": lambda p: p.hkdf(KEY, salt=b"", info=b"", length=0),
    "hkdf, less": lambda p: p.hkdf(KEY, salt=b"", info=b"", length=-1),
    "hkdf, too much": lambda p: p.hkdf(KEY, salt=b"", info=b"", length=8161),
    "pbkdf2, nothing": lambda p: p.pbkdf2(b"p", salt=SALT, iterations=1, length=0),
    "pbkdf2, too much": lambda p: p.pbkdf2(b"p", salt=SALT, iterations=1, length=1025),
    "pbkdf2, no iteration": lambda p: p.pbkdf2(b"p", salt=SALT, iterations=0),
    "pbkdf2, less": lambda p: p.pbkdf2(b"p", salt=SALT, iterations=-1),
    "pbkdf2, for hours": lambda p: p.pbkdf2(b"p", salt=SALT, iterations=2**31),
    **{
        f"{what}, key of {length}": lambda p, what=what, length=length: getattr(p, what)(
            cipher_of(p)[0], bytes(length), cipher_of(p)[1], bytes(16), b""
        )
        for what in ("seal", "open")
        for length in (0, 16, 24, 31, 33)
    },
    **{
        f"seal, nonce of {length}": lambda p, length=length: p.seal(
            cipher_of(p)[0], KEY, bytes(length), b"", b""
        )
        for length in (0, 8, 11, 13, 16, 23, 25)
    },
    **{
        f"{what}, private key of {length}": lambda p, what=what, length=length: (
            p.sign(p.suite.signature, bytes([1] * length), b"")
            if what == "sign"
            else p.public_of(p.suite.signature, bytes([1] * length))
            if what == "public_of"
            else p.agree(p.suite.agreement, bytes([1] * length), bytes(65))
        )
        for what in ("sign", "public_of", "agree")
        for length in (0, 1, 31, 33, 48)
    },
    **{
        f"agree, public key of {length}": lambda p, length=length: p.agree(
            p.suite.agreement, bytes([1] * 32), bytes([4] * length)
        )
        for length in (0, 1, 31, 33, 64, 66, 97)
    },
}


@pytest.mark.parametrize("call", BAD_LENGTHS.values(), ids=BAD_LENGTHS.keys())
def test_a_wrong_length_is_refused_before_the_library(provider: Provider, call: Call) -> None:
    with pytest.raises(KeyInvalid):
        call(provider)


def test_no_error_tells_what_it_was_given(provider: Provider) -> None:
    secret = b"SECRETsecretSECRETsecretSECRETsecret"
    cipher, nonce = cipher_of(provider)
    signature, agreement = provider.suite.signature, provider.suite.agreement
    calls: tuple[Call, ...] = (
        lambda p: p.mac(secret[:15], secret),
        lambda p: p.seal(cipher, secret, nonce, secret, secret),
        lambda p: p.seal(cipher, secret[:32], secret[:9], secret, secret),
        lambda p: p.open(cipher, secret[:32], nonce, secret, secret),
        lambda p: p.sign(signature, secret, secret),
        lambda p: p.public_of(agreement, secret),
        lambda p: p.agree(agreement, secret, secret),
        lambda p: p.agree(agreement, secret[:32], b"\4" + secret * 2),
    )
    for call in calls:
        with pytest.raises(CryptoError) as refused:
            call(provider)
        told = "".join(traceback.format_exception(refused.value)) + repr(refused.value)
        told += refused.value.hint
        assert "SECRET" not in told
        assert secret[:4].hex() not in told


def test_bytes_in_another_dress_give_the_same_answer_or_none(provider: Provider) -> None:
    cipher, nonce = cipher_of(provider)
    sealed = provider.seal(cipher, KEY, nonce, b"plain", b"context")
    private, public = provider.signing_key(provider.suite.signature)
    signature = provider.sign(provider.suite.signature, private, b"data")
    mine, _ = provider.agreement_key(provider.suite.agreement)
    _, theirs = provider.agreement_key(provider.suite.agreement)
    calls: dict[str, tuple[object, ...]] = {
        "digest": (Hash.SHA256, b"data"),
        "mac": (KEY, b"data"),
        "seal": (cipher, KEY, nonce, b"plain", b"context"),
        "open": (cipher, KEY, nonce, sealed, b"context"),
        "verify": (provider.suite.signature, public, b"data", signature),
        "public_of": (provider.suite.signature, private),
        "agree": (provider.suite.agreement, mine, theirs),
        "same": (KEY, KEY),
    }
    for method, given in calls.items():
        call = getattr(provider, method)
        answer = call(*given)
        for dress in (bytearray, memoryview):
            dressed = [dress(one) if isinstance(one, bytes) else one for one in given]
            try:
                assert call(*dressed) == answer, method
            except TypeError:
                continue
        for position, one in enumerate(given):
            if isinstance(one, bytes) and method != "same":
                texts = [*given[:position], "x" * len(one), *given[position + 1 :]]
                try:
                    assert call(*texts) is False, method  # no public key, says `verify`
                except (TypeError, CryptoError):
                    continue


def test_what_it_does_not_have_is_refused_by_name(provider: Provider) -> None:
    assert_refused(provider)


def assert_refused(provider: Provider) -> None:
    """Each algorithm that the provider lacks is refused by every method that takes one."""
    calls: list[tuple[str, Call]] = []
    for cipher in Cipher:
        nonce = bytes(NONCE_BYTES[cipher])
        calls += [
            (cipher, lambda p, c=cipher, n=nonce: p.seal(c, KEY, n, b"", b"")),
            (cipher, lambda p, c=cipher, n=nonce: p.open(c, KEY, n, bytes(16), b"")),
        ]
    for algorithm in Signature:
        private, public = bytes([1] * PRIVATE_BYTES[algorithm]), bytes(PUBLIC_BYTES[algorithm])
        signature = bytes(SIGNATURE_BYTES[algorithm])
        calls += [
            (algorithm, lambda p, a=algorithm: p.signing_key(a)),
            (algorithm, lambda p, a=algorithm, k=private: p.public_of(a, k)),
            (algorithm, lambda p, a=algorithm, k=private: p.sign(a, k, b"")),
            (algorithm, lambda p, a=algorithm, k=public, s=signature: p.verify(a, k, b"", s)),
        ]
    for agreement in Agreement:
        private, public = bytes([1] * PRIVATE_BYTES[agreement]), bytes(PUBLIC_BYTES[agreement])
        calls += [
            (agreement, lambda p, a=agreement: p.agreement_key(a)),
            (agreement, lambda p, a=agreement, k=private: p.public_of(a, k)),
            (agreement, lambda p, a=agreement, k=private, q=public: p.agree(a, k, q)),
        ]
    for name, call in calls:
        if name not in provider.algorithms:
            with pytest.raises(AlgorithmRefused, match=name):
                call(provider)


# ---- FIPS mode, as far as a provider alone keeps it ---------------------------------------------


def test_in_fips_mode_there_is_nothing_but_what_is_approved() -> None:
    strict = OpenSsl(fips=True)
    assert strict.fips is True
    assert strict.algorithms == APPROVED
    assert len(strict.random(32)) == 32
    assert_refused(strict)
    with pytest.raises(AlgorithmRefused):
        strict.argon2id(b"p", salt=SALT, passes=1, memory_kib=8)
    for salt, iterations in ((bytes(15), 1000), (SALT, 999)):
        with pytest.raises(KeyInvalid, match="FIPS"):
            strict.pbkdf2(b"p", salt=salt, iterations=iterations)
    assert len(strict.pbkdf2(b"p", salt=SALT, iterations=1000)) == 32


@pytest.mark.parametrize("name", NAMES)
def test_in_fips_mode_no_other_provider_is_constructed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(provider_named(name))
    monkeypatch.setattr(arguments, "active", lambda: True)
    with pytest.raises(FipsRefused, match=name):
        kind()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AlgorithmRefused, match="rot13"):
        provider("rot13")
