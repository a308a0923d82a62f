"""Known-answer tests: whether a provider still computes what was published.

FIPS mode runs them before it hands a provider out, `satchel crypto selftest` at any time. One test
an algorithm; a provider with an algorithm that has none here cannot be tested at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from satchel_crypto.algorithms import (
    Agreement,
    Algorithm,
    Cipher,
    Derivation,
    Hash,
    Mac,
    Signature,
)
from satchel_crypto.errors import SealedInvalid, SelfTestFailed
from satchel_crypto.provider import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One test: the name of its algorithm, and whether the answer was right."""

    name: str
    ok: bool


@dataclass(frozen=True, slots=True)
class _Sealed:
    """What `plain` and `context` become under `key` and `nonce`."""

    key: str
    nonce: str
    plain: str
    context: str
    sealed: str


@dataclass(frozen=True, slots=True)
class _Signed:
    """A key pair, and a signature of it over `message`."""

    private: str
    public: str
    message: bytes
    signature: str


@dataclass(frozen=True, slots=True)
class _Agreed:
    """What a private key and the public one of somebody else have in common."""

    private: str
    public: str
    secret: str


def run(provider: Provider) -> list[Result]:
    """Test every algorithm that the provider has; all are right, or it raises SelfTestFailed."""
    found = results(provider)
    wrong = [result.name for result in found if not result.ok]
    if wrong:
        raise SelfTestFailed(
            f"the crypto provider {provider.name} gives wrong answers: {', '.join(wrong)}",
            hint="do not use it; install its library anew",
        )
    return found


def results(provider: Provider) -> list[Result]:
    """Test every algorithm that the provider has, and its random generator."""
    tests: dict[str, Callable[[Provider], bool]] = {
        algorithm.value: test
        for algorithm, test in _TESTS.items()
        if algorithm in provider.algorithms
    }
    untested = provider.algorithms - _TESTS.keys()
    return [
        *(Result(name=name, ok=_passes(test, provider)) for name, test in tests.items()),
        *(Result(name=algorithm.value, ok=False) for algorithm in sorted(untested)),
        Result(name="random", ok=_passes(_random, provider)),
    ]


def _passes(test: Callable[[Provider], bool], provider: Provider) -> bool:
    try:
        return test(provider)
    except Exception:  # noqa: BLE001 - a broken library may throw anything; every test is told of
        return False


# ---- one test an algorithm ----------------------------------------------------------------------


def _hash(algorithm: Hash, message: bytes, digest: str) -> Callable[[Provider], bool]:
    return lambda provider: provider.digest(algorithm, message) == bytes.fromhex(digest)


def _hmac(provider: Provider) -> bool:
    """RFC 4231, 4.2."""
    mac = provider.mac(b"\x0b" * 20, b"Hi There")
    known = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    return mac == bytes.fromhex(known)


def _hkdf(provider: Provider) -> bool:
    """RFC 5869, A.1."""
    derived = provider.hkdf(
        b"\x0b" * 22, salt=bytes(range(13)), info=bytes(range(0xF0, 0xFA)), length=42
    )
    known = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    return derived == bytes.fromhex(known)


def _pbkdf2(provider: Provider) -> bool:
    """The fifth message of RFC 6070 under HMAC-SHA-256: it keeps the bounds of NIST SP 800-132."""
    derived = provider.pbkdf2(
        b"passwordPASSWORDpassword", salt=b"saltSALTsaltSALTsaltSALTsaltSALTsalt",
        iterations=4096, length=40,
    )  # fmt: skip
    known = "348c89dbcbd32b2f32d814b8116e84cf2b17347ebc1800181c4e2a1fb8dd53e1c635518c7dac47e9"
    return derived == bytes.fromhex(known)


def _argon2id(provider: Provider) -> bool:
    """A small one, on which libsodium and OpenSSL agree; RFC 9106 has none with one lane."""
    derived = provider.argon2id(b"password", salt=bytes(range(16)), passes=2, memory_kib=64)
    known = "716882821df77bc6414358b07159fb63ca1c90beaeb9d0ca0e43bd887dcf2ca9"
    return derived == bytes.fromhex(known)


def _seals(cipher: Cipher, known: _Sealed) -> Callable[[Provider], bool]:
    def test(provider: Provider) -> bool:
        key, nonce = bytes.fromhex(known.key), bytes.fromhex(known.nonce)
        plain, context = bytes.fromhex(known.plain), bytes.fromhex(known.context)
        sealed = bytes.fromhex(known.sealed)
        if provider.seal(cipher, key, nonce, plain, context) != sealed:
            return False
        if provider.open(cipher, key, nonce, sealed, context) != plain:
            return False
        try:
            provider.open(cipher, key, nonce, _changed(sealed), context)
        except SealedInvalid:
            return True
        return False

    return test


def _signs(algorithm: Signature, known: _Signed) -> Callable[[Provider], bool]:
    def test(provider: Provider) -> bool:
        private, public = bytes.fromhex(known.private), bytes.fromhex(known.public)
        signature = bytes.fromhex(known.signature)
        own = provider.sign(algorithm, private, known.message)
        return (
            provider.public_of(algorithm, private) == public
            and (own == signature or algorithm is not Signature.ED25519)  # ECDSA is randomised
            and provider.verify(algorithm, public, known.message, signature)
            and provider.verify(algorithm, public, known.message, own)
            and not provider.verify(algorithm, public, known.message, _changed(signature))
            and not provider.verify(algorithm, public, known.message + b"\0", signature)
        )

    return test


