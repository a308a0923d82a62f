"""What this process protects with: the crypto provider and the machine's own keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from satchel.config import Settings
    from satchel_crypto.device_secrets import DeviceSecrets
    from satchel_crypto.keystore import KeyStore
    from satchel_crypto.provider import Provider

KEYS_FOLDER = "keys"


def provider_of(settings: Settings) -> Provider:
    """The crypto provider that the settings name, in FIPS mode if they say so.

    Raises ProviderUnavailable, FipsRefused.
    """
    from satchel_crypto.registry import provider

    if settings.fips_mode:
        from satchel_crypto import fips
        from satchel_crypto.fips.attested import Attestation

        recorded = Attestation(
            sha256=settings.wolfcrypt_sha256, certificate=settings.wolfcrypt_certificate
        )
        fips.configure(settings.fips_folder, recorded)
    return provider(settings.crypto_provider, fips=settings.fips_mode)


def device_secrets(home: Path) -> DeviceSecrets:
    """The keys of the machine that lives in this home."""
    from satchel_crypto.device_secrets import DeviceSecrets

    return DeviceSecrets(home / KEYS_FOLDER)


def key_store(settings: Settings) -> KeyStore:
    """The keys that this machine signs with and is sealed for, and those of others it trusts.

    Raises ProviderUnavailable, FipsRefused, AlgorithmRefused.
    """
    from satchel_crypto.algorithms import BY_NAME
    from satchel_crypto.keystore import KeyStore

    suite = BY_NAME.get(settings.crypto_suite)  # None = auto
    return KeyStore(device_secrets(settings.home), provider_of(settings), suite=suite)
