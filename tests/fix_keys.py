"""Machines with keys: who trusts whom, and bundles that one seals for another."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fix_bundles import BUNDLE_ID, MADE_AT_MS, quiet

from satchel_crypto.algorithms import BY_NAME, P256, P384, X25519, Suite
from satchel_crypto.bundle_seal import BundleOpener, BundleSealer
from satchel_crypto.device_secrets import DeviceSecrets
from satchel_crypto.errors import ProviderUnavailable
from satchel_crypto.key_file import KeyFile
from satchel_crypto.keystore import KeyStore
from satchel_crypto.provider import Provider
from satchel_crypto.registry import provider
from satchel_sync.bundles.parcel import Parcel
from satchel_sync.bundles.reader import Bundle
from satchel_sync.bundles.writer import write

WOLFCRYPT = "wolfcrypt"
MADE_AT = "2026-11-30T04:00:00.000+00:00"
ID = "ab" * 16
LINES = [("openssl", P256), ("openssl", P384), ("nacl", X25519), (WOLFCRYPT, P256)]
"""Providers, each with a suite that it writes."""


def provider_here(name: str) -> Provider:
    """A provider; a test that needs wolfSSL is skipped where its package is not."""
    try:
        return provider(name)
    except ProviderUnavailable as error:
        if name != WOLFCRYPT:
            raise
        pytest.skip(f"needs the system package libwolfssl-dev: {error}")


@dataclass(frozen=True)
class Owner:
    """Somebody with a folder of keys."""

    keys: KeyStore

    @staticmethod
    def make(folder: Path, name: str = "openssl", suite: Suite | None = None) -> Owner:
        """With keys of that provider; the same folder may be opened by several."""
        return Owner(KeyStore(DeviceSecrets(folder), provider_here(name), suite=suite))

    def public(self, name: str = "laptop", of: str = ID) -> bytes:
        """The key file."""
        return self.keys.key_file(name=name, of=of, made_at=MADE_AT)

    def read(self, data: bytes) -> KeyFile:
        """A key file as this one reads it."""
        return KeyFile.parse(data, self.keys.provider)

    def trust(self, other: Owner, name: str = "laptop", of: str = ID) -> None:
        """Take the other's keys, whatever the fingerprint."""
        file = self.read(other.public(name, of))
        self.keys.trusted.add(file, name=name, of=of, added_at=MADE_AT)


def sealed(
    sender: Owner,
    recipients: Iterable[Owner],
    parcel: Parcel,
    *,
    suite: Suite | None = None,
    bundle_id: bytes = BUNDLE_ID,
) -> bytes:
    """The bytes of a bundle that the sender seals for the recipients."""
    chosen = suite or sender.keys.suite
    sealer = BundleSealer.new(
        sender.keys.provider,
        chosen,
        bundle_id=bundle_id,
        signing=sender.keys.signing(chosen),
        recipients=[one.keys.agreement(chosen).public for one in recipients],
    )
    file = io.BytesIO()
    write(file, parcel, sealer, bundle_id=bundle_id, made_at_ms=MADE_AT_MS)
    return file.getvalue()


def opened(recipient: Owner, data: bytes) -> Parcel:
    """The verified parcel; who signed it is not asked."""
    bundle = Bundle.open(io.BytesIO(data))
    suite = BY_NAME[bundle.header.suite]
    opener = BundleOpener.find(
        recipient.keys.provider,
        suite,
        bundle_id=bundle.header.bundle_id,
        wraps=bundle.manifest.recipients,
        own=recipient.keys.agreements(suite),
    )
    return bundle.verified(opener, quiet)
