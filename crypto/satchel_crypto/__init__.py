"""The only cryptography of satchel, and the gate of its network: one folder for an auditor."""

from satchel_crypto.content import content_sha256
from satchel_crypto.errors import CryptoError, NetworkRefused
from satchel_crypto.random import random_bytes

__all__ = ["CryptoError", "NetworkRefused", "content_sha256", "random_bytes"]
