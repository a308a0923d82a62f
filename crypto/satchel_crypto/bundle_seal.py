"""Sealing bundles: a random key each, wrapped for every recipient, and signed by the sender.

To wrap the key of 32 bytes for a recipient, a new key pair agrees with the recipient's public key
(ECDH or X25519, by the suite). HKDF-SHA-256 of the shared secret, with the bundle's id as salt and
`satchel bundle key\\0` + suite + `\\0` + new public key + recipient's public key as info, gives the
key of an envelope that holds it. A wrap is the new public key, then that envelope. A chunk is an
envelope of the bundle's key whose context is the chunk's place. The new private key is dropped.

A signature is the sender's public key, then the signature, each as long as the suite has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from satchel_crypto import envelope
from satchel_crypto.algorithms import (
    KEY_BYTES,
    PUBLIC_BYTES,
    SIGNATURE_BYTES,
    Hash,
    Suite,
)
from satchel_crypto.envelope import Keys, Purpose, SymmetricKey
from satchel_crypto.errors import AlgorithmRefused, KeyInvalid, KeyMissing, SealedInvalid
from satchel_crypto.keystore import AgreementKey, SigningKey
from satchel_crypto.provider import Provider
from satchel_crypto.signed import Signed, key_id

PURPOSE = "bundle"
Wrap = tuple[bytes, bytes]
"""Id of the recipient's key (16 bytes), and the bundle's key wrapped for it."""


@dataclass(frozen=True, kw_only=True)
class BundleSealer:
    """What the writer of one bundle seals and signs with."""

    provider: Provider
    suite: Suite
    key: SymmetricKey = field(repr=False)
    signing: SigningKey
    recipients: tuple[Wrap, ...]

    @staticmethod
    def new(
        provider: Provider,
        suite: Suite,
        *,
        bundle_id: bytes,
        signing: SigningKey,
        recipients: Iterable[bytes],
    ) -> BundleSealer:
        """For recipients by their public agreement keys. Raises KeyInvalid."""
        key = SymmetricKey(bundle_id, provider.random(KEY_BYTES))
        wraps = tuple(_wrapped(provider, suite, key, public) for public in recipients)
        return BundleSealer(
            provider=provider, suite=suite, key=key, signing=signing, recipients=wraps
        )

    @property
    def name(self) -> str:
        """Of the suite."""
        return self.suite.name

    def digest(self, data: bytes) -> bytes:
        """SHA-256."""
        return self.provider.digest(Hash.SHA256, data)

    def seal(self, plain: bytes, context: bytes) -> bytes:
        """An envelope of the bundle's key."""
        return envelope.seal(
            self.provider, self.key, plain, Purpose.CHUNK, context, suite=self.suite
        )

    def sign(self, data: bytes) -> bytes:
        """The sender's public key and its signature."""
        signed = self.signing.sign(self.provider, PURPOSE, data)
        return signed.public + signed.value


@dataclass(frozen=True, kw_only=True)
class BundleOpener:
    """What a recipient verifies and opens one bundle with."""

    provider: Provider
    suite: Suite
    key: SymmetricKey = field(repr=False)

    @staticmethod
    def find(
        provider: Provider,
        suite: Suite,
        *,
        bundle_id: bytes,
        wraps: Sequence[Wrap],
        own: Iterable[AgreementKey],
    ) -> BundleOpener:
        """With the first of one's own keys that the bundle was sealed for.

        Raises KeyMissing where it was sealed for none, SealedInvalid where the wrap was changed.
        """
        for key in own:
            for named, wrapped in wraps:
                if named == key.id:
                    secret = _unwrapped(provider, suite, bundle_id, key, wrapped)
                    found = SymmetricKey(bundle_id, secret)
                    return BundleOpener(provider=provider, suite=suite, key=found)
        raise KeyMissing(
            f"it is sealed for {', '.join(named.hex() for named, _ in wraps) or 'nobody'},"
            " and no key of this machine is among these"
        )

    def digest(self, data: bytes) -> bytes:
        """SHA-256."""
        return self.provider.digest(Hash.SHA256, data)

    def open(self, sealed: bytes, context: bytes) -> bytes | None:
        """What a chunk holds; None where it was changed, or sealed for another place."""
        try:
            return envelope.open(self.provider, Keys(self.key), sealed, Purpose.CHUNK, context)
        except (SealedInvalid, KeyMissing, AlgorithmRefused):
            return None  # all three: its bytes are not what this bundle's writer put there

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether the signature fits; whether its signer is trusted was asked before."""
        signed = signature_of(self.suite, signature)
        return signed is not None and signed.fits(self.provider, PURPOSE, data)


def signature_of(suite: Suite, data: bytes) -> Signed | None:
    """The signature of a bundle, or None for bytes of another length."""
    at = PUBLIC_BYTES[suite.signature]
    if len(data) != at + SIGNATURE_BYTES[suite.signature]:
        return None
    return Signed(algorithm=suite.signature, public=data[:at], value=data[at:])


def _wrapped(provider: Provider, suite: Suite, key: SymmetricKey, recipient: bytes) -> Wrap:
    named = key_id(provider, suite.agreement, recipient)
    private, public = provider.agreement_key(suite.agreement)
    shared = provider.agree(suite.agreement, private, recipient)
    wrapping = _wrapping_key(provider, suite, shared, key.id, named, public, recipient)
    sealed = envelope.seal(provider, wrapping, key.secret, Purpose.WRAPPED_KEY, key.id, suite=suite)
    return named, public + sealed


def _unwrapped(
    provider: Provider, suite: Suite, bundle_id: bytes, own: AgreementKey, wrapped: bytes
) -> bytes:
    at = PUBLIC_BYTES[suite.agreement]
    public, sealed = wrapped[:at], wrapped[at:]
    try:
        shared = provider.agree(suite.agreement, own.private, public)
        wrapping = _wrapping_key(provider, suite, shared, bundle_id, own.id, public, own.public)
        secret = envelope.open(provider, Keys(wrapping), sealed, Purpose.WRAPPED_KEY, bundle_id)
    except (KeyInvalid, KeyMissing, SealedInvalid, AlgorithmRefused):
        raise _changed(own.id) from None
    if len(secret) != KEY_BYTES:
        raise _changed(own.id)
    return secret


def _wrapping_key(
    provider: Provider,
    suite: Suite,
    shared: bytes,
    bundle_id: bytes,
    named: bytes,
    public: bytes,
    recipient: bytes,
) -> SymmetricKey:
    info = b"satchel bundle key\0" + suite.name.encode("ascii") + b"\0" + public + recipient
    return SymmetricKey(named, provider.hkdf(shared, salt=bundle_id, info=info, length=KEY_BYTES))


def _changed(named: bytes) -> SealedInvalid:
    return SealedInvalid(f"the bundle's key does not open with the key {named.hex()}")
