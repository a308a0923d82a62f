"""What every provider keeps of `Provider`, whatever library it has; answers are in the vectors.

A method of the Protocol is tested by the functions that bear its name.
"""

from __future__ import annotations

import inspect
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_providers import KEY, SALT, cipher_of, flipped, having, provider_named

from satchel_crypto.algorithms import (
    PRIVATE_BYTES,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    SUITES,
    TAG_BYTES,
    Agreement,
    Derivation,
    Hash,
    Mac,
    Signature,
)
from satchel_crypto.errors import (
    AlgorithmRefused,
    KeyInvalid,
    SealedInvalid,
)
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES

MEMBERS = sorted(name for name in vars(Provider) if not name.startswith("_"))

# ---- the contract itself ------------------------------------------------------------------------


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_of_the_protocol_has_a_test_here(member: str) -> None:
    tests = [name for name in globals() if re.fullmatch(rf"test_{member}(_.*)?", name)]
    assert tests, f"no test of Provider.{member}: write one called test_{member}_…"


def test_a_provider_has_no_public_member_but_these(provider: Provider) -> None:
    assert sorted(name for name in dir(provider) if not name.startswith("_")) == MEMBERS


@pytest.mark.parametrize("member", [name for name in MEMBERS if inspect.isfunction(
    getattr(Provider, name))])  # fmt: skip
def test_a_provider_takes_what_the_protocol_says(provider: Provider, member: str) -> None:
    said = list(inspect.signature(getattr(Provider, member)).parameters.values())[1:]
    had = list(inspect.signature(getattr(provider, member)).parameters.values())
    assert [(one.name, one.kind, one.default) for one in had] == [
        (one.name, one.kind, one.default) for one in said
    ]


# ---- what it is ---------------------------------------------------------------------------------


def test_name(provider: Provider) -> None:
    assert provider.name in NAMES


def test_suite_is_one_that_it_can_write(provider: Provider) -> None:
    suite = provider.suite
    assert suite in SUITES
    assert {suite.cipher, suite.signature, suite.agreement} <= provider.algorithms


def test_algorithms_hold_what_all_need(provider: Provider) -> None:
    needed = {*Hash, *Mac, Derivation.HKDF_SHA256, Derivation.PBKDF2_SHA256}
    assert needed <= provider.algorithms


def test_fips_is_not_claimed(provider: Provider) -> None:
    assert provider.fips is False


def test_version_tells_the_library_in_words(provider: Provider) -> None:
    words = {"openssl": "OpenSSL", "nacl": "libsodium", "wolfcrypt": "wolfSSL"}
    assert words[provider.name] in provider.version()
    assert re.search(r"\d+\.\d+", provider.version())


# ---- randomness, digests, MACs ------------------------------------------------------------------


def test_random(provider: Provider) -> None:
    assert provider.random(0) == b""
    blocks = {provider.random(16) for _ in range(100)}
    assert len(blocks) == 100
    assert {len(block) for block in blocks} == {16}
    with pytest.raises(ValueError):  # noqa: PT011 - the kernel's words differ
        provider.random(-1)


@pytest.mark.parametrize("algorithm", Hash)
def test_digest_of_much(provider: Provider, algorithm: Hash) -> None:
    whole = provider.digest(algorithm, bytes(2**20 + 1))
    assert whole == provider_named("openssl").digest(algorithm, bytes(2**20 + 1))


def test_mac_of_much_depends_on_all_of_it(provider: Provider) -> None:
    whole = provider.mac(KEY, bytes(2**20 + 1))
    assert whole == provider_named("nacl").mac(KEY, bytes(2**20 + 1))
    assert whole != provider.mac(KEY, bytes(2**20))
    assert whole != provider.mac(KEY[::-1], bytes(2**20 + 1))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [(b"", b"", True), (b"a", b"a", True), (b"a", b"b", False), (b"a", b"aa", False)],
)
def test_same(provider: Provider, left: bytes, right: bytes, same: bool) -> None:
    assert provider.same(left, right) is same


# ---- derivation ---------------------------------------------------------------------------------