def _agrees(algorithm: Agreement, known: _Agreed) -> Callable[[Provider], bool]:
    def test(provider: Provider) -> bool:
        private, public = bytes.fromhex(known.private), bytes.fromhex(known.public)
        secret = provider.agree(algorithm, private, public)
        fresh, given = provider.agreement_key(algorithm)
        return (
            secret == bytes.fromhex(known.secret)
            and provider.public_of(algorithm, fresh) == given
            and provider.agree(algorithm, private, given)
            == provider.agree(algorithm, fresh, provider.public_of(algorithm, private))
        )

    return test


def _random(provider: Provider) -> bool:
    """Two blocks that differ, neither of one byte only; it finds a dead generator, no weak one."""
    blocks = provider.random(32), provider.random(32)
    return blocks[0] != blocks[1] and all(len(set(block)) > 1 for block in blocks)


def _changed(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


# NIST CAVP gcmDecrypt256.rsp, PTlen 128, AADlen 128, Count 0.
_GCM = _Sealed(
    key="54e352ea1d84bfe64a1011096111fbe7668ad2203d902a01458c3bbd85bfce14",
    nonce="df7c3bca00396d0c018495d9",
    plain="85fc3dfad9b5a8d3258e4fc44571bd3b",
    context="7e968d71b50c1f11fd001f3fef49d045",
    sealed="426e0efc693b7be1f3018db7ddbb7e4dee8257795be6a1164d7e1d2d6cac77a7",
)
# draft-irtf-cfrg-xchacha-03, A.3.1.
_XCHACHA = _Sealed(
    key="808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
    nonce="404142434445464748494a4b4c4d4e4f5051525354555657",
    plain="4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
    "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
    "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
    "637265656e20776f756c642062652069742e",
    context="50515253c0c1c2c3c4c5c6c7",
    sealed="bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb"
    "731c7f1b0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b452"
    "2f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9"
    "21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49",
)
# RFC 6979, A.2.5, SHA-256, "sample".
_ECDSA_P256 = _Signed(
    private="c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
    public="0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6"
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
    message=b"sample",
    signature="efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
)
# RFC 6979, A.2.6, SHA-384, "sample".
_ECDSA_P384 = _Signed(
    private="6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba"
    "9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
    public="04ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64"
    "def8f0ea9055866064a254515480bc138015d9b72d7d57244ea8ef9ac0c62189"
    "6708a59367f9dfb9f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720",
    message=b"sample",
    signature="94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa7"
    "3d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46"
    "99ef4aeb15f178cea1fe40db2603138f130e740a19624526"
    "203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8",
)
# RFC 8032, 7.1, TEST 3.
_ED25519 = _Signed(
    private="c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
    public="fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message=b"\xaf\x82",
    signature="6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
)
# NIST CAVP KASValidityTest_ECCStaticUnified_NOKC_ZZOnly_init.fax, [EC - SHA256], COUNT 2.
_ECDH_P256 = _Agreed(
    private="8087ab163864bfa81001c72f736b6d94e7612559ac4c847d06ba2171840684d6",
    public="045a3955c54a49645ed818f3774ea10971a1db88c370d8966c5a6e88234ed5d820"
    "03b13f0dad73f64532f42b8b2fa6d1450d9ab24896e95c24674298f2da07ccda",
    secret="0cb890a0dcc277c3dde0f91b4322a32e6365d7ec85316185d3286b4977849410",
)
# The same file, [ED - SHA384], COUNT 0.
_ECDH_P384 = _Agreed(
    private="f865418473e5bf7d2e1bbcd9bd5a9270c003a9dd35e77813"
    "3ca59fcab4bb64fe24d6800e7047bdd033abc8bfa8db35b5",
    public="04d1bf2ac21637d66d6398aac01dcd56ac6f065fb45d1f6f16"
    "747bab9e9b01b4630b59b20927aea147355bf41838acb482"
    "4c9e23f1c5a41647d094086bf4ed31708651f21d996c4778"
    "0688ac10f77deee2e43b5241b6caecd2fd5444bc50472e0e",
    secret="a781430e6078a179df3f9ee27cd8fdc6188f161b6c4ccc40"
    "53ef6c6ca6fc222946883a53c06db08f0a020023ced055aa",
)
# RFC 7748, 5.2, the first.
_X25519 = _Agreed(
    private="a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
    public="e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
    secret="c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
)

# SHA: the examples of FIPS 180-4.
_TESTS: dict[Algorithm, Callable[[Provider], bool]] = {
    Hash.SHA256: _hash(
        Hash.SHA256,
        b"abc",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ),
    Hash.SHA384: _hash(
        Hash.SHA384,
        b"abc",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
        "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    Mac.HMAC_SHA256: _hmac,
    Derivation.HKDF_SHA256: _hkdf,
    Derivation.PBKDF2_SHA256: _pbkdf2,
    Derivation.ARGON2ID: _argon2id,
    Cipher.AES_256_GCM: _seals(Cipher.AES_256_GCM, _GCM),
    Cipher.XCHACHA20_POLY1305: _seals(Cipher.XCHACHA20_POLY1305, _XCHACHA),
    Signature.ECDSA_P256: _signs(Signature.ECDSA_P256, _ECDSA_P256),
    Signature.ECDSA_P384: _signs(Signature.ECDSA_P384, _ECDSA_P384),
    Signature.ED25519: _signs(Signature.ED25519, _ED25519),
    Agreement.ECDH_P256: _agrees(Agreement.ECDH_P256, _ECDH_P256),
    Agreement.ECDH_P384: _agrees(Agreement.ECDH_P384, _ECDH_P384),
    Agreement.X25519: _agrees(Agreement.X25519, _X25519),
}
