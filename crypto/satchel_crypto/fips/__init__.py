"""FIPS mode: asked for at the start, proved before a key is touched, never left again."""

from satchel_crypto.fips.mode import active, configure, plain, require, require_unlocked

__all__ = ["active", "configure", "plain", "require", "require_unlocked"]