def test_hkdf_takes_an_empty_salt_for_zeros(provider: Provider) -> None:
    longest = provider.hkdf(KEY, salt=b"", info=b"i", length=8160)
    assert len(longest) == 8160
    assert longest[:40] == provider.hkdf(KEY, salt=bytes(32), info=b"i", length=40)
    assert longest[:32] != provider.hkdf(KEY, salt=b"", info=b"j")


def test_pbkdf2_depends_on_each_argument(provider: Provider) -> None:
    first = provider.pbkdf2(b"p", salt=SALT, iterations=2)
    assert len(first) == 32
    others = {
        provider.pbkdf2(b"q", salt=SALT, iterations=2),
        provider.pbkdf2(b"p", salt=bytes(15), iterations=2),
        provider.pbkdf2(b"p", salt=SALT, iterations=3),
        provider.pbkdf2(b"", salt=SALT, iterations=2),
        provider.pbkdf2(b"p", salt=b"", iterations=2),
    }
    assert len(others | {first}) == 6


def test_argon2id_is_there_or_refused(provider: Provider) -> None:
    def derive(password: bytes = b"p", passes: int = 1, memory: int = 8) -> bytes:
        return provider.argon2id(password, salt=SALT, passes=passes, memory_kib=memory)

    if Derivation.ARGON2ID not in provider.algorithms:
        with pytest.raises(AlgorithmRefused, match="argon2id"):
            derive()
        return
    assert len({derive(), derive(b"q"), derive(passes=2), derive(memory=16)}) == 4
    assert len(derive()) == 32
    for bad in ({"passes": 0}, {"passes": 65}, {"memory": 7}, {"memory": 2**20 + 1}):
        with pytest.raises(KeyInvalid):
            derive(**bad)
    with pytest.raises(KeyInvalid):
        provider.argon2id(b"p", salt=bytes(15), passes=1, memory_kib=8)
    with pytest.raises(KeyInvalid):
        provider.argon2id(b"p", salt=SALT, passes=1, memory_kib=8, length=15)


# ---- sealing ------------------------------------------------------------------------------------


def test_seal_adds_a_tag_and_no_more(provider: Provider) -> None:
    cipher, nonce = cipher_of(provider)
    for plain in (b"", b"a", bytes(2**20 + 1)):
        sealed = provider.seal(cipher, KEY, nonce, plain, b"")
        assert len(sealed) == len(plain) + TAG_BYTES
        assert provider.open(cipher, KEY, nonce, sealed, b"") == plain


def test_open_refuses_every_changed_bit_and_length(provider: Provider) -> None:
    cipher, nonce = cipher_of(provider)
    sealed = provider.seal(cipher, KEY, nonce, b"plain", b"context")
    changed = {
        *((KEY, nonce, flipped(sealed, bit), b"context") for bit in range(len(sealed) * 8)),
        *((KEY, flipped(nonce, bit), sealed, b"context") for bit in range(len(nonce) * 8)),
        *((flipped(KEY, bit), nonce, sealed, b"context") for bit in range(0, 256, 5)),
        *((KEY, nonce, sealed, flipped(b"context", bit)) for bit in range(56)),
        *((KEY, nonce, sealed[:length], b"context") for length in range(len(sealed))),
        *((KEY, nonce, sealed[length:], b"context") for length in range(1, len(sealed))),
        (KEY, nonce, sealed + b"\0", b"context"),
        (KEY, nonce, sealed, b""),
        (KEY, nonce, sealed, b"context\0"),
        (KEY, nonce[:-1], sealed, b"context"),
        (KEY, nonce + b"\0", sealed, b"context"),
        (KEY, b"", sealed, b"context"),
    }
    said = set()
    for key, other_nonce, other, context in changed:
        with pytest.raises(SealedInvalid) as refused:
            provider.open(cipher, key, other_nonce, other, context)
        said.add(str(refused.value))
    assert len(said) == 1, "an error tells which part was wrong"


# ---- keys and signatures ------------------------------------------------------------------------


def test_signing_key_is_new_and_of_its_size(provider: Provider) -> None:
    for algorithm in having(provider, Signature):
        pairs = {provider.signing_key(algorithm) for _ in range(5)}
        assert len(pairs) == 5
        for private, public in pairs:
            assert (len(private), len(public)) == (
                PRIVATE_BYTES[algorithm],
                PUBLIC_BYTES[algorithm],
            )
            assert provider.public_of(algorithm, private) == public


