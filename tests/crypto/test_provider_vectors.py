"""Published answers, by every provider: NIST CAVP, RFCs, Wycheproof."""

from __future__ import annotations

import pytest
from fix_providers import Case, having, vectors

from satchel_crypto.algorithms import Agreement, Cipher, Derivation, Hash, Signature
from satchel_crypto.errors import KeyInvalid, SealedInvalid
from satchel_crypto.provider import Provider
from satchel_crypto.providers.arguments import MAC_KEY_BYTES_MIN


def hexed(case: Case, *names: str) -> list[bytes]:
    return [bytes.fromhex(case[name]) for name in names]


def of(file: str, kind: str, algorithm: str) -> list[Case]:
    found = [case for case in vectors(file) if case[kind] == algorithm]
    assert found, f"{file}.json has no vector of {algorithm}"
    return found


def wrong(cases: list[Case], fits: object) -> list[str]:
    assert callable(fits)
    return [case["origin"] for case in cases if not fits(case)]


@pytest.mark.parametrize("algorithm", Hash)
def test_digest(provider: Provider, algorithm: Hash) -> None:
    def fits(case: Case) -> bool:
        message, digest = hexed(case, "message", "digest")
        return provider.digest(algorithm, message) == digest

    assert not wrong(of("sha2", "hash", algorithm), fits)


def test_mac(provider: Provider) -> None:
    def fits(case: Case) -> bool:
        key, message, mac = hexed(case, "key", "message", "mac")
        if len(key) < MAC_KEY_BYTES_MIN:
            with pytest.raises(KeyInvalid):
                provider.mac(key, message)
            return True
        return provider.mac(key, message) == mac

    assert not wrong(list(vectors("hmac")), fits)


def test_hkdf(provider: Provider) -> None:
    def fits(case: Case) -> bool:
        key, salt, info, derived = hexed(case, "key", "salt", "info", "derived")
        return provider.hkdf(key, salt=salt, info=info, length=case["length"]) == derived

    assert not wrong(list(vectors("hkdf")), fits)


def test_pbkdf2(provider: Provider) -> None:
    def fits(case: Case) -> bool:
        password, salt, derived = hexed(case, "password", "salt", "derived")
        return derived == provider.pbkdf2(
            password, salt=salt, iterations=case["iterations"], length=len(derived)
        )

    assert not wrong(list(vectors("pbkdf2")), fits)


def test_argon2id(provider: Provider) -> None:
    if not having(provider, [Derivation.ARGON2ID]):
        return  # that it is refused is in the contract

    def fits(case: Case) -> bool:
        password, salt, derived = hexed(case, "password", "salt", "derived")
        return derived == provider.argon2id(
            password, salt=salt, passes=case["passes"], memory_kib=case["memory_kib"],
            length=len(derived),
        )  # fmt: skip

    assert not wrong(list(vectors("argon2id")), fits)


def test_seal_and_open(provider: Provider) -> None:
    for cipher in having(provider, Cipher):

        def fits(case: Case, cipher: Cipher = cipher) -> bool:
            key, nonce, context, sealed = hexed(case, "key", "nonce", "context", "sealed")
            if case["plain"] is None:
                with pytest.raises(SealedInvalid):
                    provider.open(cipher, key, nonce, sealed, context)
                return True
            plain = bytes.fromhex(case["plain"])
            return (
                provider.seal(cipher, key, nonce, plain, context) == sealed
                and provider.open(cipher, key, nonce, sealed, context) == plain
            )

        assert not wrong(of("sealed", "cipher", cipher), fits)


def test_verify(provider: Provider) -> None:
    for algorithm in having(provider, Signature):

        def fits(case: Case, algorithm: Signature = algorithm) -> bool:
            public, message, signature = hexed(case, "public", "message", "signature")
            return provider.verify(algorithm, public, message, signature) is case["valid"]

        assert not wrong(of("signatures", "algorithm", algorithm), fits)


def test_sign_gives_the_published_signature_of_ed25519(provider: Provider) -> None:
    if Signature.ED25519 not in provider.algorithms:
        return

    def fits(case: Case) -> bool:
        private, message, signature = hexed(case, "private", "message", "signature")
        return provider.sign(Signature.ED25519, private, message) == signature

    known = [case for case in vectors("signatures") if "private" in case]
    assert known
    assert not wrong(known, fits)


def test_public_of(provider: Provider) -> None:
    for algorithm in having(provider, Signature):

        def fits(case: Case, algorithm: Signature = algorithm) -> bool:
            private, public = hexed(case, "private", "public")
            return provider.public_of(algorithm, private) == public

        assert not wrong(of("keys", "algorithm", algorithm), fits)


def test_agree(provider: Provider) -> None:
    for algorithm in having(provider, Agreement):

        def fits(case: Case, algorithm: Agreement = algorithm) -> bool:
            private, public = hexed(case, "private", "public")
            if case["secret"] is None:
                with pytest.raises(KeyInvalid):
                    provider.agree(algorithm, private, public)
                return True
            return provider.agree(algorithm, private, public) == bytes.fromhex(case["secret"])

        assert not wrong(of("agreements", "algorithm", algorithm), fits)


def test_public_keys_that_are_none(provider: Provider) -> None:
    for algorithm in having(provider, [Agreement.ECDH_P256, Agreement.ECDH_P384]):
        private, _ = provider.agreement_key(algorithm)

        def takes(public: bytes, private: bytes = private, a: Agreement = algorithm) -> bool:
            try:
                provider.agree(a, private, public)
            except KeyInvalid:
                return False
            return True

        def fits(case: Case, takes: object = takes) -> bool:
            assert callable(takes)
            return takes(bytes.fromhex(case["public"])) is case["valid"]

        assert not wrong(of("public_keys", "algorithm", algorithm), fits)
