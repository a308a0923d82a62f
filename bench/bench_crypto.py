"""How long a provider takes for what satchel asks of it, beside `cryptography` called directly."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median

from bench.page import Section
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hmac import HMAC

from satchel_crypto import selftest
from satchel_crypto.algorithms import NONCE_BYTES, Hash
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.provider import Provider
from satchel_crypto.registry import NAMES, provider

RECORD = bytes(300)
"""As long as a record of the audit chain."""
MIB = bytes(2**20)
KEY = bytes(range(32))
ROUNDS = 15
METHOD = f"""
Each provider and `cryptography` itself in turn, {ROUNDS} rounds; a round repeats a call for 20 ms
or once, and counts the mean. A record is {len(RECORD)} bytes, hashed and then authenticated. The
cipher and the signature are those of the provider's suite: AES-256-GCM and ECDSA P-256, for `nacl`
XChaCha20-Poly1305 and Ed25519. Keys come as raw bytes in every call, which is what ECDSA pays for
beside `cryptography`, where the key is held ready. Times in µs.
"""
Work = Callable[[], object]


def bench_crypto() -> None:
    section = Section("crypto", "Crypto providers", METHOD, ("work", "library", "min", "median"))
    libraries = {"cryptography, directly": _direct()} | {
        one.name: _works(one) for one in map(_provider, NAMES) if one
    }
    for work in ("SHA-256 and HMAC of a record", "seal 1 MiB", "sign", "verify", "self-test"):
        had = {name: works[work] for name, works in libraries.items() if work in works}
        for name, found in _in_turn(had).items():
            section.add(work, name, f"{min(found):.1f}", f"{median(found):.1f}")
    section.remarks += [one.version() for one in map(_provider, NAMES) if one]
    section.write()


def _provider(name: str) -> Provider | None:
    try:
        return provider(name)
    except ProviderUnavailable:
        return None


def _works(one: Provider) -> dict[str, Work]:
    cipher, algorithm = one.suite.cipher, one.suite.signature
    nonce = bytes(NONCE_BYTES[cipher])
    private, public = one.signing_key(algorithm)
    signature = one.sign(algorithm, private, RECORD)
    return {
        "SHA-256 and HMAC of a record": lambda: one.mac(KEY, one.digest(Hash.SHA256, RECORD)),
        "seal 1 MiB": lambda: one.seal(cipher, KEY, nonce, MIB, b""),
        "sign": lambda: one.sign(algorithm, private, RECORD),
        "verify": lambda: one.verify(algorithm, public, RECORD, signature),
        "self-test": lambda: selftest.run(one),
    }


def _direct() -> dict[str, Work]:
    """The same calls without us."""
    sha, ecdsa = hashes.SHA256(), ec.ECDSA(hashes.SHA256())
    private = ec.generate_private_key(ec.SECP256R1())
    public, signature = private.public_key(), private.sign(RECORD, ecdsa)

    def record() -> bytes:
        digest, mac = hashes.Hash(sha), HMAC(KEY, sha)
        digest.update(RECORD)
        mac.update(digest.finalize())
        return mac.finalize()

    return {
        "SHA-256 and HMAC of a record": record,
        "seal 1 MiB": lambda: AESGCM(KEY).encrypt(bytes(12), MIB, b""),
        "sign": lambda: private.sign(RECORD, ecdsa),
        "verify": lambda: public.verify(signature, RECORD, ecdsa),
    }


def _in_turn(works: Mapping[str, Work]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(ROUNDS):
        for name, work in works.items():
            found[name].append(_mean_us(work))
    return found


def _mean_us(work: Work) -> float:
    calls, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < 0.02 or not calls:
        work()
        calls += 1
    return took * 1e6 / calls
