"""What the tests of the cryptography share."""

from fix_providers import provider

__all__ = ["provider"]