def test_agreement_key_is_new_and_of_its_size(provider: Provider) -> None:
    for algorithm in having(provider, Agreement):
        pairs = {provider.agreement_key(algorithm) for _ in range(5)}
        assert len(pairs) == 5
        for private, public in pairs:
            assert (len(private), len(public)) == (
                PRIVATE_BYTES[algorithm],
                PUBLIC_BYTES[algorithm],
            )
            assert provider.public_of(algorithm, private) == public


def test_public_of_is_the_same_for_both_uses_of_a_curve(provider: Provider) -> None:
    for one, other in (
        (Signature.ECDSA_P256, Agreement.ECDH_P256),
        (Signature.ECDSA_P384, Agreement.ECDH_P384),
    ):
        if one in provider.algorithms:
            private, public = provider.signing_key(one)
            assert provider.public_of(other, private) == public


def test_sign_has_a_fixed_length_whatever_leads_with_zeros(provider: Provider) -> None:
    for algorithm in having(provider, [Signature.ECDSA_P256]):
        private, public = provider.signing_key(algorithm)
        for number in range(20_000):
            signature = provider.sign(algorithm, private, b"%d" % number)
            assert len(signature) == SIGNATURE_BYTES[algorithm]
            if signature[0] == 0 or signature[32] == 0:
                assert provider.verify(algorithm, public, b"%d" % number, signature)
                break
        else:
            pytest.fail("no r or s with a leading zero came")


def test_agree_has_a_fixed_length_whatever_leads_with_zeros(provider: Provider) -> None:
    for algorithm in having(provider, [Agreement.ECDH_P256]):
        private, _ = provider.agreement_key(algorithm)
        for _ in range(20_000):
            _, other = provider.agreement_key(algorithm)
            secret = provider.agree(algorithm, private, other)
            assert len(secret) == 32
            if secret[0] == 0:
                assert secret == provider_named("openssl").agree(algorithm, private, other)
                break
        else:
            pytest.fail("no secret with a leading zero came")


def test_verify_refuses_every_changed_part(provider: Provider) -> None:
    for algorithm in having(provider, Signature):
        private, public = provider.signing_key(algorithm)
        _, stranger = provider.signing_key(algorithm)
        signature = provider.sign(algorithm, private, b"data")
        half = len(signature) // 2
        assert provider.verify(algorithm, public, b"data", signature)
        changed = [
            *((public, b"data", flipped(signature, bit)) for bit in range(0, half * 16, 3)),
            *((flipped(public, bit), b"data", signature) for bit in range(0, len(public) * 8, 7)),
            *((public, b"data", signature[:length]) for length in (0, 1, half, half * 2 - 1)),
            (public, b"data", signature + b"\0"),
            (public, b"data", b"\0" + signature),
            (public, b"data", signature[half:] + signature[:half]),
            (public, b"data\0", signature),
            (public, b"", signature),
            (stranger, b"data", signature),
            (public[:-1], b"data", signature),
            (public + b"\0", b"data", signature),
            (b"", b"data", signature),
        ]
        for key, data, other in changed:
            assert provider.verify(algorithm, key, data, other) is False


# ---- threads ------------------------------------------------------------------------------------


def test_threads_share_a_provider(provider: Provider) -> None:
    cipher, nonce = cipher_of(provider)
    signature, agreement = provider.suite.signature, provider.suite.agreement
    private, public = provider.signing_key(signature)
    mine, my_public = provider.agreement_key(agreement)
    theirs, their_public = provider.agreement_key(agreement)
    secret = provider.agree(agreement, mine, their_public)

    def work(number: int) -> list[bytes]:
        signatures = []
        for _ in range(8):
            data = provider.random(100)
            sealed = provider.seal(cipher, KEY, nonce, data, b"")
            assert provider.open(cipher, KEY, nonce, sealed, b"") == data
            assert provider.agree(agreement, theirs, my_public) == secret
            signatures.append(provider.sign(signature, private, data))
            assert provider.verify(signature, public, data, signatures[-1])
        return signatures

    with ThreadPoolExecutor(8) as pool:
        signed = [one for signatures in pool.map(work, range(8)) for one in signatures]
    heads = {one[: len(one) // 2] for one in signed}
    assert len(heads) == len(signed), "two signatures with one nonce give the private key away"
